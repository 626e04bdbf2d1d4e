package service

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A round of checks takes checkTimeout at most and answers for checkFresh: the
// readiness path has no credential, so asking it often must not cost more.
const (
	checkTimeout = 2 * time.Second
	checkFresh   = time.Second
)

// The states of readiness, as the answer's status shows them.
const (
	statusOK          = "ok"
	statusStarting    = "starting"
	statusDraining    = "draining"
	statusUnavailable = "unavailable"
)

// Health answers whether the process lives and whether it can work. Its zero
// value works and is not ready until the part of [Health.Part] has started.
type Health struct {
	// Log gets one line when a check begins to fail and one when it passes
	// again. Nil logs nothing.
	Log *slog.Logger

	phase atomic.Int32 // phaseStarting, phaseReady, phaseDraining

	mu      sync.Mutex // guards what follows, and serialises rounds of checks
	checks  []check
	failing []string // of the newest round
	checked time.Time
}

const (
	phaseStarting int32 = iota
	phaseReady
	phaseDraining
)

type check struct {
	name string
	run  func(context.Context) error
}

// Add adds a check of readiness. It must return when its context ends, after
// two seconds at the latest. Its name is shown to everybody, its error only to
// the log.
func (h *Health) Add(name string, run func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, check{name, run})
	h.checked = time.Time{}
}

// Part returns the part that makes the process ready when it starts and
// unready as soon as it is stopped. It belongs last, so that it is stopped
// first; it then waits for delay, during which load balancers learn of it
// while everything still works.
func (h *Health) Part(delay time.Duration) Part {
	return Part{
		Name: "readiness",
		Start: func(context.Context) error {
			h.phase.Store(phaseReady)
			return nil
		},
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			h.phase.Store(phaseDraining)
			wait := time.NewTimer(delay)
			defer wait.Stop()
			<-wait.C
			return nil
		},
	}
}

// Live answers 200 for as long as the process can answer (GET /healthz). It
// checks nothing else: a broker out of reach is no reason to restart.
func (h *Health) Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, healthAnswer{Status: statusOK})
	})
}

// Ready answers 200, or 503 with the names of the failing checks and nothing
// of their errors (GET /readyz).
func (h *Health) Ready() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, h.ready(r.Context()))
	})
}

type healthAnswer struct {
	Status  string   `json:"status"`
	Failing []string `json:"failing,omitempty"`
}

func answer(w http.ResponseWriter, a healthAnswer) {
	body, err := json.Marshal(a)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if a.Status != statusOK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write(append(body, '\n'))
}

func (h *Health) ready(ctx context.Context) healthAnswer {
	switch h.phase.Load() {
	case phaseStarting:
		return healthAnswer{Status: statusStarting}
	case phaseDraining:
		return healthAnswer{Status: statusDraining}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checked.IsZero() || time.Since(h.checked) >= checkFresh {
		h.round(ctx)
	}
	if len(h.failing) > 0 {
		return healthAnswer{Status: statusUnavailable, Failing: h.failing}
	}
	return healthAnswer{Status: statusOK}
}

// round runs all checks at once. It keeps no tie to the request that caused
// it, because its result answers other requests too.
func (h *Health) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	errs := make([]error, len(h.checks))
	var wg sync.WaitGroup
	for i, c := range h.checks {
		wg.Go(func() { errs[i] = c.run(ctx) })
	}
	wg.Wait()
	var failing []string
	for i, c := range h.checks {
		if errs[i] != nil {
			failing = append(failing, c.name)
		}
		h.logChange(ctx, c.name, errs[i])
	}
	h.failing, h.checked = failing, time.Now()
}

func (h *Health) logChange(ctx context.Context, name string, err error) {
	was := slices.Contains(h.failing, name)
	switch {
	case h.Log == nil || was == (err != nil):
	case err != nil:
		h.Log.LogAttrs(ctx, slog.LevelWarn, "check failing", slog.String("check", name), slog.String("err", err.Error()))
	default:
		h.Log.LogAttrs(ctx, slog.LevelInfo, "check passing", slog.String("check", name))
	}
}
