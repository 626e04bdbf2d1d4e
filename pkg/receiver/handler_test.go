package receiver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
)

// Each kind reaches its function, and what the function returns decides.
func TestEachKindReachesItsFunction(t *testing.T) {
	t.Parallel()
	unknown := []byte(`{"event":"lock.born","data":{}}`)
	refusal := &receiver.Rejection{Code: "no", Message: "No."}
	for name, tc := range map[string]struct {
		body    []byte
		kind    string
		nothing int // without a function
		ok      int // when it returns nil
		refused int // when it returns a rejection
	}{
		"a command":       {example(t, "webhook-invocation.valid.json"), receiver.KindCommand, 501, 200, 200},
		"a query":         {example(t, "webhook-invocation.query.valid.json"), receiver.KindQuery, 501, 200, 200},
		"options":         {example(t, "webhook-options.valid.json"), receiver.KindOptions, 501, 200, 500},
		"an event":        {example(t, "webhook-lock-event.valid.json"), receiver.KindLockEvent, 204, 204, 500},
		"a history line":  {example(t, "webhook-action-log.valid.json"), receiver.KindActionLog, 204, 204, 500},
		"an unknown kind": {unknown, "lock.born", 204, 204, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if w := setup(t, receiver.Handler{}).post(t, tc.body); w.Code != tc.nothing {
				t.Errorf("got %d without a function, want %d", w.Code, tc.nothing)
			}
			for _, step := range []struct {
				err  error
				want int
			}{{nil, tc.ok}, {refusal, tc.refused}, {errors.New("canary"), 500}} {
				var got []string
				s := setup(t, noting(&got, step.err))
				if w := s.post(t, tc.body); w.Code != step.want || strings.Contains(w.Body.String(), "canary") {
					t.Errorf("got %d %s for %v, want %d", w.Code, w.Body, step.err, step.want)
				}
				if fmt.Sprint(got) != "["+tc.kind+" 6731b2d0e5f0a1b2c3d4e5f7]" {
					t.Errorf("got %v, want one %s", got, tc.kind)
				}
				if logged := strings.Contains(s.log.String(), "webhook failed"); logged != (step.want == 500) {
					t.Errorf("the log says %q for %v", s.log.String(), step.err)
				}
			}
		})
	}
}

// noting returns a handler whose functions note what reached them and return an
// error.
func noting(got *[]string, err error) receiver.Handler {
	note := func(e receiver.Envelope) error {
		*got = append(*got, e.Kind+" "+e.ID)
		return err
	}
	return receiver.Handler{
		Commands: func(_ context.Context, c *receiver.Command) (receiver.Answer, error) {
			return receiver.Answer{}, note(c.Envelope)
		},
		Queries: func(_ context.Context, q *receiver.Query) (receiver.Answer, error) {
			return receiver.Answer{}, note(q.Envelope)
		},
		Options: func(_ context.Context, o *receiver.OptionsRequest) (receiver.Choices, error) {
			return receiver.Choices{}, note(o.Envelope)
		},
		Events:     func(_ context.Context, e *receiver.LockEvent) error { return note(e.Envelope) },
		ActionLogs: func(_ context.Context, l *receiver.ActionLog) error { return note(l.Envelope) },
		Others:     func(_ context.Context, u *receiver.Unknown) error { return note(u.Envelope) },
	}
}

// A wrapped rejection is one.
func TestARejectionMayBeWrapped(t *testing.T) {
	t.Parallel()
	s := setup(t, receiver.Handler{Commands: func(context.Context, *receiver.Command) (receiver.Answer, error) {
		return receiver.Answer{}, fmt.Errorf("spin: %w", &receiver.Rejection{Code: "worn-out", Message: "Later."})
	}})
	if w := s.post(t, example(t, "webhook-invocation.valid.json")); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"worn-out"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if got := (&receiver.Rejection{Code: "worn-out", Message: "Later."}).Error(); got != "worn-out: Later." {
		t.Errorf("got %q", got)
	}
}

// Nothing that is not genuine, fresh, whole and small reaches a function.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	event := example(t, "webhook-lock-event.valid.json")
	huge := append(bytes.Clone(event), bytes.Repeat([]byte(" "), receiver.MaxBody+1-len(event))...)
	for name, tc := range map[string]struct {
		method string
		body   []byte // what is sent
		signed []byte // what was signed, if that is something else
		at     time.Time
		edit   func(http.Header)
		want   int
	}{
		"as it should be":          {body: event, want: 204},
		"as large as can be":       {body: huge[:receiver.MaxBody], want: 204},
		"one byte more":            {body: huge, want: 413},
		"a changed body":           {body: bytes.Replace(event, []byte("4128"), []byte("4129"), 1), signed: event, want: 401},
		"no signature":             {body: event, edit: func(h http.Header) { h.Del("Webhook-Signature") }, want: 401},
		"no id":                    {body: event, edit: func(h http.Header) { h.Del("Webhook-Id") }, want: 401},
		"no timestamp":             {body: event, edit: func(h http.Header) { h.Del("Webhook-Timestamp") }, want: 401},
		"ten minutes old":          {body: event, at: now().Add(-10 * time.Minute), want: 401},
		"ten minutes ahead":        {body: event, at: now().Add(10 * time.Minute), want: 401},
		"GET":                      {method: http.MethodGet, body: event, want: 405},
		"PUT":                      {method: http.MethodPut, body: event, want: 405},
		"genuine, but no JSON":     {body: []byte("hello"), want: 400},
		"genuine, but says little": {body: []byte(`{"event":"lock_event.created"}`), want: 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			s := setup(t, noting(&got, nil))
			if tc.method == "" {
				tc.method = http.MethodPost
			}
			if tc.signed == nil {
				tc.signed = tc.body
			}
			if tc.at.IsZero() {
				tc.at = now()
			}
			h := egress.Sign("6731b2d0e5f0a1b2c3d4e5f7", tc.at, tc.signed, s.secret)
			if tc.edit != nil {
				tc.edit(h)
			}
			w := s.send(t, tc.method, tc.body, h)
			if w.Code != tc.want || (len(got) == 1) != (tc.want == 204) {
				t.Errorf("got %d %s with %d calls, want %d", w.Code, w.Body, len(got), tc.want)
			}
			if (tc.want == 405) != (w.Header().Get("Allow") == "POST") {
				t.Errorf("got Allow: %q for %d", w.Header().Get("Allow"), w.Code)
			}
			if refused := tc.want != 204; refused != strings.Contains(s.log.String(), "webhook refused") {
				t.Errorf("the log says %q", s.log.String())
			}
		})
	}
}

func TestABodyThatIsCutOff(t *testing.T) {
	t.Parallel()
	s := setup(t, receiver.Handler{})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("got %d, want 400", w.Code)
	}
}

func TestAPanicIsAFailure(t *testing.T) {
	t.Parallel()
	s := setup(t, receiver.Handler{Events: func(context.Context, *receiver.LockEvent) error { panic("canary") }})
	w := s.post(t, example(t, "webhook-lock-event.valid.json"))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "canary") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for _, want := range []string{"canary", "handler_test.go", "webhook_id=6731b2d0e5f0a1b2c3d4e5f7"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log does not tell %s: %s", want, s.log.String())
		}
	}
}

// The server's own way to end a request stays what it is.
func TestAnAbortIsPassedOn(t *testing.T) {
	t.Parallel()
	s := setup(t, receiver.Handler{Events: func(context.Context, *receiver.LockEvent) error { panic(http.ErrAbortHandler) }})
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("got %v", err)
		}
	}()
	s.post(t, example(t, "webhook-lock-event.valid.json"))
	t.Error("the abort was swallowed")
}

// A handler of only keys uses the real clock and the default log.
func TestTheZeroHandler(t *testing.T) {
	t.Parallel()
	secret := egress.NewSecret()
	body := example(t, "webhook-lock-event.valid.json")
	for want, h := range map[int]*receiver.Handler{204: {Keys: keys(t, secret)}, 401: {}} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		r.Header = egress.Sign("id", time.Now(), body, secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("got %d, want %d", w.Code, want)
		}
	}
}
