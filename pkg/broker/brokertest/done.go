package brokertest

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
)

// Done reports whether a durable consumer has seen an acknowledgement of all
// that the stream holds for it now. The consumer's own count of what is to come
// lags behind the stream, so it is not asked.
func Done(tb testing.TB, c *broker.Conn, stream, durable string) bool {
	tb.Helper()
	s, err := c.JS.Stream(tb.Context(), stream)
	if err != nil {
		tb.Fatalf("look at %s: %v", stream, err)
	}
	consumer, err := s.Consumer(tb.Context(), durable)
	if err != nil {
		tb.Fatalf("look at %s: %v", durable, err)
	}
	last, err := s.GetLastMsgForSubject(tb.Context(), consumer.CachedInfo().Config.FilterSubject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return true
	}
	if err != nil {
		tb.Fatalf("look at the last message of %s: %v", stream, err)
	}
	info, err := consumer.Info(tb.Context())
	if err != nil {
		tb.Fatalf("look at %s: %v", durable, err)
	}
	return info.NumAckPending == 0 && info.AckFloor.Stream >= last.Sequence
}
