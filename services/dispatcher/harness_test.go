package dispatcher_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/services/dispatcher"
)

// within is how long the tests wait for what has to happen soon.
const within = time.Minute

// A stand is an installation in which caller calls probe.
type stand struct {
	*platformtest.World
	p  *platform.Platform
	in *intake.Intake
}

func newStand(tb testing.TB, cfg platform.Config, url string) *stand {
	tb.Helper()
	w := platformtest.New(tb, cfg, nil)
	p := w.Open(tb)
	s := &stand{World: w, p: p, in: intake.New(p.Ledger, p.Registry, p.Catalog, intake.Config{Wait: within})}
	platformtest.Publish(tb, p, "caller", platformtest.BareManifest, nil)
	s.target(tb, "probe", url)
	return s
}

// target registers an extension that offers what probe does.
func (s *stand) target(tb testing.TB, slug invocation.Slug, url string) {
	tb.Helper()
	doc := strings.ReplaceAll(platformtest.ProbeManifest, `"probe.`, `"`+string(slug)+`.`)
	platformtest.Publish(tb, s.p, slug, doc, func(e *registry.Extension) { e.WebhookURL = url })
}

// lock returns a lock with caller, probe and these on it.
func (s *stand) lock(tb testing.TB, more ...invocation.Slug) platformtest.Lock {
	tb.Helper()
	return platformtest.NewLock(tb, s.p, append(more, "caller", "probe")...)
}

// call returns a call by caller.
func (s *stand) call(tb testing.TB, l platformtest.Lock, command invocation.CapabilityID, key string) intake.Call {
	tb.Helper()
	e, err := s.p.Registry.Extension(tb.Context(), "caller")
	if err != nil {
		tb.Fatal(err)
	}
	return intake.Call{Caller: intake.Caller{Extension: e, Session: l.Session("caller")}, Command: command, Key: key, Via: invocation.REST}
}

// invoke calls and waits for the settlement.
func (s *stand) invoke(tb testing.TB, c intake.Call) invocation.Invocation {
	tb.Helper()
	a, err := s.in.Invoke(tb.Context(), c)
	if err != nil {
		tb.Fatalf("invoke: %v %v", err, invocation.AsError(err).Problems)
	}
	return a.Invocation
}

// record records a call and does not wait for it.
func (s *stand) record(tb testing.TB, c intake.Call) invocation.Invocation {
	tb.Helper()
	a, err := intake.New(s.p.Ledger, s.p.Registry, s.p.Catalog, intake.Config{Wait: time.Nanosecond}).Invoke(tb.Context(), c)
	if err != nil {
		tb.Fatalf("invoke: %v", err)
	}
	return a.Invocation
}

// settled waits until an invocation has settled.
func (s *stand) settled(tb testing.TB, inv invocation.Invocation) invocation.Invocation {
	tb.Helper()
	brokertest.Eventually(tb, within, string(inv.ID)+" settles", func() bool {
		now, err := s.p.Ledger.Invocation(tb.Context(), inv.Lock, inv.ID)
		if err != nil {
			tb.Errorf("read the invocation: %v", err)
			return true
		}
		inv = now
		return inv.Status.Settled()
	})
	return inv
}

// dispatch starts a dispatcher. Stop drains it and returns what it failed with.
func (s *stand) dispatch(tb testing.TB, cfg dispatcher.Config) (stop func() error) {
	tb.Helper()
	return started(tb, s.Open(tb), cfg)
}

func started(tb testing.TB, p *platform.Platform, cfg dispatcher.Config) (stop func() error) {
	tb.Helper()
	part, err := dispatcher.New(p, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return platformtest.Run(tb, part)
}

// calling starts a dispatcher that calls a function in place of webhooks.
func (s *stand) calling(tb testing.TB, call func(context.Context, invocation.Invocation) invocation.Outcome) {
	tb.Helper()
	part, err := dispatcher.NewCalling(s.Open(tb), dispatcher.Config{}, call)
	if err != nil {
		tb.Fatal(err)
	}
	platformtest.Run(tb, part)
}

// check checks how an invocation has settled.
func check(tb testing.TB, inv invocation.Invocation, status invocation.Status, code string) {
	tb.Helper()
	got := ""
	if inv.Error != nil {
		got = inv.Error.Code
	}
	if inv.Status != status || got != code {
		tb.Errorf("got %s %q, want %s %q", inv.Status, got, status, code)
	}
}

// dead returns how many messages were given up.
func (s *stand) dead(tb testing.TB) uint64 {
	tb.Helper()
	stream, err := s.p.Conn.JS.Stream(tb.Context(), "DEAD")
	if err != nil {
		tb.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// done reports whether no request is open or waiting.
func (s *stand) done(tb testing.TB) bool {
	tb.Helper()
	return brokertest.Done(tb, s.p.Conn, ledger.InvocationStream(0), ledger.DispatchConsumer)
}

// A target counts what it gets, by invocation.
type target struct {
	*httptest.Server
	mu   sync.Mutex
	hits map[string]int
}

// newTarget serves answer; the requests that came are counted before.
func newTarget(tb testing.TB, answer http.HandlerFunc) *target {
	tb.Helper()
	x := &target{hits: make(map[string]int)}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.mu.Lock()
		x.hits[r.Header.Get("Webhook-Id")]++
		x.mu.Unlock()
		answer(w, r)
	}))
	tb.Cleanup(x.Close)
	return x
}

// hitsOf returns how often an invocation came.
func (x *target) hitsOf(id invocation.ID) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.hits[string(id)]
}

// total returns how many requests came.
func (x *target) total() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, hits := range x.hits {
		n += hits
	}
	return n
}

const completedEmpty = `{"status":"completed","result":{}}`

// answers answers with a body, once the request was read.
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
