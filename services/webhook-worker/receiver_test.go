package webhookworker_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/contracts/contracttest"
)

// A call is one request that a receiver got.
type call struct {
	header http.Header
	body   []byte
	at     time.Time
}

// event is the webhook's event, as the header names it.
func (c call) event() string { return c.header.Get("X-Chaster-Event") }

// id is what stays the same at each attempt.
func (c call) id() string { return c.header.Get("Webhook-Id") }

// A receiver is an extension's endpoint. What it answers is up to the test.
type receiver struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	calls []call
}

// newReceiver starts a receiver. Answer is asked for each request, with its
// number from 1; nil answers 200.
func newReceiver(t *testing.T, answer func(w http.ResponseWriter, c call, n int)) *receiver {
	t.Helper()
	r := &receiver{t: t}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		c := call{header: req.Header, body: body, at: time.Now()}
		r.mu.Lock()
		r.calls = append(r.calls, c)
		n := len(r.calls)
		r.mu.Unlock()
		if answer != nil {
			answer(w, c, n)
		}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL + "/hook"
	return r
}

// got returns the calls so far.
func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

// events returns the calls so far of one webhook event.
func (r *receiver) events(name string) []call {
	var some []call
	for _, c := range r.got() {
		if c.event() == name {
			some = append(some, c)
		}
	}
	return some
}

// valid fails the test if a body is not what its schema takes.
func valid(t *testing.T, schema string, body []byte) {
	t.Helper()
	if err := contracttest.Compile(t, schema).Validate(contracttest.Decode(t, body)); err != nil {
		t.Errorf("%s: %v\n%s", schema, err, body)
	}
}

// webhook is a body, as far as tests look into it.
type webhook struct {
	Event     string
	SentAt    string
	RequestID string
	Data      struct {
		SessionID string
		LockID    string
		LockEvent json.RawMessage
		ActionLog json.RawMessage
	}
}

func parse(t *testing.T, body []byte) webhook {
	t.Helper()
	var w webhook
	if err := json.Unmarshal(body, &w); err != nil {
		t.Fatal(err)
	}
	return w
}
