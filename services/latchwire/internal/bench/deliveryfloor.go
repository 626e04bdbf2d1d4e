package bench

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/egress"
)

// floorSlots is how many POSTs the floor has under way, as many as the pipeline
// gives ten endpoints.
const floorSlots = 80

// deliveryFloor is a delivery without its point: pulled from a queue, signed,
// posted, acknowledged. The queue has been filled before.
func (r report) deliveryFloor(ctx context.Context, dir string, e *endpoints) (result, error) {
	server, err := broker.StartServer(broker.ServerConfig{Dir: dir})
	if err != nil {
		return result{}, err
	}
	defer server.Shutdown()
	conn, err := broker.Connect(broker.Config{Server: server}, slog.New(slog.DiscardHandler))
	if err != nil {
		return result{}, err
	}
	defer conn.Close()
	const count = 40_000
	queue, err := fillQueue(ctx, conn.JS, count)
	if err != nil {
		return result{}, err
	}
	client := newHTTPClient()
	defer client.CloseIdleConnections()
	secret := egress.NewSecret()
	var left atomic.Int64
	left.Store(count)
	done, slots := make(chan error, 1), make(chan struct{}, floorSlots)
	post := func(n int64, m jetstream.Msg) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.urls[n%endpointCount], bytes.NewReader(m.Data()))
		if err != nil {
			return err
		}
		req.Header = egress.Sign(nuid.Next(), time.Now(), m.Data(), secret)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	cpu, begin := cpuTime(), time.Now()
	var wg sync.WaitGroup
	cc, err := queue.Consume(func(m jetstream.Msg) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			err := post(left.Load(), m)
			_ = m.Ack()
			if left.Add(-1) == 0 || err != nil {
				select {
				case done <- err:
				default:
				}
			}
		})
	}, jetstream.PullMaxMessages(512))
	if err != nil {
		return result{}, err
	}
	err = <-done
	got := result{calls: count, took: time.Since(begin), cpu: (cpuTime() - cpu) / count}
	cc.Stop()
	wg.Wait()
	r.print("%-36s %13.0f %13s\n", "floor: pull, sign, post, ack", got.perSecond(), short(got.cpu))
	return got, err
}

func fillQueue(ctx context.Context, js jetstream.JetStream, count int) (jetstream.Consumer, error) {
	s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "FDLV", Subjects: []string{"fdlv.*"}, Retention: jetstream.WorkQueuePolicy})
	if err != nil {
		return nil, err
	}
	body := bytes.Repeat([]byte("b"), 1000) // the size of a delivery
	for i := range count {
		if _, err := js.PublishAsync(fmt.Sprintf("fdlv.%d", i%endpointCount), body); err != nil {
			return nil, err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return s.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1, AckWait: 30 * time.Second})
}
