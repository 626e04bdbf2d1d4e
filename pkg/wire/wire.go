package wire

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
)

// An Invocation is an invocation as callers see it (contract section 6).
type Invocation struct {
	InvocationID      invocation.ID           `json:"invocationId"`
	CommandID         invocation.CapabilityID `json:"commandId"`
	Capability        invocation.Kind         `json:"capability"`
	Status            invocation.Status       `json:"status"`
	Result            json.RawMessage         `json:"result"`
	Error             *Failure                `json:"error"`
	CausationID       *invocation.ID          `json:"causationId"`
	CorrelationID     invocation.ID           `json:"correlationId"`
	Depth             int                     `json:"depth"`
	CausationInferred bool                    `json:"causationInferred"`
	CreatedAt         string                  `json:"createdAt"`
	SettledAt         *string                 `json:"settledAt"`
}

// A Failure says why an invocation did not complete.
type Failure struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

// NewInvocation returns the wire form of an invocation.
func NewInvocation(inv invocation.Invocation) Invocation {
	out := Invocation{
		InvocationID: inv.ID, CommandID: inv.Command, Capability: inv.Capability, Status: inv.Status,
		Result: inv.Result, CausationID: OrNull(inv.Chain.Causation), CorrelationID: inv.Chain.Correlation,
		Depth: inv.Chain.Depth, CausationInferred: inv.Chain.Inferred,
		CreatedAt: invocation.FormatTime(inv.CreatedAt), SettledAt: TimeOrNull(inv.SettledAt),
	}
	if inv.Error != nil {
		f := Failure(*inv.Error)
		out.Error = &f
	}
	return out
}

// An Event is a lock event's envelope (contract section 8).
type Event struct {
	EventID       invocation.ID           `json:"eventId"`
	Seq           invocation.Seq          `json:"seq"`
	Type          invocation.CapabilityID `json:"type"`
	Payload       json.RawMessage         `json:"payload"`
	Source        Source                  `json:"source"`
	CausationID   *invocation.ID          `json:"causationId"`
	CorrelationID invocation.ID           `json:"correlationId"`
	Depth         int                     `json:"depth"`
	CreatedAt     string                  `json:"createdAt"`
}

// A Source is where an event came from.
type Source struct {
	Extension          invocation.Slug         `json:"extension"`
	PartnerExtensionID *invocation.ExtensionID `json:"partnerExtensionId"`
	InvocationID       *invocation.ID          `json:"invocationId"`
	Actor              invocation.Actor        `json:"actor"`
}

// NewEvent returns the wire form of an event.
func NewEvent(e invocation.Event) Event {
	return Event{
		EventID: e.ID, Seq: e.Seq, Type: e.Type, Payload: e.Payload,
		Source: Source{
			Extension: e.Source.Extension, PartnerExtensionID: OrNull(e.Source.Partner),
			InvocationID: OrNull(e.Source.Invocation), Actor: e.Source.Actor,
		},
		CausationID: OrNull(e.Chain.Causation), CorrelationID: e.Chain.Correlation, Depth: e.Chain.Depth,
		CreatedAt: invocation.FormatTime(e.CreatedAt),
	}
}

// An EventsPage is a page of a lock's events, by cursor (contract section 3).
type EventsPage struct {
	Events    []Event        `json:"events"`
	HasMore   bool           `json:"hasMore"`
	LastSeq   invocation.Seq `json:"lastSeq"`
	OldestSeq invocation.Seq `json:"oldestSeq"`
	Truncated bool           `json:"truncated"`
}

// NewEventsPage returns the wire form of a page.
func NewEventsPage(page ledger.EventPage) EventsPage {
	out := EventsPage{HasMore: page.More, LastSeq: page.Last, OldestSeq: page.Oldest, Truncated: page.Truncated}
	for _, e := range page.Events {
		out.Events = append(out.Events, NewEvent(e))
	}
	return out
}

// A HistoryLine is one line of a lock's visible history.
type HistoryLine struct {
	ID     invocation.ID     `json:"id"`
	LockID invocation.LockID `json:"lockId"`
	Type   string            `json:"type"`
	// Prefix is the built-in extension whose rule it was, lock for the lock's own
	// and for partners'.
	Prefix invocation.Slug `json:"prefix"`
	// Role is who did it, Actor whom the history names: an extension may have
	// acted in the wearer's name.
	Role         invocation.Actor `json:"role"`
	Actor        invocation.Actor `json:"actor"`
	Extension    *invocation.Slug `json:"extension"`
	InvocationID *invocation.ID   `json:"invocationId"`
	Payload      json.RawMessage  `json:"payload"`
	CreatedAt    string           `json:"createdAt"`
}

// NewHistoryLine returns the wire form of an entry's history line i.
func NewHistoryLine(e ledger.Entry, i int) HistoryLine {
	h := e.History[i]
	out := HistoryLine{
		ID: e.HistoryID(i), LockID: e.Lock, Type: h.Type, Prefix: lock.Self, Role: h.Actor, Actor: h.Actor, Extension: OrNull(h.Extension),
		InvocationID: OrNull(e.Source.Invocation), Payload: h.Payload, CreatedAt: invocation.FormatTime(e.At),
	}
	if lock.Implemented(e.Source.Extension) {
		out.Prefix = e.Source.Extension
	}
	if h.Extension != "" {
		out.Role = invocation.ActorExtension
	}
	if h.Payload == nil {
		out.Payload = json.RawMessage("{}")
	}
	return out
}

// An Extension names the receiver of a webhook.
type Extension struct {
	Slug invocation.Slug `json:"slug"`
}

// A Webhook is what is sent to an extension: the event's name, and data by it
// (contract sections 7 and 8). SentAt and RequestID are new at each attempt.
type Webhook struct {
	Event     string `json:"event"`
	SentAt    string `json:"sentAt"`
	RequestID string `json:"requestId"`
	Data      any    `json:"data"`
}

// NewWebhook returns a webhook that is sent now.
func NewWebhook(event string, now time.Time, data any) Webhook {
	var id [12]byte
	rand.Read(id[:])
	return Webhook{Event: event, SentAt: invocation.FormatTime(now), RequestID: hex.EncodeToString(id[:]), Data: data}
}

// The names of the webhooks.
const (
	CommandInvoked   = "extension.command_invoked"
	QueryInvoked     = "extension.query_invoked"
	OptionsRequested = "extension.options_requested"
	LockEventCreated = "lock_event.created"
	ActionLogCreated = "action_log.created"
)

// TimeOrNull writes a time as the contract does, the zero time as null.
func TimeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := invocation.FormatTime(t)
	return &s
}

// Encode writes a wire form. Numbers and strings that third parties wrote pass
// through as they are (S-03).
func Encode(v any) ([]byte, error) {
	return jsonv2.Marshal(v, jsonv2.Deterministic(true))
}

// OrNull returns a value as the contract writes it where it may be null: the
// zero value, such as an empty text, as null.
func OrNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
