package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// clock follows the server's clock by a measured offset.
type clock struct {
	offset atomic.Int64 // nanoseconds to add to this machine's clock
}

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// measure asks the server for its time and takes the middle of the round trip
// as the moment it was read.
func (c *clock) measure(ctx context.Context, js jetstream.JetStream) error {
	s, err := js.Stream(ctx, limitsStream)
	if err != nil {
		return err
	}
	before := time.Now()
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	middle := before.Add(time.Since(before) / 2)
	c.offset.Store(int64(info.TimeStamp.Sub(middle)))
	return nil
}
