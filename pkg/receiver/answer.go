package receiver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// What an answer may hold (contract section 7).
const (
	// MaxAnswer is the size of an answer's body, in bytes.
	MaxAnswer = 256 << 10
	// MaxEvents is the number of events in one answer.
	MaxEvents = 16
	// MaxCode and MaxMessage are the lengths of a rejection's parts, in
	// characters.
	MaxCode    = 64
	MaxMessage = 500
)

// An Answer says that a command or query has completed. The zero value says so
// without a result.
type Answer struct {
	// Result encodes as a JSON object that fits your outputSchema; nil is {}.
	Result any
	// Events are what the call caused: at most 16, each declared in your
	// manifest.
	Events []Emission
}

// An Emission is an event that a call caused.
type Emission struct {
	// Type is the event type, such as "my-ext.done".
	Type string
	// Payload encodes as a JSON object that fits the payloadSchema; nil is {}.
	Payload any
}

// A Rejection is the error of a function that refuses a call: nothing was
// changed, and the caller is told why.
type Rejection struct {
	// Code is a stable word for programs, of 1 to 64 characters.
	Code string
	// Message is a sentence for people. It is cut after 500 characters.
	Message string
}

// Error returns the code and the message.
func (r *Rejection) Error() string { return r.Code + ": " + r.Message }

// Choices are the options of an input field.
type Choices struct {
	// Options are at most 50; the rest would be dropped.
	Options []Option
	// HasMore says that a search would find others.
	HasMore bool
}

// An Option is one choice.
type Option struct {
	// Value is what to put into the field: a string, a number or a bool.
	Value any
	// Label is the choice for people, and Description more about it, or empty.
	Label       string
	Description string
}

type emissionJSON struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// encode returns the body of a completed call, or why it can't be one.
func (a Answer) encode() ([]byte, error) {
	result, err := object(a.Result)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if len(a.Events) > MaxEvents {
		return nil, fmt.Errorf("an answer has at most %d events, not %d", MaxEvents, len(a.Events))
	}
	events := make([]emissionJSON, 0, len(a.Events))
	for _, e := range a.Events {
		payload, err := object(e.Payload)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", e.Type, err)
		}
		events = append(events, emissionJSON{e.Type, payload})
	}
	return bounded(struct {
		Status string          `json:"status"`
		Result json.RawMessage `json:"result"`
		Events []emissionJSON  `json:"events"`
	}{"completed", result, events})
}

// encode returns the body of a refused call. Without a proper code it could not
// be told from a mistake.
func (r *Rejection) encode() ([]byte, error) {
	if n := utf8.RuneCountInString(r.Code); n == 0 || n > MaxCode {
		return nil, fmt.Errorf("a rejection's code has 1 to %d characters, not %d", MaxCode, n)
	}
	message := r.Message
	if all := []rune(message); len(all) > MaxMessage {
		message = string(all[:MaxMessage])
	}
	type failure struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	return bounded(struct {
		Status string  `json:"status"`
		Error  failure `json:"error"`
	}{"rejected", failure{r.Code, message}})
}

type optionJSON struct {
	Value       json.RawMessage `json:"value"`
	Label       string          `json:"label"`
	Description string          `json:"description,omitempty"`
}

func (c Choices) encode() ([]byte, error) {
	options := make([]optionJSON, 0, len(c.Options))
	for _, o := range c.Options {
		value, err := json.Marshal(o.Value)
		if err != nil {
			return nil, fmt.Errorf("option %q: %w", o.Label, err)
		}
		if bytes.IndexByte([]byte(`{[n`), value[0]) >= 0 || o.Label == "" {
			return nil, fmt.Errorf("option %q: it needs a label, and a string, a number or a bool as its value", o.Label)
		}
		options = append(options, optionJSON{value, o.Label, o.Description})
	}
	return bounded(struct {
		Options []optionJSON `json:"options"`
		HasMore bool         `json:"hasMore"`
	}{options, c.HasMore})
}

// object encodes a value that must be a JSON object; nil is an empty one.
func object(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	switch {
	case err != nil:
		return nil, err
	case string(raw) == "null":
		return json.RawMessage("{}"), nil
	case raw[0] != '{':
		return nil, errors.New("it must encode as a JSON object")
	}
	return raw, nil
}

func bounded(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err == nil && len(raw) > MaxAnswer {
		return nil, fmt.Errorf("an answer has at most %d bytes, not %d", MaxAnswer, len(raw))
	}
	return raw, err
}

// A reply is what goes back over HTTP.
type reply struct {
	status int
	body   []byte
}

// refuse returns a reply that tells the operator of the sender what was wrong.
func refuse(status int, why error) reply {
	body, err := json.Marshal(map[string]string{"message": why.Error()})
	if err != nil { // a string always encodes
		body = nil
	}
	return reply{status, body}
}

func (r reply) write(w http.ResponseWriter) {
	if r.body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // a sender that is gone is told nothing
}
