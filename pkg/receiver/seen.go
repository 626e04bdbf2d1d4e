package receiver

import (
	"errors"
	"sync"
)

// DefaultSeen is how many webhook ids a [Seen] remembers unless told otherwise.
const DefaultSeen = 10_000

// ErrBusy says that another goroutine is at work on the same webhook. Return it
// from the function: the webhook will be sent again.
var ErrBusy = errors.New("the same webhook is being handled")

// A Seen remembers the ids of the last webhooks that were handled, in memory:
// another process, or the next one, knows nothing of them. The zero value is
// ready for use.
type Seen struct {
	// Size is how many ids are remembered; zero means [DefaultSeen].
	Size int

	mu    sync.Mutex
	state map[string]bool // true once handled, false while at work
	order []string        // the handled ones; a ring once it is full
	next  int             // where the ring's oldest stands
}

// Once calls do unless it has returned nil for this id before. An error or a
// panic of do forgets the id, so that the repetition is handled. The error is
// that of do, or [ErrBusy].
func (s *Seen) Once(id string, do func() error) error {
	s.mu.Lock()
	if s.state == nil {
		s.state = make(map[string]bool)
	}
	handled, known := s.state[id]
	if !known {
		s.state[id] = false
	}
	s.mu.Unlock()
	switch {
	case handled:
		return nil
	case known:
		return ErrBusy
	}
	done := false
	defer func() { s.settle(id, done) }()
	err := do()
	done = err == nil
	return err
}

// settle remembers an id as handled, in the place of the oldest, or forgets it.
func (s *Seen) settle(id string, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !done {
		delete(s.state, id)
		return
	}
	s.state[id] = true
	size := s.Size
	if size <= 0 {
		size = DefaultSeen
	}
	if len(s.order) < size {
		s.order = append(s.order, id)
		return
	}
	delete(s.state, s.order[s.next])
	s.order[s.next] = id
	s.next = (s.next + 1) % len(s.order)
}
