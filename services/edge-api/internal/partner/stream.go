package partner

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// How long a stream waits before it asks a replica again that lags, or a store
// that is out of reach.
const (
	firstLag = 20 * time.Millisecond
	mostLag  = time.Second
)

// stream sends a lock's events as they happen (contract section 3): those after
// Last-Event-ID or afterSeq, which any replica takes up, else those from now on.
// It goes on until the caller leaves, may no longer read, or the process stops.
func (a *API) stream(w http.ResponseWriter, r *http.Request, c intake.Caller) error {
	q, live, err := streamQueryOf(r)
	if err != nil {
		return err
	}
	leave, err := a.streams.enter(c.Session.ID)
	if err != nil {
		return err
	}
	defer leave()
	f := &follower{api: a, request: r, caller: c, query: q}
	if f.watch, err = a.cfg.Intake.Watch(c); err != nil {
		return err
	}
	defer f.watch.Close()
	if live {
		if f.query.After, err = a.cfg.Intake.EndOfEvents(r.Context(), c); err != nil {
			return err
		}
	}
	if f.out, err = newEventStream(w, f.query.After); err != nil {
		return err
	}
	f.run(r.Context())
	return nil
}

// streamQueryOf reads where a stream begins and what it selects; live says that
// it begins now.
func streamQueryOf(r *http.Request) (out ledger.EventQuery, live bool, err error) {
	q := door.ReadQuery(r)
	_, found := q.Text("afterSeq")
	out = ledger.EventQuery{After: invocation.Seq(q.Int("afterSeq", door.Range{Most: maxSeq})), Limit: maxPage}
	if id := wire.Single(r.Header, "Last-Event-ID"); id != "" {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil || n > maxSeq {
			q.Wrong("Last-Event-ID", "must be the seq of an event")
		}
		found, out.After = true, invocation.Seq(n)
	}
	out.Types = typesOf(q)
	return out, !found, q.Err()
}

// follower is one stream.
type follower struct {
	api     *API
	request *http.Request
	caller  intake.Caller
	query   ledger.EventQuery // After is how far the stream has come
	watch   *ledger.Watch
	out     *eventStream
	told    bool // that the cursor lies before what is served
	lag     time.Duration
}

// run sends until the stream has to end.
func (f *follower) run(ctx context.Context) {
	beat := time.NewTicker(f.api.cfg.Beat)
	defer beat.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-service.Draining(ctx):
			return
		case <-f.watch.Moved():
		case <-again.C:
		case <-beat.C:
			if !f.mayGoOn() {
				return
			}
			f.out.beat(f.query.After)
		}
		if f.catchUp(ctx) != nil || f.out.flush() != nil {
			return
		}
		if f.lag > 0 {
			again.Reset(f.lag)
		}
	}
}

// mayGoOn asks anew what admitted the stream. While the store is out of reach
// nothing speaks against it.
func (f *follower) mayGoOn() bool {
	_, err := f.api.caller(f.request)
	return err == nil || invocation.CodeOf(err) == invocation.ServiceUnavailable
}

// catchUp writes all events after the cursor. An error ends the stream.
func (f *follower) catchUp(ctx context.Context) error {
	for {
		page, err := f.api.cfg.Intake.Events(ctx, f.caller, f.query)
		if invocation.CodeOf(err) == invocation.ServiceUnavailable {
			f.lag = mostLag
			return nil
		}
		if err != nil {
			return err
		}
		if page.Truncated && !f.told {
			f.told = true
			if err := f.out.send("truncated", f.query.After, map[string]any{"oldestSeq": page.Oldest}); err != nil {
				return err
			}
		}
		for _, e := range page.Events {
			if err := f.out.send("", e.Seq, wire.NewEvent(e)); err != nil {
				return err
			}
		}
		f.query.After = page.Last
		if page.More {
			continue
		}
		f.wait()
		return nil
	}
}

// wait notes whether the log is known to go on after what was served, and when
// to ask again.
func (f *follower) wait() {
	if !f.watch.Ahead(f.query.After) {
		f.lag = 0
		return
	}
	f.lag = min(max(2*f.lag, firstLag), mostLag)
}
