package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	endpointCount = 10
	// Events of a round: their deliveries all find a place to wait.
	events   = 500
	emitters = 8
	// How many wait for the dead endpoint, and on how many locks.
	deadWaiting = 10_000
	deadLocks   = 16
)

// deliveries measures the way of an event from its log to ten endpoints, and
// what a dead endpoint costs another.
func (r report) deliveries(ctx context.Context, dir string) error {
	e, err := startEndpoints()
	if err != nil {
		return err
	}
	defer e.close()
	r.print("%-36s %13s %13s\n", "", "deliveries/s", "CPU/delivery")
	floor, err := r.deliveryFloor(ctx, filepath.Join(dir, "floor"), e)
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	p, err := openDoors(ctx, filepath.Join(dir, "pipeline"))
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	err = e.seed(ctx, p.pipeline)
	for _, measure := range []func(context.Context, *doors, *endpoints, result) error{r.fanOut, r.deadEndpoint} {
		if err == nil {
			err = measure(ctx, p, e, floor)
		}
	}
	if cerr := p.close(); err == nil {
		err = cerr
	}
	return err
}

// endpoints are receivers that acknowledge everything, and one that hangs.
type endpoints struct {
	urls []string // of those that acknowledge
	dead string
	hits atomic.Int64

	mu      sync.Mutex
	waiting map[string]chan struct{} // by what a delivery has in its body
	stops   []func()
}

func startEndpoints() (*endpoints, error) {
	e := &endpoints{waiting: make(map[string]chan struct{})}
	for range endpointCount {
		t, err := startTarget(e.receive)
		if err != nil {
			return nil, err
		}
		e.urls, e.stops = append(e.urls, t.url), append(e.stops, t.close)
	}
	t, err := startTarget(hang)
	if err != nil {
		return nil, err
	}
	e.dead, e.stops = t.url, append(e.stops, t.close)
	return e, nil
}

func (e *endpoints) close() {
	for _, stop := range e.stops {
		stop()
	}
}

func (e *endpoints) receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what is cut off is not waited for
	e.hits.Add(1)
	w.WriteHeader(http.StatusNoContent)
	e.mu.Lock()
	defer e.mu.Unlock()
	for mark, hit := range e.waiting {
		if strings.Contains(string(body), mark) {
			delete(e.waiting, mark)
			close(hit)
		}
	}
}

// expect returns a channel that is closed when a delivery with the mark comes.
func (e *endpoints) expect(mark string) <-chan struct{} {
	hit := make(chan struct{})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[mark] = hit
	return hit
}

const (
	emitting = `{"commands":[],"queries":[],"events":[{"id":"caller.done","payloadSchema":{"type":"object"},"deprecated":null}],"subscriptions":[]}`
	hearing  = `{"commands":[],"queries":[],"events":[],"subscriptions":["caller.*"]}`
)

// seed makes the endpoints' extensions and the locks: first those that all ten
// are on, then one with one of them, then those with the dead one.
func (e *endpoints) seed(ctx context.Context, p *pipeline) error {
	if err := p.extension(ctx, "caller", "", []byte(emitting)); err != nil {
		return err
	}
	var all []string
	for i, url := range append(slices.Clone(e.urls), e.dead) {
		slug := fmt.Sprintf("listener-%d", i)
		all = append(all, slug)
		if err := p.extension(ctx, slug, url, []byte(hearing)); err != nil {
			return err
		}
	}
	live, dead := all[:endpointCount], all[endpointCount:]
	for i := range manyLocks + 1 + deadLocks {
		on := live
		if i == manyLocks {
			on = live[:1]
		} else if i > manyLocks {
			on = dead
		}
		session, err := p.lock(ctx, "caller", on...)
		if err != nil {
			return err
		}
		p.sessions = append(p.sessions, session)
	}
	return nil
}

// emit adds an event to a lock's log.
func (p *pipeline) emit(ctx context.Context, lock int, mark string) error {
	body := fmt.Appendf(nil, `{"type":"caller.done","payload":{"note":"an event of the usual size, with a little text in it","mark":%q},"idempotencyKey":"%s-%d"}`, mark, p.runID, p.calls.Add(1))
	_, err := p.send(ctx, http.MethodPost, "/api/extensions/sessions/"+p.sessions[lock]+"/events", p.token, body)
	return err
}

// emitMany adds events to the logs of the locks that choose picks.
func (p *pipeline) emitMany(ctx context.Context, count int, choose func(n int) int) error {
	var next atomic.Int64
	errs := make([]error, emitters)
	var wg sync.WaitGroup
	for i := range emitters {
		wg.Go(func() {
			for n := int(next.Add(1)); n <= count && errs[i] == nil; n = int(next.Add(1)) {
				errs[i] = p.emit(ctx, choose(n), "")
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// fanOut measures the way of events from the locks' logs to ten endpoints each.
// They are emitted while no worker runs, in rounds.
func (r report) fanOut(ctx context.Context, p *doors, e *endpoints, floor result) error {
	var got result
	for got.took < r.duration {
		if err := p.emitMany(ctx, events, func(n int) int { return n % manyLocks }); err != nil {
			return err
		}
		stopProfile, err := r.profiled(got.took == 0)
		if err != nil {
			return err
		}
		one, err := p.drain(ctx, e, events*endpointCount)
		stopProfile()
		if err != nil {
			return err
		}
		got.calls, got.took, got.cpu = got.calls+one.calls, got.took+one.took, got.cpu+one.cpu
	}
	got.cpu /= time.Duration(got.calls)
	r.print("%-36s %13.0f %13s   throughput %.2f, CPU %.2f of the floor's\n", fmt.Sprintf("1 event to %d endpoints", endpointCount),
		got.perSecond(), short(got.cpu), got.perSecond()/floor.perSecond(), float64(got.cpu)/float64(floor.cpu))
	return nil
}

// drain runs a worker until the endpoints were told of everything. The result's
// CPU is that of all deliveries.
func (d *doors) drain(ctx context.Context, e *endpoints, count int) (result, error) {
	e.hits.Store(0)
	cpu, begin := cpuTime(), time.Now()
	worker, err := d.startWorker(ctx)
	if err != nil {
		return result{}, err
	}
	for int(e.hits.Load()) < count {
		if time.Since(begin) > time.Minute {
			return result{}, fmt.Errorf("%d of %d deliveries came", e.hits.Load(), count)
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // they are on their way
	}
	return result{calls: count, took: time.Since(begin), cpu: cpuTime() - cpu}, worker.close()
}

// deadEndpoint puts ten thousand deliveries before an endpoint that hangs, and
// measures how long after it was emitted an event reaches another endpoint.
func (r report) deadEndpoint(ctx context.Context, p *doors, e *endpoints, _ result) error {
	worker, err := p.startWorker(ctx)
	if err != nil {
		return err
	}
	if err := p.emitMany(ctx, deadWaiting, func(n int) int { return manyLocks + 1 + n%deadLocks }); err != nil {
		return err
	}
	late, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var took []time.Duration
	for i := range probes {
		mark := fmt.Sprintf("probe-%d.", i)
		hit, at := e.expect(mark), time.Now()
		if err := p.emit(ctx, manyLocks, mark); err != nil {
			return err
		}
		select {
		case <-hit:
			took = append(took, time.Since(at))
		case <-late.Done():
			return fmt.Errorf("probe %d did not arrive", i)
		}
	}
	slices.Sort(took)
	r.print("%-36s p50 %s, worst %s of %d events to another endpoint\n", fmt.Sprintf("%d deliveries to a dead endpoint", deadWaiting), short(took[probes/2]), short(took[probes-1]), probes)
	return worker.close()
}
