package permissions

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/services/dispatcher"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// The reply-subject trick (SEC-111): whoever may ask JetStream for something
// names the subject of another as the place for the answer, and the server stores
// it there, whatever the asker may publish. No worker takes it for its own: it
// goes to the dead letters, and the workers go on.
func TestWhatIsPlantedByAReplyIsBuriedAndTheWorkersLive(t *testing.T) {
	t.Parallel()
	in := start(t, "nats.conf")
	in.setup(platform.Config{Ledger: small})
	edge, dispatch, hooks := in.open(t, "edge-api"), in.open(t, "dispatcher"), in.open(t, "webhook-worker")
	on := ledgertest.NewLock(t, edge.Ledger)
	deliverable(t, hooks, on)

	// MCP, which may write the least of all, has answers delivered; the webhook
	// worker, which may fetch messages, has those delivered.
	other := string(invocation.NewLockID(0))
	mcp, refused := in.connect("mcp")
	for _, subject := range []string{
		"inv.0.req." + id, "lock.0." + other, "dlv.0.reader." + other + "." + id, "due.0." + other,
		"ep.check.reader", "ep.tell.reader." + id, "$KV.manifests.reader.1",
	} {
		ask(t, mcp, "$JS.API.STREAM.INFO.CHAIN", subject, "")
	}
	thief, _ := in.connect("webhook-worker")
	ask(t, thief, "$JS.API.CONSUMER.MSG.NEXT.LOCK_0.fanout", "inv.0.req."+other, `{"batch":1}`)
	ask(t, thief, "$JS.API.CONSUMER.MSG.NEXT.DELIVERY_0.deliver", "inv.0.st."+other, `{"batch":1}`)
	// An answer is no order: the server obeys none that comes this way.
	ask(t, thief, "$JS.API.CONSUMER.MSG.NEXT.LOCK_0.fanout", "$JS.API.STREAM.DELETE.SENT", `{"batch":1}`)
	ask(t, thief, "$JS.API.STREAM.INFO.CHAIN", "$JS.API.STREAM.DELETE.SENT", "")
	ask(t, thief, "$JS.API.STREAM.INFO.CHAIN", "$JS.API.STREAM.PURGE.LOCK_0", "")
	admin, _ := in.connect("setup")
	for stream, want := range map[string]uint64{"INV_0": 3, "LOCK_0": 2, "DELIVERY_0": 3, "ENDPOINTS": 2, "KV_manifests": 1} {
		brokertest.Eventually(t, within, stream+" holds what was planted", func() bool { return messages(t, admin, stream) == want })
	}
	if got := messages(t, admin, "SENT"); got != 0 {
		t.Errorf("got %d messages in SENT, want it empty and there", got)
	}
	if got := refused.all(); len(got) > 0 {
		t.Errorf("the server refused %v: the trick is over, and README.md can say so", got)
	}

	calls, err := dispatcher.New(dispatch, dispatcher.Config{})
	if err != nil {
		t.Fatal(err)
	}
	deliveries, err := webhookworker.New(hooks, webhookworker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	platformtest.Run(t, calls, deliveries)
	want := map[string]int{"INV_0": 1, "LOCK_0": 1, "DELIVERY_0": 2, "ENDPOINTS": 2, "KV_manifests": 1}
	brokertest.Eventually(t, time.Minute, "each is among the dead", func() bool {
		dead, _, err := edge.Ledger.DeadMessages(t.Context(), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int)
		for _, d := range dead {
			got[d.Stream]++
		}
		for stream, n := range want {
			if got[stream] != n {
				return false
			}
		}
		return len(got) == len(want)
	})
	alive(t, edge, on.Lock)
}

// deliverable puts a delivery on its queue, for somebody to steal.
func deliverable(t *testing.T, hooks *platform.Platform, on ledger.Entry) {
	t.Helper()
	w, err := hooks.Ledger.Enqueue(nil, ledger.Delivery{
		ID: string(invocation.EventID(on.Lock, 16)), Extension: "reader", Session: "ses", Lock: on.Lock, Kind: "lock_event.created",
		Body: json.RawMessage(`{}`), Attempt: 1, FirstAt: time.Now().UnixMilli(),
	})
	if err := errors.Join(err, w.Wait(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// ask has the answer to a request delivered to a subject.
func ask(t *testing.T, c *broker.Conn, what, answerTo, body string) {
	t.Helper()
	if err := c.NC.PublishRequest(what, answerTo, []byte(body)); err != nil {
		t.Fatal(err)
	}
}

// messages returns how many messages a stream holds.
func messages(t *testing.T, c *broker.Conn, stream string) uint64 {
	t.Helper()
	s, err := c.JS.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

// alive waits until the dispatcher has settled a call and the webhook worker has
// followed an event.
func alive(t *testing.T, edge *platform.Platform, on invocation.LockID) {
	t.Helper()
	inv := ledgertest.NewInvocation(edge.Ledger, on, "after")
	if _, _, err := edge.Ledger.Record(t.Context(), ledger.Request{Invocation: inv}); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, within, "a call is settled", func() bool {
		got, err := edge.Ledger.Invocation(t.Context(), on, inv.ID)
		return err == nil && got.Status.Settled()
	})
	made, err := edge.Ledger.Change(t.Context(), ledgertest.Emitting(on, invocation.Emission{Type: "emitter.n", Payload: json.RawMessage(`{}`)}))
	if err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, within, "an event is followed", func() bool {
		chain, err := edge.Ledger.Chain(t.Context(), made.Committed()[0].ID)
		return err == nil && len(chain) == 1
	})
}
