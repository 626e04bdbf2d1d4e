package webhookworker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// A world is a NATS server with the streams on it and an opened platform.
type world struct {
	t       *testing.T
	server  *broker.Server
	ackWait time.Duration
	*platform.Platform
}

// newWorld starts a world in which only what was handed back is delivered again,
// however busy the machine is.
func newWorld(t *testing.T) *world {
	t.Helper()
	return makeWorld(t, time.Minute, nil)
}

// newMortalWorld starts a world in which what a worker died over is delivered
// again after a second.
func newMortalWorld(t *testing.T) *world {
	t.Helper()
	return makeWorld(t, time.Second, nil)
}

func newObservedWorld(t *testing.T, tel *telemetry.Providers) *world {
	t.Helper()
	return makeWorld(t, time.Minute, tel)
}

func makeWorld(t *testing.T, ackWait time.Duration, tel *telemetry.Providers) *world {
	t.Helper()
	w := &world{t: t, server: brokertest.StartServer(t), ackWait: ackWait}
	cfg := w.config()
	if err := platform.Setup(t.Context(), brokertest.Connect(t, w.server), cfg.Ledger); err != nil {
		t.Fatal(err)
	}
	w.Platform = w.open(tel)
	return w
}

func (w *world) config() platform.Config {
	return platform.Config{
		Broker: broker.Config{Server: w.server},
		Ledger: ledger.Config{Partitions: 2, AckWait: w.ackWait},
		// No test waits for a time-out, and a machine that is busy must not cause one.
		Egress: egress.Config{
			Timeout: time.Minute, MaxConnsPerHost: storm,
			Policy: egress.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		},
	}
}

// open opens one more platform on the world's server, as another process would.
func (w *world) open(tel *telemetry.Providers) *platform.Platform {
	w.t.Helper()
	p, err := platform.Open(w.t.Context(), w.config(), tel, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var parts sync.WaitGroup
	parts.Go(func() { _ = p.Ledger.Run(ctx) })   // it ends with ctx
	parts.Go(func() { _ = p.Registry.Run(ctx) }) // it ends with ctx
	w.t.Cleanup(func() {
		stop()
		parts.Wait()
		p.Egress.Close()
		p.Conn.Close()
	})
	return p
}

// quick are retries that tests can wait for.
func quick() []time.Duration {
	return []time.Duration{20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond}
}

// A running is a worker at work.
type running struct {
	cancel context.CancelFunc // tells it to stop and does not wait
	stop   func() error       // stops it and says how that went
}

// work starts a worker with quick retries on a platform of the world, and waits
// until it has announced the manifests.
func (w *world) work(p *platform.Platform, cfg webhookworker.Config) running {
	w.t.Helper()
	if cfg.Retries == nil {
		cfg.Retries = quick()
	}
	part, err := webhookworker.New(p, cfg)
	w.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	w.t.Cleanup(func() { _ = stop() }) // a test that wants to know has asked
	w.idle(ledger.ManifestStream, ledger.AnnounceConsumer)
	return running{cancel, stop}
}

// must fails the test for an error.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// extension makes a partner extension with a webhook and a manifest.
func (w *world) extension(slug invocation.Slug, url string, subscriptions ...string) registry.Extension {
	w.t.Helper()
	w.register(slug, url)
	return w.publish(slug, subscriptions...)
}

// register makes a partner extension that has not published a manifest yet.
func (w *world) register(slug invocation.Slug, url string) {
	w.t.Helper()
	w.must(w.Registry.CreateExtension(w.t.Context(), registry.Extension{
		ID: invocation.NewExtensionID(), Slug: slug, DisplayName: string(slug), WebhookURL: url,
		BasicUser: "user-" + string(slug), BasicSecret: "password", CreatedAt: time.Now(),
		Secrets: []registry.SigningSecret{{ID: "one", Secret: egress.NewSecret().Reveal()}},
	}))
}

// publish puts the next manifest of an extension in force.
func (w *world) publish(slug invocation.Slug, subscriptions ...string) registry.Extension {
	w.t.Helper()
	e, err := w.Registry.Extension(w.t.Context(), slug)
	w.must(err)
	e, err = w.Registry.PublishManifest(w.t.Context(), e, registry.Manifest{Document: w.document(slug, subscriptions), At: time.Now()})
	w.must(err)
	return e
}

func (w *world) document(slug invocation.Slug, subscriptions []string) json.RawMessage {
	w.t.Helper()
	raw, err := json.Marshal(map[string]any{"subscriptions": append([]string{}, subscriptions...)})
	w.must(err)
	doc, err := manifest.Parse(slug, raw, nil)
	w.must(err)
	raw, err = json.Marshal(doc)
	w.must(err)
	return raw
}

// lock makes an active lock with extensions installed, in one transition
// without events.
func (w *world) lock(partition int, slugs ...invocation.Slug) invocation.LockID {
	w.t.Helper()
	id, now := invocation.NewLockID(partition), time.Now()
	made, err := lock.New(lock.Spec{ID: id, Wearer: lock.Person{ID: "w", Name: "Wearer"}, EndDate: now.Add(time.Hour)}, now)
	w.must(err)
	for _, slug := range slugs {
		session := invocation.NewSessionID()
		made, err = lock.Install(made.State, slug, session, now)
		w.must(err)
		w.must(w.Registry.CreateSession(w.t.Context(), registry.Session{ID: session, Lock: id, Slug: slug, InstalledAt: now}))
	}
	w.change(id, func(lock.State) ledger.Transition { return ledger.Transition{State: made.State, At: now} })
	return id
}

// change makes a transition and returns it.
func (w *world) change(id invocation.LockID, next func(lock.State) ledger.Transition) ledger.Entry {
	w.t.Helper()
	e, err := w.Ledger.Change(w.t.Context(), ledger.Change{Lock: id, Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
		return next(s.State), nil
	}})
	w.must(err)
	return e
}

// emit makes a transition with one root event and returns the event.
func (w *world) emit(id invocation.LockID, source invocation.Slug, kind invocation.CapabilityID) invocation.Event {
	w.t.Helper()
	return w.change(id, func(s lock.State) ledger.Transition {
		return ledger.Transition{
			State: s, At: time.Now(), Source: invocation.Source{Extension: source, Actor: invocation.ActorExtension},
			Events: []invocation.Emission{{Type: kind, Payload: json.RawMessage(`{"duration":1.50,"text":"<é>"}`)}},
		}
	}).Committed()[0]
}

// eventually waits until a condition holds.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	brokertest.Eventually(w.t, patience, what, holds)
}

// idle waits until the consumer of a stream is done with everything stored in it.
func (w *world) idle(stream, consumer string) {
	w.t.Helper()
	w.eventually(stream+" is done with", func() bool {
		return brokertest.Done(w.t, w.Conn, stream, consumer)
	})
}

// settled waits until all transitions were followed and no delivery is left,
// none for later included: a schedule goes only after its delivery is back.
func (w *world) settled() {
	w.t.Helper()
	for p := range w.config().Ledger.Partitions {
		w.idle(ledger.LockStream(p), ledger.FanOutConsumer)
		stream := ledger.DeliveryStream(p)
		w.eventually(stream+" is empty", func() bool {
			s, err := w.Conn.JS.Stream(w.t.Context(), stream)
			w.must(err)
			return s.CachedInfo().State.Msgs == 0
		})
	}
}
