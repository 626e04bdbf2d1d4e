package permissions

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

// small is an installation that starts quickly.
var small = ledger.Config{Partitions: 1, Patience: 4 * time.Second}

// open opens the platform as a service, until the test ends. Whatever NATS
// refuses it by then is a failure.
func (i *installation) open(t *testing.T, user string) *platform.Platform {
	t.Helper()
	refused := &refusals{}
	p, err := platform.Open(t.Context(), platform.Config{Broker: i.config(user), Ledger: small}, nil, slog.New(refused))
	if err != nil {
		t.Fatalf("open the platform as %s: %v", user, err)
	}
	t.Cleanup(func() {
		if got := refused.all(); len(got) > 0 {
			t.Errorf("%s was refused %v", user, got)
		}
	})
	platformtest.Run(t, p.Parts()...)
	return p
}

// What scripts/processes does not come to is done here: each service, with its
// own key, does what is rare (SEC-110).
func TestEachServiceDoesItsOwn(t *testing.T) {
	t.Parallel()
	in := start(t, "nats.conf")
	in.setup(platform.Config{Ledger: small})
	edge, mcp, dispatch, hooks := in.open(t, "edge-api"), in.open(t, "mcp"), in.open(t, "dispatcher"), in.open(t, "webhook-worker")
	ctx := t.Context()
	on := ledgertest.NewLock(t, edge.Ledger)
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}

	// The edge API follows a lock, keeps the key of an event, and counts also
	// after the counters were lost.
	watch, err := edge.Ledger.Watch(on.Lock)
	must("watch", err)
	defer watch.Close()
	_, err = edge.Ledger.Reserve(ctx, on.Lock, invocation.EmissionID(on.Lock, "reader", "k"), ledger.Reservation{Body: "b"})
	must("reserve", err)
	admin, _ := in.connect("setup")
	must("lose the counters", admin.JS.DeleteStream(ctx, "LIMITS"))
	must("count", edge.Ledger.Charge(ctx, ledger.Charge{Bucket: invocation.BucketExtension, Key: "reader"}))
	must("check an endpoint", edge.Ledger.CheckEndpoint(ctx, "reader"))
	must("create an extension", edge.Registry.CreateExtension(ctx, registry.Extension{ID: invocation.NewExtensionID(), Slug: "reader", DisplayName: "R"}))

	// MCP blocks, and asks the dispatcher, which answers into its inbox.
	_, err = mcp.Ledger.Block(ctx, ledger.Block{Bucket: invocation.BucketMCPLock, Extension: "reader", Lock: on.Lock}, time.Minute)
	must("block", err)
	answering, stop := context.WithCancel(ctx)
	answered := make(chan error, 1)
	go func() {
		answered <- dispatch.Ledger.Answer(answering, func(context.Context, invocation.Question, map[string][]string) (invocation.Options, error) {
			return invocation.Options{List: []invocation.Option{{Value: json.RawMessage(`1`), Label: "one"}}}, nil
		})
	}()
	for _, p := range []*platform.Platform{mcp, edge} {
		q := invocation.Question{Lock: on.Lock, Caller: invocation.Party{Slug: "reader"}, Target: invocation.Party{Slug: "target"}, Command: "target.run", Field: "/x"}
		brokertest.Eventually(t, within, "an answer comes", func() bool {
			o, err := p.Ledger.Ask(ctx, q, nil)
			return err == nil && len(o.List) == 1
		})
	}
	stop()
	must("answer", <-answered)

	for _, p := range []*platform.Platform{dispatch, hooks} {
		must("bury", p.Ledger.Bury(ctx, ledger.LockStream(0), broker.Delivery{Subject: "lock.0.x", Sequence: 7}, errors.New("a reason")))
	}
	theWebhookWorkersOwn(t, hooks, edge, on)
}

// theWebhookWorkersOwn has a delivery fail, wait, be let go, die and be revived.
func theWebhookWorkersOwn(t *testing.T, hooks, edge *platform.Platform, on ledger.Entry) {
	t.Helper()
	ctx := t.Context()
	d := ledger.Delivery{
		ID: string(invocation.EventID(on.Lock, 16)), Extension: "reader", Session: "ses", Lock: on.Lock, Kind: "lock_event.created",
		Body: json.RawMessage(`{}`), Attempt: 1, FirstAt: time.Now().UnixMilli(),
	}
	later := time.Now().Add(time.Hour)
	for what, do := range map[string]func() error{
		"schedule a delivery":  func() error { return hooks.Ledger.Schedule(ctx, nil, d, later) },
		"schedule a timer":     func() error { return hooks.Ledger.ScheduleTimer(ctx, on.Lock, later) },
		"check an endpoint":    func() error { return hooks.Ledger.CheckEndpoint(ctx, "reader") },
		"check it later":       func() error { return hooks.Ledger.CheckEndpointAt(ctx, "reader", later) },
		"keep a delivery back": func() error { return hooks.Ledger.KeepBack(ctx, d) },
		"let it go":            func() error { _, err := hooks.Ledger.LetGo(ctx, "reader"); return err },
		"tell an owner": func() error {
			return hooks.Ledger.Tell(ctx, ledger.Operation{ID: invocation.ID(d.ID), Extension: "reader"})
		},
		"pace":              func() error { _, err := hooks.Ledger.Pace(ctx, "reader", 5); return err },
		"note what is sent": func() error { return hooks.Ledger.MarkSent(ctx, "reader", d.Event()) },
		"write to a chain": func() error {
			return hooks.Ledger.Note(ctx, invocation.ID(d.ID), ledger.Link{Kind: ledger.EventLink, ID: invocation.ID(d.ID), Lock: on.Lock})
		},
		"keep a dead delivery": func() error { return hooks.Ledger.KeepDead(ctx, d, "a reason") },
		"change an endpoint": func() error {
			_, err := hooks.Registry.UpdateExtension(ctx, "reader", func(e *registry.Extension) error { e.Recover(time.Now()); return nil })
			return err
		},
		"let the lock be known": func() error { _, err := hooks.Ledger.Change(ctx, ledgertest.Emitting(on.Lock)); return err },
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	corpse, err := edge.Ledger.DeadByID(ctx, ledger.DeadID(d))
	if err != nil {
		t.Fatalf("find the dead: %v", err)
	}
	if err := edge.Ledger.Revive(ctx, corpse); err != nil {
		t.Errorf("revive: %v", err)
	}
}
