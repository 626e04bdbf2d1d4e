package receiver

import (
	"encoding/json"
	"time"
)

// An Invocation is what was called, with what, and by whom.
type Invocation struct {
	InvocationID string `json:"invocationId"`
	// CommandID is the command or query, such as "my-ext.do-it".
	CommandID string `json:"commandId"`
	// Revision is that of your manifest by which the input was admitted.
	Revision int `json:"revision"`
	// Input is a JSON object that fits the inputSchema of that revision.
	Input json.RawMessage `json:"input"`
	// Actor is whom the history names: extension, wearer or keyholder.
	Actor  string `json:"actor"`
	Caller Caller `json:"caller"`
	// CausationID is the event or invocation that caused the call; empty at
	// the start of a chain.
	CausationID   string    `json:"causationId"`
	CorrelationID string    `json:"correlationId"`
	Depth         int       `json:"depth"`
	CreatedAt     time.Time `json:"createdAt"`
}

// A Caller is the extension that calls or asks.
type Caller struct {
	Slug               string `json:"slug"`
	PartnerExtensionID string `json:"partnerExtensionId"`
}

// An OptionsField says which field's choices are asked for, and by whom.
type OptionsField struct {
	CommandID string `json:"commandId"`
	Revision  int    `json:"revision"`
	// Field is the JSON Pointer of the field in the input, such as "/habit".
	Field string `json:"field"`
	// Search narrows the choices down; empty for all of them.
	Search string `json:"search"`
	Caller Caller `json:"caller"`
}

// An Event is one thing that happened on a lock (contract section 8).
type Event struct {
	EventID string `json:"eventId"`
	// Seq is strictly increasing on a lock, with gaps. Events may arrive in
	// another order.
	Seq int64 `json:"seq"`
	// Type is the event type, such as "wheel-of-fortune.landed".
	Type string `json:"type"`
	// Payload is a JSON object by the type's payloadSchema.
	Payload       json.RawMessage `json:"payload"`
	Source        Source          `json:"source"`
	CausationID   string          `json:"causationId"`
	CorrelationID string          `json:"correlationId"`
	Depth         int             `json:"depth"`
	CreatedAt     time.Time       `json:"createdAt"`
}

// A Source is where an event comes from.
type Source struct {
	// Extension is the slug of the extension on which it happened.
	Extension string `json:"extension"`
	// PartnerExtensionID is empty for a built-in extension.
	PartnerExtensionID string `json:"partnerExtensionId"`
	// InvocationID is the invocation that made the event, if one did.
	InvocationID string `json:"invocationId"`
	// Actor is extension, wearer, keyholder or system.
	Actor string `json:"actor"`
}

// A HistoryLine says what was done on a lock, and by whom.
type HistoryLine struct {
	LineID string `json:"id"`
	// Type is what was done, such as "time_changed".
	Type string `json:"type"`
	// Prefix is the built-in extension whose rule it was.
	Prefix string `json:"prefix"`
	// Role is who did it, and Actor whom the history names: extension, wearer,
	// keyholder or system.
	Role  string `json:"role"`
	Actor string `json:"actor"`
	// Extension is the slug of the extension that did it; empty where a person
	// or the platform acted directly.
	Extension    string          `json:"extension"`
	InvocationID string          `json:"invocationId"`
	Payload      json.RawMessage `json:"payload"`
	CreatedAt    time.Time       `json:"createdAt"`
}
