package invocation

import (
	"cmp"
	"time"
)

// The figures of the contract that are no configuration.
const (
	MaxDepth         = 8                // contract section 6: depth 8 runs, 9 is refused
	MaxNesting       = 64               // levels of input, result and payload; the object itself is level 1
	MaxKeyLength     = 200              // code points of an idempotency key
	MaxBody          = 256 << 10        // bytes of a REST body and of a target's answer
	MaxPayload       = 16 << 10         // bytes of an event's payload
	MaxEvents        = 16               // events of one answer
	MaxFailureCode   = 64               // code points of a target's own error code
	MaxOptions       = 50               // choices of a field in one answer
	MaxSearch        = 100              // code points of a search among choices
	MaxFailureText   = 500              // code points of a target's own error message
	InferenceWindow  = 10 * time.Second // a delivered event is taken as the cause for this long
	CausationWindow  = 7 * 24 * time.Hour
	Retention        = 30 * 24 * time.Hour // of invocations, their keys and lock events
	EmissionKeyTTL   = 24 * time.Hour      // how long the key of an emitted event holds
	AnswerWait       = 12 * time.Second    // how long a caller waits for the settlement
	CallTimeout      = 10 * time.Second    // a target's time for its whole answer
	DispatchDeadline = 15 * time.Minute    // a request that nobody claimed by then has failed
	DispatchGrace    = 30 * time.Second    // after the deadline readers say so themselves
)

// A Bucket names one limit, as refusals show it in details.bucket.
type Bucket string

// The buckets (contract section 9).
const (
	BucketExtension    Bucket = "extension"     // REST calls per extension and lock
	BucketLock         Bucket = "lock"          // REST calls per lock
	BucketEvents       Bucket = "events"        // emitted events per extension and lock
	BucketMCPExtension Bucket = "mcp-extension" // MCP calls per extension and lock
	BucketMCPLock      Bucket = "mcp-lock"      // MCP calls per lock
	BucketMCPRequests  Bucket = "mcp-requests"  // MCP requests per extension
	BucketOptions      Bucket = "options"       // option look-ups per extension and lock
)

// A Limit is how many calls a window of time admits.
type Limit struct {
	Max    int
	Window time.Duration
}

// Limits are all limits of contract section 9. The zero value of a field
// means the contract's figure.
type Limits struct {
	Extension, Lock, Events, MCPExtension, MCPLock, MCPRequests, Options Limit
}

// WithDefaults fills every figure left zero with the contract's.
func (l Limits) WithDefaults() Limits {
	const minutes = 5 * time.Minute
	return Limits{
		Extension:    l.Extension.or(600, minutes),
		Lock:         l.Lock.or(1200, minutes),
		Events:       l.Events.or(120, minutes),
		MCPExtension: l.MCPExtension.or(600, minutes),
		MCPLock:      l.MCPLock.or(1200, minutes),
		MCPRequests:  l.MCPRequests.or(1200, time.Minute),
		Options:      l.Options.or(300, minutes),
	}
}

func (l Limit) or(limit int, window time.Duration) Limit {
	return Limit{Max: cmp.Or(l.Max, limit), Window: cmp.Or(l.Window, window)}
}

// Of returns the limit of a bucket.
func (l Limits) Of(b Bucket) Limit {
	switch b {
	case BucketExtension:
		return l.Extension
	case BucketLock:
		return l.Lock
	case BucketEvents:
		return l.Events
	case BucketMCPExtension:
		return l.MCPExtension
	case BucketMCPLock:
		return l.MCPLock
	case BucketMCPRequests:
		return l.MCPRequests
	case BucketOptions:
		return l.Options
	}
	return Limit{}
}
