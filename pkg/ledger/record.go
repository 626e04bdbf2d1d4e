package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// The stored forms. They are ours alone, so their names are short; a field is
// only ever added, and its zero value means what its absence meant before, so
// that workers of two versions read each other's records. It is left out when
// it is zero, not when it is empty: a result of {} is one. Version is raised
// when that cannot hold, and a worker hands back what it does not know yet.
const recordVersion = 1

type partyRecord struct {
	Slug    invocation.Slug        `json:"s"`
	Partner invocation.ExtensionID `json:"x,omitzero"`
	Session invocation.SessionID   `json:"i,omitzero"`
}

type chainRecord struct {
	Causation   invocation.ID   `json:"c,omitzero"`
	Correlation invocation.ID   `json:"r,omitzero"` // empty: the event's own id
	Depth       int             `json:"d,omitzero"`
	Inferred    bool            `json:"i,omitzero"`
	Starter     invocation.Slug `json:"s,omitzero"`
}

// requestRecord is an invocation as it was admitted.
type requestRecord struct {
	Version    int                     `json:"v"`
	ID         invocation.ID           `json:"id"`
	Lock       invocation.LockID       `json:"lock"`
	Caller     partyRecord             `json:"from"`
	Target     partyRecord             `json:"to"`
	Command    invocation.CapabilityID `json:"cmd"`
	Capability invocation.Kind         `json:"kind"`
	Revision   int                     `json:"rev"`
	Input      json.RawMessage         `json:"in"`
	Actor      invocation.Actor        `json:"actor"`
	Via        invocation.Door         `json:"via"`
	Chain      chainRecord             `json:"chain"`
	CreatedAt  int64                   `json:"at"` // milliseconds
	// LockSeq is the lock's last transition when the call was admitted.
	LockSeq uint64 `json:"ls,omitzero"`
}

// stateRecord is what stands on an invocation's state subject: a claim, which
// has an owner and no status, or the settlement that replaces it.
type stateRecord struct {
	Version int `json:"v"`

	Token    string `json:"tok,omitzero"`
	Deadline int64  `json:"due,omitzero"` // milliseconds
	LockSeq  uint64 `json:"ls,omitzero"`

	Status    invocation.Status `json:"st,omitzero"`
	Request   *requestRecord    `json:"req,omitzero"`
	Result    json.RawMessage   `json:"res,omitzero"`
	Failure   *failureRecord    `json:"err,omitzero"`
	SettledAt int64             `json:"at,omitzero"` // milliseconds
	Events    []emissionRecord  `json:"ev,omitempty"`
}

type failureRecord struct {
	Code    string          `json:"c"`
	Message string          `json:"m"`
	Details json.RawMessage `json:"d,omitzero"`
}

type emissionRecord struct {
	Type    invocation.CapabilityID `json:"t"`
	Payload json.RawMessage         `json:"p"`
}

func newRequestRecord(inv invocation.Invocation, lockSeq uint64) *requestRecord {
	return &requestRecord{
		Version: recordVersion, ID: inv.ID, Lock: inv.Lock,
		Caller: newParty(inv.Caller), Target: newParty(inv.Target),
		Command: inv.Command, Capability: inv.Capability, Revision: inv.Revision,
		Input: inv.Input, Actor: inv.Actor, Via: inv.Via, Chain: newChain(inv.Chain),
		CreatedAt: inv.CreatedAt.UnixMilli(), LockSeq: lockSeq,
	}
}

func (r *requestRecord) invocation() invocation.Invocation {
	return invocation.Invocation{
		ID: r.ID, Lock: r.Lock, Caller: r.Caller.party(), Target: r.Target.party(),
		Command: r.Command, Capability: r.Capability, Revision: r.Revision,
		Input: r.Input, Actor: r.Actor, Via: r.Via, Chain: r.Chain.chain(""),
		Status: invocation.Pending, CreatedAt: fromMillis(r.CreatedAt),
	}
}

func newStateRecord(inv invocation.Invocation, events []invocation.Emission, lockSeq uint64) stateRecord {
	s := stateRecord{
		Version: recordVersion, Status: inv.Status, Request: newRequestRecord(inv, lockSeq),
		Result: inv.Result, SettledAt: inv.SettledAt.UnixMilli(), Events: newEmissions(events),
	}
	if inv.Error != nil {
		f := failureRecord(*inv.Error)
		s.Failure = &f
	}
	return s
}

func (s stateRecord) settled() bool {
	return s.Status != "" && s.Status.Settled() && s.Request != nil
}

func (s stateRecord) invocation() invocation.Invocation {
	inv := s.Request.invocation()
	inv.Status, inv.Result, inv.SettledAt = s.Status, s.Result, fromMillis(s.SettledAt)
	if s.Failure != nil {
		f := invocation.Failure(*s.Failure)
		inv.Error = &f
	}
	return inv
}

func newParty(p invocation.Party) partyRecord { return partyRecord(p) }

func (p partyRecord) party() invocation.Party { return invocation.Party(p) }

func newChain(c invocation.Chain) chainRecord {
	return chainRecord{Causation: c.Causation, Correlation: c.Correlation, Depth: c.Depth, Inferred: c.Inferred, Starter: c.Starter.Extension}
}

// chain returns the chain; own stands in for the correlation id of a root that
// did not know its id when it was written.
func (c chainRecord) chain(own invocation.ID) invocation.Chain {
	if c.Correlation == "" {
		c.Correlation = own
	}
	return invocation.Chain{
		Causation: c.Causation, Correlation: c.Correlation, Depth: c.Depth, Inferred: c.Inferred,
		Starter: invocation.Starter{Extension: c.Starter},
	}
}

func newEmissions(events []invocation.Emission) []emissionRecord {
	out := make([]emissionRecord, 0, len(events))
	for _, e := range events {
		out = append(out, emissionRecord(e))
	}
	return out
}

func emissions(records []emissionRecord) []invocation.Emission {
	out := make([]invocation.Emission, 0, len(records))
	for _, e := range records {
		out = append(out, invocation.Emission(e))
	}
	return out
}

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// encode writes a stored form. Strings are not escaped for HTML: an input of
// many "<" would grow sixfold and pass the server's limit (S-22).
func encode(v any) ([]byte, error) {
	b, err := jsonv2.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}
	return b, nil
}

func decode(b []byte, v any) error {
	if err := jsonv2.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode a record: %w", err)
	}
	return nil
}
