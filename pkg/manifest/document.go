package manifest

import (
	"encoding/json"
	"slices"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// DefaultKind is the kind of a command that names none (contract section 4).
const DefaultKind = "control"

// A Document is a manifest (contract section 5).
type Document struct {
	Commands []Command `json:"commands"`
	Queries  []Query   `json:"queries"`
	Events   []Event   `json:"events"`
	// Subscriptions select the lock events that are delivered by webhook: "*",
	// "slug.*" or exact ids.
	Subscriptions []string `json:"subscriptions"`
}

// A Command changes something.
type Command struct {
	ID          invocation.CapabilityID `json:"id"`
	Title       string                  `json:"title"`
	Description string                  `json:"description"`
	// Kind is an opaque word for whoever shows the command.
	Kind string `json:"kind"`
	// InvocableBy names who may call it, any of wearer, keyholder and extension.
	InvocableBy  []invocation.Actor `json:"invocableBy"`
	InputSchema  json.RawMessage    `json:"inputSchema"`
	OutputSchema json.RawMessage    `json:"outputSchema"`
	Deprecated   *Deprecation       `json:"deprecated"`
}

// A Query reads something. It is a command without a kind (contract section 4).
type Query struct {
	ID           invocation.CapabilityID `json:"id"`
	Title        string                  `json:"title"`
	Description  string                  `json:"description"`
	InvocableBy  []invocation.Actor      `json:"invocableBy"`
	InputSchema  json.RawMessage         `json:"inputSchema"`
	OutputSchema json.RawMessage         `json:"outputSchema"`
	Deprecated   *Deprecation            `json:"deprecated"`
}

// An Event is a type of lock event that the extension may emit.
type Event struct {
	ID            invocation.CapabilityID `json:"id"`
	PayloadSchema json.RawMessage         `json:"payloadSchema"`
	Deprecated    *Deprecation            `json:"deprecated"`
}

// A Deprecation tells callers to stop using a capability.
type Deprecation struct {
	Message string `json:"message"`
	// ReplacedBy is the id to use instead, or nil.
	ReplacedBy *invocation.CapabilityID `json:"replacedBy"`
}

// Decode reads a document that [Parse] accepted before, such as a stored one.
// It checks the JSON and nothing else.
func Decode(raw []byte) (*Document, error) {
	doc := new(Document)
	if err := strictjson.Decode(raw, doc, limits()); err != nil {
		return nil, err
	}
	return doc, nil
}

// MarshalJSON writes the contract's form: lists are never null (S-02).
func (d Document) MarshalJSON() ([]byte, error) {
	type plain Document
	d.Commands, d.Queries, d.Events = filled(d.Commands), filled(d.Queries), filled(d.Events)
	d.Subscriptions = filled(d.Subscriptions)
	return json.Marshal(plain(d))
}

// MarshalJSON writes the contract's form: invocableBy is never null (S-02).
func (c Command) MarshalJSON() ([]byte, error) {
	type plain Command
	c.InvocableBy = filled(c.InvocableBy)
	return json.Marshal(plain(c))
}

// MarshalJSON writes the contract's form: invocableBy is never null (S-02).
func (q Query) MarshalJSON() ([]byte, error) {
	type plain Query
	q.InvocableBy = filled(q.InvocableBy)
	return json.Marshal(plain(q))
}

// filled returns list, or an empty list where it is nil.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Equal reports whether two documents are the same JSON value, so that
// publishing one after the other keeps the revision (contract section 5).
func (d *Document) Equal(other *Document) bool {
	if d == nil || other == nil {
		return d == other
	}
	a, errA := canonical(d)
	b, errB := canonical(other)
	return errA == nil && errB == nil && slices.Equal(a, b)
}

func canonical(d *Document) ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return strictjson.Canonical(raw)
}

// Subscribes reports whether lock events of a type are delivered to the
// extension (contract section 5).
func (d *Document) Subscribes(event invocation.CapabilityID) bool {
	return invocation.MatchesAny(d.Subscriptions, event)
}
