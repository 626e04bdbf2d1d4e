package invocation

import "time"

// A Chain is an invocation's or event's place among everything that followed
// from one first cause (contract section 6).
type Chain struct {
	// Causation is the event or invocation that directly caused this one,
	// empty for a root.
	Causation ID
	// Correlation is shared by the whole chain: the root's own id.
	Correlation ID
	// Depth is the distance from the root, which has 0.
	Depth int
	// Inferred says that the caller named no cause and the last event
	// delivered to it was taken.
	Inferred bool
	// Starter is who began the chain: limits that a refused call costs are
	// charged to it (contract section 9).
	Starter Starter
}

// A Starter is who began a chain: the caller of its root call or the emitter
// of its root event. A person, a built-in or the platform has no extension.
type Starter struct {
	Extension Slug
}

// A Cause is the stored fact that a new call or event follows from.
type Cause struct {
	ID          ID
	Correlation ID
	Depth       int
	Starter     Starter
}

// Root returns the chain of a call or event that nothing caused. Its
// correlation id is its own id (contract section 6).
func Root(own ID, starter Starter) Chain {
	return Chain{Correlation: own, Starter: starter}
}

// CausedBy returns the place right after the cause. It refuses with
// DepthExceeded beyond MaxDepth: depth 8 runs, 9 does not (contract section 6).
// The chain comes back with the refusal too, since the refused call is charged
// to its starter.
func CausedBy(c Cause, inferred bool) (Chain, error) {
	next := follow(c)
	next.Inferred = inferred
	if next.Depth > MaxDepth {
		return next, Refuse(DepthExceeded)
	}
	return next, nil
}

// Caused returns the place of an event that an invocation made. It is never
// refused: events of an admitted call are always recorded (contract section 6).
func (inv Invocation) Caused() Chain { return follow(inv.Cause()) }

// Cause returns the invocation as the cause of what follows from it.
func (inv Invocation) Cause() Cause {
	return Cause{ID: inv.ID, Correlation: inv.Chain.Correlation, Depth: inv.Chain.Depth, Starter: inv.Chain.Starter}
}

// Cause returns the event as the cause of what follows from it.
func (e Event) Cause() Cause {
	return Cause{ID: e.ID, Correlation: e.Chain.Correlation, Depth: e.Chain.Depth, Starter: e.Chain.Starter}
}

func follow(c Cause) Chain {
	return Chain{Causation: c.ID, Correlation: c.Correlation, Depth: c.Depth + 1, Starter: c.Starter}
}

// Infers reports whether an event whose delivery to the caller began at sentAt
// is the cause of a call that names none (contract section 6).
func Infers(sentAt, now time.Time) bool {
	return now.Sub(sentAt) <= InferenceWindow
}
