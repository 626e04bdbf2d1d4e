package telemetry

import (
	"slices"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Where calls come in.
const (
	SourceEdge = "edge"
	SourceMCP  = "mcp"
)

// How admission ends. A duplicate found the invocation that its idempotency key
// had made before.
const (
	ResultAccepted  = "accepted"
	ResultDuplicate = "duplicate"
	ResultRejected  = "rejected"
)

// What a request to a partner is for.
const (
	PurposeInvocation = "invocation"
	PurposeEvent      = "event"
	PurposeOptions    = "options"
)

// How a delivery ends: acknowledged, given up after the last attempt, or its
// endpoint disabled (contract section 8).
const (
	OutcomeDelivered = "delivered"
	OutcomeDead      = "dead"
	OutcomeDisabled  = "disabled"
)

// The workers.
const (
	WorkerDispatch = "dispatch"
	WorkerFanOut   = "fan-out"
	WorkerDeliver  = "deliver"
	WorkerTimer    = "timer"
)

// The sets of labels. They are functions because a variable could be changed.
func sources() []string  { return []string{SourceEdge, SourceMCP} }
func results() []string  { return []string{ResultAccepted, ResultDuplicate, ResultRejected} }
func purposes() []string { return []string{PurposeInvocation, PurposeEvent, PurposeOptions} }
func outcomes() []string { return []string{OutcomeDelivered, OutcomeDead, OutcomeDisabled} }
func workers() []string {
	return []string{WorkerDispatch, WorkerFanOut, WorkerDeliver, WorkerTimer}
}
func statuses() []string { return []string{"completed", "rejected", "failed", "unknown"} }

// reasons are the codes of refusals, and none.
func reasons() []string {
	out := []string{""}
	for _, c := range invocation.Codes() {
		out = append(out, string(c))
	}
	return out
}

// settledErrors are the codes that settlements have (contract section 7).
func settledErrors() []string {
	return []string{
		"", "target-error", "target-unreachable", "target-timeout", "invalid-response", "dispatch-interrupted", "dispatch-expired",
	}
}

func settledError(s Settlement) string {
	if s.Status == "rejected" {
		return "rejected"
	}
	return oneOf(s.ErrorCode, settledErrors())
}

// oneOf returns value if it is in set, which keeps labels bounded.
func oneOf(value string, set []string) string {
	if slices.Contains(set, value) {
		return value
	}
	return other
}

// statusClass is the first digit of an HTTP status, as in 2xx.
func statusClass(status int) string {
	switch {
	case status < 100:
		return "none"
	case status < 200:
		return "1xx"
	case status < 300:
		return "2xx"
	case status < 400:
		return "3xx"
	case status < 500:
		return "4xx"
	default:
		return "5xx"
	}
}
