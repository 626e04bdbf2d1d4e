package e2etest

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// An Answer is what the API answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Code returns the code of a refusal (contract section 9).
func (a Answer) Code(t *testing.T) string {
	t.Helper()
	var p struct {
		Code string `json:"code"`
	}
	Decode(t, a.Body, &p)
	return p.Code
}

// Invocation wants an invocation, as every recorded call is answered (contract
// section 6).
func (a Answer) Invocation(t *testing.T) Invocation {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("got HTTP %d %s, want 200", a.Status, a.Body)
	}
	var inv Invocation
	Decode(t, a.Body, &inv)
	return inv
}

// An Invocation as callers and targets see it (contract sections 6 and 7).
type Invocation struct {
	InvocationID      string          `json:"invocationId"`
	CommandID         string          `json:"commandId"`
	Status            string          `json:"status"`
	Input             json.RawMessage `json:"input"`
	Result            json.RawMessage `json:"result"`
	Error             *Failure        `json:"error"`
	CausationID       *string         `json:"causationId"`
	CorrelationID     string          `json:"correlationId"`
	Depth             int             `json:"depth"`
	CausationInferred bool            `json:"causationInferred"`
	CreatedAt         time.Time       `json:"createdAt"`
	SettledAt         *time.Time      `json:"settledAt"`
}

// A Failure is the error of an invocation.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// An Event of a lock (contract section 8).
type Event struct {
	EventID string          `json:"eventId"`
	Seq     uint64          `json:"seq"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
	Source  struct {
		Extension    string  `json:"extension"`
		InvocationID *string `json:"invocationId"`
	} `json:"source"`
	CausationID   *string `json:"causationId"`
	CorrelationID string  `json:"correlationId"`
	Depth         int     `json:"depth"`
}

// An EventPage is a page of a lock's events (contract section 3).
type EventPage struct {
	Events    []Event `json:"events"`
	HasMore   bool    `json:"hasMore"`
	LastSeq   uint64  `json:"lastSeq"`
	OldestSeq uint64  `json:"oldestSeq"`
	Truncated bool    `json:"truncated"`
}

// A Hook is the body of a webhook, of any kind (contract sections 7 and 8).
type Hook struct {
	Event string `json:"event"`
	Data  struct {
		SessionID  string     `json:"sessionId"`
		Invocation Invocation `json:"invocation"`
		LockEvent  Event      `json:"lockEvent"`
		ActionLog  struct {
			Type string `json:"type"`
		} `json:"actionLog"`
	} `json:"data"`
}

// Encode returns values as JSON, to be compared.
func Encode(t *testing.T, values ...any) string {
	t.Helper()
	b, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
