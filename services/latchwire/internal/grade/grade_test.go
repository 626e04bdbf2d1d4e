package grade

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
)

// A fault breaks a good receiver in one way. It is called in front of it and
// says whether it has answered itself.
type fault func(b *bench, w http.ResponseWriter, r *http.Request) bool

// A bench is a receiver made with pkg/receiver, with a fault.
type bench struct {
	url     string
	secret  egress.Secret
	handler *receiver.Handler
	stop    chan struct{}

	mu   sync.Mutex
	ids  map[string]bool
	seen []message
}

func setup(t *testing.T, f fault) *bench {
	t.Helper()
	b := &bench{secret: egress.NewSecret(), stop: make(chan struct{}), ids: make(map[string]bool)}
	keys, err := receiver.ParseKeys(b.secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	b.handler = &receiver.Handler{
		Keys: keys, Log: slog.New(slog.DiscardHandler),
		Commands: func(_ context.Context, c *receiver.Command) (receiver.Answer, error) {
			if c.CommandID != "my-ext.do-it" {
				return receiver.Answer{}, &receiver.Rejection{Code: "unknown-command", Message: "I don't know it."}
			}
			return receiver.Answer{Result: map[string]int{"left": 3}}, nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f == nil || !f(b, w, r) {
			b.handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(b.stop) }) // first, so that nobody hangs
	b.url = server.URL + "/hook"
	return b
}

// config is for a quick test; the answers have all the time of the contract.
func (b *bench) config() Config {
	return Config{URL: b.url, Secret: b.secret, Command: "my-ext.do-it", Drip: 20 * time.Millisecond}
}

// hang holds the answer back until the sender has gone.
func (b *bench) hang(r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	select {
	case <-r.Context().Done():
	case <-b.stop:
	}
}

// body reads the body and puts it back.
func (b *bench) body(r *http.Request) []byte {
	body, _ := io.ReadAll(io.LimitReader(r.Body, receiver.MaxBody+2)) // what is cut off fails its case
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// unverified answers as a good receiver does that takes everything for genuine.
func (b *bench) unverified(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	body := b.body(r)
	r.Header = egress.Sign("id", time.Now(), body, b.secret)
	return false
}

func reply(w http.ResponseWriter, status int) bool {
	w.WriteHeader(status)
	return true
}

func isEvent(r *http.Request, event string) bool { return r.Header.Get(eventHeader) == event }

// names returns the cases of a report that went like this.
func names(r Report, v Verdict) []string {
	var out []string
	for _, c := range r.Cases {
		if c.Verdict == v {
			out = append(out, c.Name)
		}
	}
	return out
}

// Each fault fails the cases that name it, and no other.
func TestEachFaultFailsItsCase(t *testing.T) {
	t.Parallel()
	const command = "extension.command_invoked"
	isUnknown := func(r *http.Request) bool { return isEvent(r, "receiver_test.created") }
	for name, tc := range map[string]struct {
		fault  fault
		hangs  bool
		want   []string
		warned []string
	}{
		"none": {},
		"does not verify": {
			fault: func(b *bench, _ http.ResponseWriter, r *http.Request) bool { return b.unverified(r) },
			want:  []string{"tampered-body", "missing-signature", "stale-timestamp"},
		},
		"looks at the signature's presence only": {
			fault: func(b *bench, _ http.ResponseWriter, r *http.Request) bool {
				seconds, _ := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
				if r.Header.Get("Webhook-Signature") == "" || time.Since(time.Unix(seconds, 0)) > receiver.Tolerance {
					return false
				}
				return b.unverified(r)
			},
			want: []string{"tampered-body"},
		},
		"accepts what is not signed": {
			fault: func(b *bench, _ http.ResponseWriter, r *http.Request) bool {
				return r.Header.Get("Webhook-Signature") == "" && b.unverified(r)
			},
			want: []string{"missing-signature"},
		},
		"accepts stale ones": {
			fault: func(b *bench, _ http.ResponseWriter, r *http.Request) bool {
				body := b.body(r)
				seconds, _ := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
				if id, err := b.handler.Keys.Verify(r.Header, body, time.Unix(seconds, 0)); err == nil {
					r.Header = egress.Sign(id, time.Now(), body, b.secret)
				}
				return false
			},
			want: []string{"stale-timestamp"},
		},
		"refuses repetitions": {
			fault: func(b *bench, w http.ResponseWriter, r *http.Request) bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				id := r.Header.Get("Webhook-Id")
				known := b.ids[id]
				b.ids[id] = true
				return known && reply(w, http.StatusConflict)
			},
			want: []string{"duplicate"},
		},
		"takes one signature": {
			fault: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
				return strings.Contains(r.Header.Get("Webhook-Signature"), " ") && reply(w, http.StatusUnauthorized)
			},
			want: []string{"rotated-secret"},
		},
		"takes the first signature": {
			fault: func(_ *bench, _ http.ResponseWriter, r *http.Request) bool {
				first, _, _ := strings.Cut(r.Header.Get("Webhook-Signature"), " ")
				r.Header.Set("Webhook-Signature", first)
				return false
			},
			want: []string{"rotated-secret"},
		},
		"takes the last signature": {
			fault: func(_ *bench, _ http.ResponseWriter, r *http.Request) bool {
				all := strings.Split(r.Header.Get("Webhook-Signature"), " ")
				r.Header.Set("Webhook-Signature", all[len(all)-1])
				return false
			},
			want: []string{"rotated-secret"},
		},
		"crashes on unknown kinds": {
			fault: func(_ *bench, _ http.ResponseWriter, r *http.Request) bool {
				if isUnknown(r) {
					panic(http.ErrAbortHandler)
				}
				return false
			},
			want: []string{"unknown-kind"},
		},
		"refuses unknown kinds": {
			fault: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
				return isUnknown(r) && reply(w, http.StatusBadRequest)
			},
			want: []string{"unknown-kind"},
		},
		"fails at events": {
			fault: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
				return isEvent(r, "lock_event.created") && reply(w, http.StatusInternalServerError)
			},
			want: []string{"valid-event", "duplicate", "rotated-secret"},
		},
		"answers commands with nonsense": {
			fault: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
				if isEvent(r, command) {
					fmt.Fprint(w, `{"status":"ok"}`)
				}
				return isEvent(r, command)
			},
			want: []string{"valid-command"},
		},
		"answers commands with 204": {
			fault: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
				return isEvent(r, command) && reply(w, http.StatusNoContent)
			},
			want: []string{"valid-command"},
		},
		"crashes on GET": {
			fault: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodGet && reply(w, http.StatusInternalServerError)
			},
			want: []string{"wrong-method"},
		},
		"redirects": {
			fault: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Location", "/hook/")
				return reply(w, http.StatusTemporaryRedirect)
			},
			want: []string{"no-redirect"},
			warned: []string{
				"valid-event", "valid-command", "tampered-body", "missing-signature", "stale-timestamp", "duplicate", "rotated-secret", "unknown-kind",
			},
		},
		"hangs on commands": {
			fault: func(b *bench, _ http.ResponseWriter, r *http.Request) bool {
				if isEvent(r, command) {
					b.hang(r)
				}
				return false
			},
			hangs: true, want: []string{"in-time"}, warned: []string{"valid-command"},
		},
		"hangs on large bodies": {
			fault: func(b *bench, _ http.ResponseWriter, r *http.Request) bool {
				if r.ContentLength > receiver.MaxBody {
					b.hang(r)
				}
				return false
			},
			hangs: true, want: []string{"huge-body"},
		},
		"hangs up on large bodies": {
			fault: func(_ *bench, _ http.ResponseWriter, r *http.Request) bool {
				if r.ContentLength > receiver.MaxBody {
					panic(http.ErrAbortHandler)
				}
				return false
			},
			warned: []string{"huge-body"},
		},
		"hangs on slow bodies": {
			fault: func(b *bench, _ http.ResponseWriter, r *http.Request) bool {
				first := make([]byte, receiver.MaxBody)
				n, _ := r.Body.Read(first)
				if int64(n) < r.ContentLength && r.ContentLength <= receiver.MaxBody {
					b.hang(r)
				}
				r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(first[:n]), r.Body))
				return false
			},
			hangs: true, want: []string{"slow-sender"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tc.fault)
			cfg := b.config()
			if tc.hangs {
				cfg.Timeout = 2 * time.Second
			}
			report, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(report, Fail); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q, of %+v", got, tc.want, report.Cases)
			}
			if got := names(report, Warn); !slices.Equal(got, tc.warned) {
				t.Errorf("got the warnings %q, want %q, of %+v", got, tc.warned, report.Cases)
			}
			if len(report.Cases) != 13 || report.Count(Pass) != 13-len(tc.want)-len(tc.warned) {
				t.Errorf("got %d of %d", report.Count(Pass), len(report.Cases))
			}
			for _, c := range report.Cases {
				if (c.Verdict == Pass) != (c.Why == "") || c.Got == "" || c.Sent == "" {
					t.Errorf("got %+v", c)
				}
			}
		})
	}
}
