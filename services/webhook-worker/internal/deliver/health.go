package deliver

import (
	"net/http"
	"sync"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Circuit says when an endpoint that fails is left alone.
type Circuit struct {
	// Failures in a row, over at least the time After, hold the endpoint: its
	// deliveries are kept back, and one at a time probes it. The time is longer
	// than a restart takes, so that what fails for a moment is tried as the
	// contract says.
	Failures int
	After    time.Duration
	// FirstProbe is how long after that the first probe comes; each that fails
	// doubles the wait up to MostProbe.
	FirstProbe, MostProbe time.Duration
	// Suspend is how long an endpoint may fail before it is disabled.
	Suspend time.Duration
}

// The bounds of how long one answer of 429 or 503 slows an endpoint down.
const (
	leastPause = 5 * time.Second
	mostPause  = 15 * time.Minute
)

// probeWait returns how long to wait for the next probe after n that failed.
func (c Circuit) probeWait(n int) time.Duration {
	return doubled(c.FirstProbe, n, c.MostProbe)
}

// doubled returns a wait that was doubled n times, up to the most.
func doubled(wait time.Duration, n int, most time.Duration) time.Duration {
	for ; n > 0 && wait < most; n-- {
		wait *= 2
	}
	return min(wait, most)
}

// overdue reports whether an endpoint has failed for so long that it is to be
// disabled.
func (c Circuit) overdue(failingSince, now time.Time) bool {
	return !failingSince.IsZero() && now.Sub(failingSince) >= c.Suspend
}

// Health is what a replica has seen of the endpoints that fail. Its methods may
// be called concurrently.
type health struct {
	circuit Circuit
	mu      sync.Mutex
	failing map[invocation.Slug]streak
}

// A streak is failures in a row.
type streak struct {
	failures int
	since    time.Time
}

func newHealth(c Circuit) *health {
	return &health{circuit: c, failing: make(map[invocation.Slug]streak)}
}

// fared notes how an attempt went and returns how long the endpoint is to be
// held, or zero, and since when it fails.
func (h *health) fared(slug invocation.Slug, o Outcome, shortest time.Duration, now time.Time) (hold time.Duration, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.acknowledged() {
		delete(h.failing, slug)
		return 0, time.Time{}
	}
	s := h.failing[slug]
	if s.failures++; s.failures == 1 {
		s.since = now
	}
	h.failing[slug] = s
	hold = o.pause(0, shortest, now)
	if s.failures >= h.circuit.Failures && now.Sub(s.since) >= h.circuit.After {
		hold = max(hold, h.circuit.probeWait(0))
	}
	return hold, s.since
}

// forget begins anew with an endpoint.
func (h *health) forget(slug invocation.Slug) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failing, slug)
}

// acknowledged reports whether the receiver took the delivery.
func (o Outcome) acknowledged() bool {
	return o.Status >= http.StatusOK && o.Status < http.StatusMultipleChoices
}

// pause returns how long the whole endpoint is left alone after an answer that
// asks for it: what Retry-After says within bounds, else a little, but not
// longer than the first retry waits. Each of n probes before it that failed
// doubles the little, and from the first on it is the least.
func (o Outcome) pause(n int, shortest time.Duration, now time.Time) time.Duration {
	if o.Status != http.StatusTooManyRequests && o.Status != http.StatusServiceUnavailable {
		return 0
	}
	little := doubled(min(leastPause, shortest), n, mostPause)
	asked, ok := egress.RetryAfter(o.Header, now)
	switch {
	case !ok:
		return little
	case n > 0:
		asked = max(asked, little)
	}
	return min(asked, mostPause)
}
