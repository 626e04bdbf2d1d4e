package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// lastCall is how long the parts that were not reached in time get to stop,
// all at once, so that one hanging part does not cost the others a clean end.
const lastCall = 2 * time.Second

// ErrStoppedEarly says that a part ended without an error before it was asked
// to. It counts as a failure: the parts after it relied on it.
var ErrStoppedEarly = errors.New("stopped before it was asked to")

// A Part is something that lives as long as the process. At least one of Start
// and Run is set.
type Part struct {
	// Name appears in errors; it is for people.
	Name string
	// Start gets the part ready; the next part starts after it returned nil.
	// Its context ends when the process is asked to stop and must not be kept.
	Start func(ctx context.Context) error
	// Run runs until its context is done, then drains, and returns nil when it
	// stopped because it was asked to. It is called whenever Start returned
	// nil, even when the process is already stopping, so that it can close what
	// Start opened. Without it the part is done once it has started.
	Run func(ctx context.Context) error
}

// Run starts parts in order and stops them in reverse once ctx is done or a
// part fails. It returns what failed, first failure first, or nil. The parts
// have grace to drain, all together; those that take longer are named in the
// error and left behind, those behind them are stopped at once and get two
// more seconds.
func Run(ctx context.Context, grace time.Duration, parts ...Part) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g := &group{fail: fail}
	for _, p := range parts {
		r := g.start(ctx, p)
		select {
		case <-r.ready:
		case <-r.done:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	<-ctx.Done()
	return g.stop(grace)
}

type running struct {
	name  string
	stop  context.CancelFunc
	ready chan struct{} // closed when the next part may start
	done  chan struct{} // closed when the part has ended
}

type group struct {
	fail context.CancelCauseFunc
	live []*running // owned by Run's goroutine

	mu   sync.Mutex
	errs []error // in the order in which they happened
}

// start runs p in a goroutine of its own that [group.stop] waits for. The
// part's context outlives ctx, because parts stop one after the other.
func (g *group) start(ctx context.Context, p Part) *running {
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{name: p.Name, stop: stop, ready: make(chan struct{}), done: make(chan struct{})}
	g.live = append(g.live, r)
	go func() {
		defer close(r.done)
		defer stop()
		if p.Start != nil {
			if err := p.Start(ctx); err != nil {
				g.failed(ctx, p.Name+": start", err)
				return
			}
		}
		close(r.ready)
		if p.Run == nil {
			return
		}
		err := p.Run(own)
		if err == nil && own.Err() == nil {
			err = ErrStoppedEarly
		}
		if err != nil {
			g.failed(own, p.Name, err)
		}
	}()
	return r
}

// failed records a failure and stops everything. A part that was asked to stop
// and answers with its context's error did what it was asked to.
func (g *group) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	err = fmt.Errorf("%s: %w", what, err)
	g.mu.Lock()
	g.errs = append(g.errs, err)
	g.mu.Unlock()
	g.fail(err)
}

func (g *group) stop(grace time.Duration) error {
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	for i, r := range slices.Backward(g.live) {
		r.stop()
		select {
		case <-r.done:
		case <-deadline.C:
			return g.abandon(g.live[:i+1], grace)
		}
	}
	return g.result()
}

// abandon stops what is left at once and names what still runs after that.
func (g *group) abandon(left []*running, grace time.Duration) error {
	for _, r := range left {
		r.stop()
	}
	deadline := time.NewTimer(lastCall)
	defer deadline.Stop()
	var names []string
	expired := false
	for _, r := range slices.Backward(left) {
		if !expired {
			select {
			case <-r.done:
			case <-deadline.C:
				expired = true
			}
		}
		select {
		case <-r.done:
		default:
			names = append(names, r.name)
		}
	}
	if len(names) == 0 {
		return errors.Join(g.result(), fmt.Errorf("%s took longer than %s to stop", left[len(left)-1].name, grace))
	}
	return errors.Join(g.result(), fmt.Errorf("did not stop within %s: %s", grace, strings.Join(names, ", ")))
}

func (g *group) result() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.errs...)
}
