package ledger

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// paceBucket counts the deliveries to an endpoint that wants a bound.
const paceBucket invocation.Bucket = "deliveries"

// Pace counts a delivery to an endpoint that is sent so many in a second at
// most, over all replicas. It returns zero if the delivery may be sent now, else
// how long to wait before asking again.
func (l *Ledger) Pace(ctx context.Context, to invocation.Slug, maxPerSecond int) (wait time.Duration, err error) {
	now, total := l.Now(), 0
	err = l.counting(ctx, func() error {
		m := nats.NewMsg(limitSubject(paceBucket, string(to), now.Unix()))
		m.Header["Nats-Incr"] = []string{"+1"}
		f, err := l.js.PublishMsgAsync(m, jetstream.WithStallWait(5*time.Second))
		if err == nil {
			total, err = counted(ctx, f)
		}
		if err != nil {
			return unavailable(err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if total > maxPerSecond {
		return now.Truncate(time.Second).Add(time.Second).Sub(now), nil
	}
	return 0, nil
}
