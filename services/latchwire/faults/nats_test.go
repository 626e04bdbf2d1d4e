package faults

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// soon is how long a call may take to be refused while NATS is away.
const soon = 5 * time.Second

// away is how long NATS is away: longer than a registry trusts what it knows.
const away = 6 * time.Second

// NATS is killed and comes back on the same store. Meanwhile calls are refused
// and nothing is half recorded; afterwards all goes on without a restart.
func TestNATSAway(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	c := newCluster(t, size{edges: 2, dispatchers: 1, workers: 1})
	w := newWorld(t, c, 16)
	l := w.begin(t, true)
	l.more(t)

	c.nats.end(t, syscall.SIGKILL)
	gone := time.Now()
	for _, p := range c.services() {
		waitReadiness(t, p, http.StatusServiceUnavailable)
	}
	var refused []call
	for n := 0; len(refused) < 4 || time.Since(gone) < away; n++ {
		made := w.newCall(n, n%2 == 0)
		begin := time.Now()
		a := c.Send(t, w.request(c.Base(n), made))
		if problem := refusal(a); problem != "" {
			t.Fatal(problem)
		}
		if took := time.Since(begin); took > soon {
			t.Errorf("a call was refused after %s, want within %s", took, soon)
		}
		refused = append(refused, made)
	}

	c.nats.start(t)
	c.waitNATS(t)
	for _, p := range c.services() {
		waitReadiness(t, p, http.StatusOK)
	}
	w.outage = time.Since(gone)
	l.more(t)
	refused = refused[:min(len(refused), 20)]
	for n := range refused { // these keys are new ones still
		made := &refused[n]
		a := c.Send(t, w.request(c.Base(n), *made))
		made.id = a.Invocation(t).InvocationID
		if a.Header.Get("Idempotency-Replayed") == "true" {
			t.Errorf("%s was refused and yet recorded", made.id)
		}
		if inv := w.settled(t, *made); inv.Status != "completed" {
			t.Errorf("a key that was refused before: got %s (%+v), want completed", inv.Status, inv.Error)
		}
	}
	l.check(t, refused...)
}

func waitReadiness(t *testing.T, p *process, status int) {
	t.Helper()
	e2etest.Within(t, 15*time.Second, p.name+" changes its readiness", func() bool { return p.readiness() == status })
}
