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

	measured atomic.Bool // whether offset was ever measured
}

func (c *clock) now() time.Time { return c.local().Add(time.Duration(c.offset.Load())) }

// How often the clock is measured, the round trips that it takes, and how long one may take to be
// believed once there is an earlier one: half of it is the error.
const (
	clockPeriod    = 10 * time.Second
	clockSamples   = 3
	clockTolerance = 20 * time.Millisecond
)

// measure asks the server for its time and takes the middle of the shortest
// round trip as the moment it was read. On a bad day the last measurement
// stands: clocks drift by less than a slow answer is wrong.
func (c *clock) measure(ctx context.Context, js jetstream.JetStream) error {
	s, err := js.Stream(ctx, sentStream)
	if err != nil {
		return err
	}
	var offset time.Duration
	best := time.Duration(-1)
	for range clockSamples {
		before := c.local()
		info, err := s.Info(ctx)
		if err != nil {
			return err
		}
		trip := c.local().Sub(before)
		if best < 0 || trip < best {
			best, offset = trip, info.TimeStamp.Sub(before.Add(trip/2))
		}
	}
	if c.measured.Swap(true) && best > clockTolerance {
		return nil
	}
	c.offset.Store(int64(offset))
	return nil
}
