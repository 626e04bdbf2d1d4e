package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// clock follows the server's clock by a measured offset.
type clock struct {
	local  func() time.Time // this machine's clock
	offset atomic.Int64     // nanoseconds to add to it
}

func (c *clock) now() time.Time { return c.local().Add(time.Duration(c.offset.Load())) }

// measure asks the server for its time and takes the middle of the round trip
// as the moment it was read.
func (c *clock) measure(ctx context.Context, js jetstream.JetStream) error {
	s, err := js.Stream(ctx, sentStream)
	if err != nil {
		return err
	}
	before := c.local()
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	middle := before.Add(c.local().Sub(before) / 2)
	c.offset.Store(int64(info.TimeStamp.Sub(middle)))
	return nil
}
