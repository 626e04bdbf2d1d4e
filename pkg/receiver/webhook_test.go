package receiver_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/receiver"
)

const (
	session = "ses_0f3a9c52b7d84e61a2c95d7e8b0f1432"
	lockID  = "02a41c9e7b5d30f8e6c2a914"
)

// envelope is what the contract's examples have in common.
func envelope(kind string) receiver.Envelope {
	return receiver.Envelope{
		ID: "id", Kind: kind, SentAt: at(250), RequestID: "req_7c1f0a92be4d", SessionID: session, Slug: "my-ext", LockID: lockID,
	}
}

func at(ms int) time.Time { return time.Date(2026, 11, 4, 12, 0, 0, ms*1e6, time.UTC) }

// Every member of every kind arrives, by the contract's own examples.
func TestDecodeTheContractsExamples(t *testing.T) {
	t.Parallel()
	caller := receiver.Caller{Slug: "other-ext", PartnerExtensionID: "70c1d2e3f4a5b6c7d8e9f0a1"}
	line := envelope(receiver.KindActionLog)
	line.Slug = ""
	want := map[string]receiver.Webhook{
		"webhook-invocation.valid.json": &receiver.Command{Envelope: envelope(receiver.KindCommand), Invocation: receiver.Invocation{
			InvocationID: "6731b2d0e5f0a1b2c3d4e5f7", CommandID: "my-ext.do-it", Revision: 3, Input: json.RawMessage(`{"times":2}`), Actor: "extension",
			Caller: caller, CausationID: "6731b2c4e5f0a1b2c3d4e5f6", CorrelationID: "6731b2c4e5f0a1b2c3d4e5f6", Depth: 1, CreatedAt: at(0),
		}},
		"webhook-invocation.query.valid.json": &receiver.Query{Envelope: envelope(receiver.KindQuery), Invocation: receiver.Invocation{
			InvocationID: "6731b2d0e5f0a1b2c3d4e5f7", CommandID: "my-ext.status", Revision: 3, Input: json.RawMessage(`{}`), Actor: "extension",
			Caller: caller, CorrelationID: "6731b2d0e5f0a1b2c3d4e5f7", CreatedAt: at(0),
		}},
		"webhook-options.valid.json": &receiver.OptionsRequest{Envelope: envelope(receiver.KindOptions), OptionsField: receiver.OptionsField{
			CommandID: "my-ext.do-it", Revision: 3, Field: "/habit", Search: "late", Caller: caller,
		}},
		"webhook-options.no-search.valid.json": &receiver.OptionsRequest{Envelope: envelope(receiver.KindOptions), OptionsField: receiver.OptionsField{
			CommandID: "my-ext.do-it", Revision: 3, Field: "/habit", Caller: caller,
		}},
		"webhook-lock-event.valid.json": &receiver.LockEvent{Envelope: envelope(receiver.KindLockEvent), Event: receiver.Event{
			EventID: "6731b2c4e5f0a1b2c3d4e5f6", Seq: 4128, Type: "wheel-of-fortune.landed",
			Payload: json.RawMessage(`{"segment":{"type":"add-time","duration":3600,"text":null}}`),
			Source:  receiver.Source{Extension: "wheel-of-fortune", Actor: "wearer"}, CorrelationID: "6731b2c4e5f0a1b2c3d4e5f6", CreatedAt: at(0),
		}},
		"webhook-action-log.valid.json": &receiver.ActionLog{Envelope: line, HistoryLine: receiver.HistoryLine{
			LineID: "8ac01d5f0000000000010220", Type: "time_changed", Prefix: "lock", Role: "extension", Actor: "extension", Extension: "my-ext",
			InvocationID: "6731b2d0e5f0a1b2c3d4e5f7", Payload: json.RawMessage(`{"duration":3600}`), CreatedAt: at(0),
		}},
	}
	found := 0
	for _, e := range contracts.Examples() {
		if !e.Valid || !strings.HasPrefix(e.Schema, "webhook-") || strings.HasSuffix(e.Schema, "answer") {
			continue
		}
		want := want[e.File]
		if want == nil { // a kind that was added since: it arrives as it is
			continue
		}
		found++
		t.Run(e.File, func(t *testing.T) {
			t.Parallel()
			got, err := receiver.Decode("id", e.JSON)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := compact(t, got), compact(t, want); reflect.TypeOf(got) != reflect.TypeOf(want) || a != b {
				t.Errorf("got  %T %s\nwant %s", got, a, b)
			}
		})
	}
	if found != len(want) {
		t.Errorf("the contract has %d of the %d examples", found, len(want))
	}
}

// compact renders a webhook with its raw JSON free of white space.
func compact(t *testing.T, hook receiver.Webhook) string {
	t.Helper()
	text, err := json.Marshal(hook)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body string
		want receiver.Webhook // only its type counts
	}{
		"an unknown kind":                 {`{"event":"lock.born","data":{"lockEvent":7}}`, &receiver.Unknown{}},
		"an unknown kind without data":    {`{"event":"x"}`, &receiver.Unknown{}},
		"unknown members":                 {`{"event":"lock_event.created","new":1,"data":{"new":{},"lockEvent":{"type":"a.b","new":[]}}}`, &receiver.LockEvent{}},
		"a line without a lock":           {`{"event":"action_log.created","data":{"actionLog":{}}}`, &receiver.ActionLog{}},
		"nothing":                         {``, nil},
		"no JSON":                         {`<html>`, nil},
		"two documents":                   {`{"event":"x"} {}`, nil},
		"a list":                          {`[]`, nil},
		"null":                            {`null`, nil},
		"no event":                        {`{"data":{}}`, nil},
		"an event that is a number":       {`{"event":7}`, nil},
		"a time that is none":             {`{"event":"x","sentAt":"yesterday"}`, nil},
		"no data":                         {`{"event":"lock_event.created"}`, nil},
		"data that is null":               {`{"event":"lock_event.created","data":null}`, nil},
		"data of another kind":            {`{"event":"lock_event.created","data":{"invocation":{}}}`, nil},
		"a command that says nothing":     {`{"event":"extension.command_invoked","data":{}}`, nil},
		"a query that says nothing":       {`{"event":"extension.query_invoked","data":{}}`, nil},
		"options of nothing":              {`{"event":"extension.options_requested","data":{"options":null}}`, nil},
		"a line that says nothing":        {`{"event":"action_log.created","data":{}}`, nil},
		"a member of another type inside": {`{"event":"lock_event.created","data":{"lockEvent":{"seq":"1"}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := receiver.Decode("id", []byte(tc.body))
			if reflect.TypeOf(got) != reflect.TypeOf(tc.want) || (err == nil) != (tc.want != nil) || err != nil && !errors.Is(err, receiver.ErrMalformed) {
				t.Errorf("got %T, %v, want %T", got, err, tc.want)
			}
		})
	}
}
