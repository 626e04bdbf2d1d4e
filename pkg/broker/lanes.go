package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrLaneFull is returned by Enter when a lane's slots and waiting line are taken.
var ErrLaneFull = errors.New("lane is full")

// ErrStopping is returned by Enter when the lanes are being closed.
var ErrStopping = errors.New("stopping")

// Lanes keep work for different keys from standing in each other's way: each
// key has a number of slots and a short waiting line behind them, and what
// comes beyond is refused at once, so that one slow target or endpoint holds
// nothing that others need (design section 3, dispatch queue). Within a lane,
// work may have to keep an order. All methods may be called concurrently.
type Lanes struct {
	slots, line, pool int

	mu      sync.Mutex
	waiting int // in all lanes
	closed  bool
	byKey   map[string]*lane
	stopped chan struct{}
}

// A Turn is a place in a lane. Those of a lane with the same Order run one at a
// time by Seq, as far as they were expected; an empty Order keeps none.
type Turn struct {
	Key, Order string
	Seq        uint64
}

type lane struct {
	running int
	waiting []waiter // oldest first
	// Of each order, what runs and what is to come, by Seq.
	busy     map[string]bool
	expected map[string][]uint64
}

type waiter struct {
	Turn
	turn chan struct{} // closed to hand over a slot
}

// NewLanes returns lanes with this many slots and places to wait for each key.
func NewLanes(slots, line int) *Lanes {
	return &Lanes{slots: slots, line: line, byKey: make(map[string]*lane), stopped: make(chan struct{})}
}

// NewSharedLanes returns lanes that also share a pool of places to wait: a lane
// gets half of what is free of it, so that one with a burst has room, and many
// that hang leave some to all others.
func NewSharedLanes(slots, line, pool int) *Lanes {
	l := NewLanes(slots, line)
	l.pool = pool
	return l
}

// full reports whether a lane's waiting line is taken.
func (l *Lanes) full(ln *lane) bool {
	return len(ln.waiting) >= l.line+max(0, l.pool-l.waiting)/2
}

// Expect announces work, in the order in which it arrives: what has the same
// order and a higher Seq waits for it. Every expected turn must be forgotten.
func (l *Lanes) Expect(t Turn) {
	if t.Order == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lane(t.Key)
	i, found := slices.BinarySearch(ln.expected[t.Order], t.Seq)
	if !found {
		ln.expected[t.Order] = slices.Insert(ln.expected[t.Order], i, t.Seq)
	}
}

// Forget ends an expected turn, whether it was taken or not.
func (l *Lanes) Forget(t Turn) {
	if t.Order == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln := l.byKey[t.Key]; ln != nil {
		ln.forget(t)
		l.serve(t.Key, ln)
	}
}

func (ln *lane) forget(t Turn) {
	all := ln.expected[t.Order]
	if i, found := slices.BinarySearch(all, t.Seq); found {
		ln.expected[t.Order] = slices.Delete(all, i, i+1)
	}
	if len(ln.expected[t.Order]) == 0 {
		delete(ln.expected, t.Order)
	}
}

// Enter takes a slot of the key's lane, after waiting in its line if it must.
// The caller calls leave once when done. It returns ErrLaneFull at once when
// the line is full, ErrStopping after Stop, and the cause of a done ctx.
func (l *Lanes) Enter(ctx context.Context, t Turn) (leave func(), err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, ErrStopping
	}
	ln := l.lane(t.Key)
	leave = func() { l.leave(ln, t) }
	if ln.mayRun(t, l.slots) {
		ln.run(t)
		l.mu.Unlock()
		return leave, nil
	}
	if l.full(ln) {
		l.mu.Unlock()
		return nil, ErrLaneFull
	}
	w := waiter{t, make(chan struct{})}
	ln.waiting = append(ln.waiting, w)
	l.waiting++
	l.mu.Unlock()

	select {
	case <-w.turn:
		return leave, nil
	case <-ctx.Done():
		return nil, l.giveUp(ln, w, leave, context.Cause(ctx))
	case <-l.stopped:
		return nil, l.giveUp(ln, w, leave, ErrStopping)
	}
}

// giveUp leaves the waiting line, or passes on the slot that was handed over
// in the same moment.
func (l *Lanes) giveUp(ln *lane, gone waiter, leave func(), why error) error {
	l.mu.Lock()
	if i := slices.IndexFunc(ln.waiting, func(w waiter) bool { return w.turn == gone.turn }); i >= 0 {
		ln.waiting = slices.Delete(ln.waiting, i, i+1)
		l.waiting--
		l.mu.Unlock()
		return why
	}
	l.mu.Unlock()
	leave()
	return why
}

func (l *Lanes) leave(ln *lane, t Turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.running--
	if t.Order != "" {
		delete(ln.busy, t.Order)
		ln.forget(t)
	}
	l.serve(t.Key, ln)
}

func (l *Lanes) lane(key string) *lane {
	ln := l.byKey[key]
	if ln == nil {
		ln = &lane{busy: make(map[string]bool), expected: make(map[string][]uint64)}
		l.byKey[key] = ln
	}
	return ln
}

// serve hands free slots to those who wait, and drops a lane that nobody uses.
func (l *Lanes) serve(key string, ln *lane) {
	for i := 0; i < len(ln.waiting) && ln.running < l.slots; {
		w := ln.waiting[i]
		if !ln.mayRun(w.Turn, l.slots) {
			i++
			continue
		}
		ln.waiting = slices.Delete(ln.waiting, i, i+1)
		l.waiting--
		ln.run(w.Turn)
		close(w.turn)
	}
	if ln.running == 0 && len(ln.waiting) == 0 && len(ln.expected) == 0 {
		delete(l.byKey, key)
	}
}

// mayRun reports whether there is a slot and nothing goes before t.
func (ln *lane) mayRun(t Turn, slots int) bool {
	if ln.running >= slots {
		return false
	}
	if t.Order == "" {
		return true
	}
	if ln.busy[t.Order] {
		return false
	}
	first := ln.expected[t.Order]
	return len(first) == 0 || t.Seq <= first[0]
}

func (ln *lane) run(t Turn) {
	ln.running++
	if t.Order != "" {
		ln.busy[t.Order] = true
	}
}

// Stopping returns a channel that Stop closes.
func (l *Lanes) Stopping() <-chan struct{} { return l.stopped }

// Stop refuses everything from now on and turns away all who wait. Those who
// hold a slot keep it until they leave.
func (l *Lanes) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.stopped)
	}
}
