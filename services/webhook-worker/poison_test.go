package webhookworker_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// A message that nobody can read is kept among the dead after five tries, and
// everything else goes on (SEC-113). The tries take a quarter of a minute; an
// embedded server in a bubble of its own time does not bear others beside it.
func TestPoisonIsBuriedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.work(w.Platform, webhookworker.Config{})
	id, poisoned := w.lock(0), invocation.NewLockID(0)
	for _, subject := range []string{
		"lock.0." + string(poisoned),
		"dlv.0.reader." + string(poisoned) + ".65f0c0ffee65f0c0ffee65f0",
		"$KV.manifests.reader.99",
	} {
		_, err := w.Conn.JS.Publish(t.Context(), subject, []byte(`{"id":`))
		w.must(err)
	}
	event := w.emit(id, "lock", "lock.time-changed")
	w.eventually("the event was followed", func() bool {
		chain, err := w.Ledger.Chain(t.Context(), event.ID)
		w.must(err)
		return len(chain) == 1
	})
	s, err := w.Conn.JS.Stream(t.Context(), "DEAD")
	w.must(err)
	for _, stream := range []string{ledger.LockStream(0), ledger.DeliveryStream(0), ledger.ManifestStream} {
		w.eventually("the poison of "+stream+" is among the dead", func() bool {
			return w.newest(s, "dead.message."+stream+".*") == `{"id":`
		})
	}
	w.settled()
	w.idle(ledger.ManifestStream, ledger.AnnounceConsumer)
}

// newest returns the newest message of a subject, or "".
func (w *world) newest(s jetstream.Stream, subject string) string {
	w.t.Helper()
	m, err := s.GetLastMsgForSubject(w.t.Context(), subject)
	if err != nil {
		return ""
	}
	return string(m.Data)
}
