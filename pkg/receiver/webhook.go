package receiver

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The kinds of webhooks (contract sections 7 and 8). There may be others some
// day: they are decoded as [Unknown].
const (
	KindCommand   = "extension.command_invoked"
	KindQuery     = "extension.query_invoked"
	KindOptions   = "extension.options_requested"
	KindLockEvent = "lock_event.created"
	KindActionLog = "action_log.created"
)

// A Webhook is one of [*Command], [*Query], [*OptionsRequest], [*LockEvent],
// [*ActionLog] and [*Unknown].
type Webhook interface{ envelope() *Envelope }

// An Envelope is what every webhook carries. Text that the sender left out or
// gave as null is empty.
type Envelope struct {
	// ID is the webhook-id: the same whenever the same thing is sent again.
	ID string
	// Kind is one of the constants, or a kind that this package does not know.
	Kind string
	// SentAt and RequestID are new at each attempt.
	SentAt    time.Time
	RequestID string
	// SessionID is your own session on the lock: opaque, the same for as long
	// as you are installed on it.
	SessionID string
	// Slug is your own. It is empty in an [ActionLog].
	Slug string
	// LockID names the lock.
	LockID string
}

func (e *Envelope) envelope() *Envelope { return e }

// A Command is a call of one of your commands. It is sent at most once.
type Command struct {
	Envelope
	Invocation
}

// A Query is a call of one of your queries. It is sent at most once.
type Query struct {
	Envelope
	Invocation
}

// An OptionsRequest asks for the choices of an input field of yours. It changes
// nothing and may come again.
type OptionsRequest struct {
	Envelope
	OptionsField
}

// A LockEvent is an event that you subscribed to. It is sent at least once.
type LockEvent struct {
	Envelope
	Event
}

// An ActionLog is a new line of a lock's history. It is sent at least once. Its
// ids are no causes: a call that names one as its cause is refused.
type ActionLog struct {
	Envelope
	HistoryLine
}

// Unknown is a webhook of a kind that this package does not know. Its session,
// slug and lock are in Data, if anywhere.
type Unknown struct {
	Envelope
	Data json.RawMessage
}

// ErrMalformed says that a body is not what its kind promises.
var ErrMalformed = errors.New("the body is not a webhook")

// Decode reads a body that [Keys.Verify] has found to be genuine; id is the
// webhook-id that it returned. Members that are not known are ignored, and a
// kind that is not known gives an [Unknown]. The error wraps [ErrMalformed].
func Decode(id string, body []byte) (Webhook, error) {
	var in struct {
		Event     string          `json:"event"`
		SentAt    time.Time       `json:"sentAt"`
		RequestID string          `json:"requestId"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	e := Envelope{ID: id, Kind: in.Event, SentAt: in.SentAt, RequestID: in.RequestID}
	switch in.Event {
	case "":
		return nil, fmt.Errorf("%w: it names no event", ErrMalformed)
	case KindCommand, KindQuery, KindOptions, KindLockEvent, KindActionLog:
		return decodeData(e, in.Data)
	}
	return &Unknown{e, in.Data}, nil
}

// data is the data member of every known kind.
type data struct {
	SessionID string `json:"sessionId"`
	Extension struct {
		Slug string `json:"slug"`
	} `json:"extension"`
	LockID     string        `json:"lockId"`
	Invocation *Invocation   `json:"invocation"`
	Options    *OptionsField `json:"options"`
	LockEvent  *Event        `json:"lockEvent"`
	ActionLog  *struct {
		HistoryLine
		LockID string `json:"lockId"`
	} `json:"actionLog"`
}

func decodeData(e Envelope, raw json.RawMessage) (Webhook, error) {
	var d data
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("%w: data of %s: %w", ErrMalformed, e.Kind, err)
	}
	e.SessionID, e.Slug, e.LockID = d.SessionID, d.Extension.Slug, d.LockID
	switch {
	case e.Kind == KindCommand && d.Invocation != nil:
		return &Command{e, *d.Invocation}, nil
	case e.Kind == KindQuery && d.Invocation != nil:
		return &Query{e, *d.Invocation}, nil
	case e.Kind == KindOptions && d.Options != nil:
		return &OptionsRequest{e, *d.Options}, nil
	case e.Kind == KindLockEvent && d.LockEvent != nil:
		return &LockEvent{e, *d.LockEvent}, nil
	case e.Kind == KindActionLog && d.ActionLog != nil:
		e.LockID = d.ActionLog.LockID
		return &ActionLog{e, d.ActionLog.HistoryLine}, nil
	}
	return nil, fmt.Errorf("%w: data of %s says nothing of it", ErrMalformed, e.Kind)
}
