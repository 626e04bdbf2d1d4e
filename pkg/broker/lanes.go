package broker

import (
	"context"
	"errors"
	"sync"
)

// ErrLaneFull is returned by Enter when a lane's slots and waiting line are taken.
var ErrLaneFull = errors.New("lane is full")

// ErrStopping is returned by Enter when the lanes are being closed.
var ErrStopping = errors.New("stopping")

// Lanes keep work for different keys from standing in each other's way: each
// key has a number of slots and a short waiting line behind them, and what
// comes beyond is refused at once, so that one slow target or endpoint holds
// nothing that others need (design section 3, dispatch queue). All methods may
// be called concurrently.
type Lanes struct {
	slots, line int

	mu      sync.Mutex
	closed  bool
	byKey   map[string]*lane
	stopped chan struct{}
}

type lane struct {
	running int
	waiting []chan struct{} // closed, oldest first, to hand over a slot
}

// NewLanes returns lanes with this many slots and places to wait for each key.
func NewLanes(slots, line int) *Lanes {
	return &Lanes{slots: slots, line: line, byKey: make(map[string]*lane), stopped: make(chan struct{})}
}

// Enter takes a slot of the key's lane, after waiting in its line if it must.
// The caller calls leave once when done. It returns ErrLaneFull at once when
// the line is full, ErrStopping after Stop, and the cause of a done ctx.
func (l *Lanes) Enter(ctx context.Context, key string) (leave func(), err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, ErrStopping
	}
	ln := l.byKey[key]
	if ln == nil {
		ln = &lane{}
		l.byKey[key] = ln
	}
	leave = func() { l.leave(key, ln) }
	if ln.running < l.slots {
		ln.running++
		l.mu.Unlock()
		return leave, nil
	}
	if len(ln.waiting) >= l.line {
		l.mu.Unlock()
		return nil, ErrLaneFull
	}
	turn := make(chan struct{})
	ln.waiting = append(ln.waiting, turn)
	l.mu.Unlock()

	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		return nil, l.giveUp(ln, turn, leave, context.Cause(ctx))
	case <-l.stopped:
		return nil, l.giveUp(ln, turn, leave, ErrStopping)
	}
}

// giveUp leaves the waiting line, or passes on the slot that was handed over
// in the same moment.
func (l *Lanes) giveUp(ln *lane, turn chan struct{}, leave func(), why error) error {
	l.mu.Lock()
	for i, w := range ln.waiting {
		if w == turn {
			ln.waiting = append(ln.waiting[:i], ln.waiting[i+1:]...)
			l.mu.Unlock()
			return why
		}
	}
	l.mu.Unlock()
	leave()
	return why
}

func (l *Lanes) leave(key string, ln *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(ln.waiting) > 0 {
		close(ln.waiting[0])
		ln.waiting = ln.waiting[1:]
		return
	}
	if ln.running--; ln.running == 0 {
		delete(l.byKey, key)
	}
}

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
