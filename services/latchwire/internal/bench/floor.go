package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/latchwire/latchwire/pkg/broker"
)

const (
	partitions = 4
	manyLocks  = 64
)

// floor is the pipeline without its point: the hops, the writes and the reads.
type floor struct {
	js     jetstream.JetStream
	nc     *nats.Conn
	locks  [partitions]jetstream.Stream
	sent   jetstream.Stream
	inbox  string
	target string
	client *http.Client
	stops  []func()

	mu      sync.Mutex
	waiters map[string]chan struct{}
	next    atomic.Int64
}

func newFloor(ctx context.Context, conn *broker.Conn, target string) (*floor, error) {
	f := &floor{
		js: conn.JS, nc: conn.NC, target: target, client: newHTTPClient(),
		inbox: "floor." + nuid.Next(), waiters: make(map[string]chan struct{}),
	}
	_, err := f.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "FLIM", Subjects: []string{"flim.>"}, Storage: jetstream.MemoryStorage,
		MaxAge: 10 * time.Minute, MaxMsgsPerSubject: 1, AllowMsgCounter: true, AllowDirect: true,
	})
	if err != nil {
		return nil, err
	}
	f.sent, err = f.js.CreateStream(ctx, jetstream.StreamConfig{Name: "FSENT", Subjects: []string{"fsent.*.*.*"}, MaxMsgsPerSubject: 1, AllowDirect: true})
	if err != nil {
		return nil, err
	}
	sub, err := f.nc.Subscribe(f.inbox+".*", f.wake)
	if err != nil {
		return nil, err
	}
	f.stops = append(f.stops, func() { _ = sub.Unsubscribe() })
	for p := range partitions {
		if err := f.partition(ctx, p); err != nil {
			return nil, err
		}
	}
	return f, f.fill(ctx)
}

func (f *floor) partition(ctx context.Context, p int) (err error) {
	n := strconv.Itoa(p)
	f.locks[p], err = f.js.CreateStream(ctx, jetstream.StreamConfig{Name: "FLOCK_" + n, Subjects: []string{"flock." + n + ".*"}, AllowDirect: true})
	if err != nil {
		return err
	}
	s, err := f.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "FINV_" + n, Subjects: []string{"finv." + n + ".*.*"}, MaxMsgsPerSubject: 1, AllowDirect: true, AllowMsgTTL: true,
	})
	if err != nil {
		return err
	}
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "d", FilterSubject: "finv." + n + ".req.*", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1, AckWait: 30 * time.Second,
	})
	if err != nil {
		return err
	}
	cc, err := c.Consume(func(m jetstream.Msg) { go f.dispatch(context.WithoutCancel(ctx), p, m) }, jetstream.PullMaxMessages(512))
	if err != nil {
		return err
	}
	f.stops = append(f.stops, cc.Stop)
	return nil
}

// fill writes what the reads will find, at the sizes that the pipeline has.
func (f *floor) fill(ctx context.Context) error {
	for l := range manyLocks {
		if _, err := f.js.Publish(ctx, lockSubject(l), bytes.Repeat([]byte("s"), 700)); err != nil {
			return err
		}
		if _, err := f.js.Publish(ctx, fmt.Sprintf("fsent.caller.%d.e", l), bytes.Repeat([]byte("s"), 100)); err != nil {
			return err
		}
	}
	return nil
}

func lockSubject(l int) string { return fmt.Sprintf("flock.%d.l%d", l%partitions, l) }

func (f *floor) wake(m *nats.Msg) {
	id := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	f.mu.Lock()
	defer f.mu.Unlock()
	if ch := f.waiters[id]; ch != nil {
		close(ch)
		delete(f.waiters, id)
	}
}

// ServeHTTP is the edge of the floor.
func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = f.call(r.Context(), body)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, err.Error()) // the load reports it
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(bytes.Repeat([]byte(" "), 350)) // the size of an answer
}

func (f *floor) call(ctx context.Context, body []byte) error {
	n := int(f.next.Add(1))
	lock, id := n%manyLocks, nuid.Next()
	if err := f.count(ctx, lock); err != nil {
		return err
	}
	if _, err := f.locks[lock%partitions].GetLastMsgForSubject(ctx, lockSubject(lock)); err != nil {
		return err
	}
	if _, err := f.sent.GetLastMsgForSubject(ctx, fmt.Sprintf("fsent.caller.%d.*", lock)); err != nil {
		return err
	}
	woken := make(chan struct{})
	f.mu.Lock()
	f.waiters[id] = woken
	f.mu.Unlock()
	p := strconv.Itoa(lock % partitions)
	m := &nats.Msg{Subject: "finv." + p + ".req." + id, Data: append(body, bytes.Repeat([]byte("r"), 450)...), Header: nats.Header{"Re": {f.inbox + "." + id}}}
	if _, err := f.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequenceForSubject(0, "finv."+p+".*."+id), jetstream.WithMsgTTL(168*time.Hour)); err != nil {
		return err
	}
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// count makes the two counts that limits need, in one round trip.
func (f *floor) count(ctx context.Context, lock int) error {
	for _, f := range []jetstream.PubAckFuture{f.increment("a", lock), f.increment("b", lock)} {
		if f == nil {
			return errors.New("a count was not sent")
		}
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (f *floor) increment(kind string, lock int) jetstream.PubAckFuture {
	m := nats.NewMsg(fmt.Sprintf("flim.%s.%d", kind, lock))
	m.Header.Set("Nats-Incr", "+1")
	future, err := f.js.PublishMsgAsync(m)
	if err != nil {
		return nil
	}
	return future
}

// dispatch is the worker of the floor: claim, call, settle, wake, ack.
func (f *floor) dispatch(ctx context.Context, p int, m jetstream.Msg) {
	id := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	state := "finv." + strconv.Itoa(p) + ".st." + id
	claim, err := f.js.Publish(ctx, state, bytes.Repeat([]byte("c"), 90), jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithMsgTTL(720*time.Hour))
	if err != nil {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.target, bytes.NewReader(m.Data()))
	if err != nil {
		return
	}
	answer, err := do(f.client, req)
	if err != nil {
		return
	}
	settled := append(answer, bytes.Repeat([]byte("s"), 650)...)
	if _, err := f.js.Publish(ctx, state, settled, jetstream.WithExpectLastSequencePerSubject(claim.Sequence), jetstream.WithMsgTTL(720*time.Hour)); err != nil {
		return
	}
	_ = f.nc.Publish(m.Headers().Get("Re"), settled) // nobody else is told
	_ = m.Ack()
}

func (f *floor) close() {
	for _, stop := range f.stops {
		stop()
	}
	f.client.CloseIdleConnections()
}
