package grade

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/contracts/contracttest"
)

// What is sent is what the contract says the pipeline sends.
func TestWhatIsSentFitsTheContract(t *testing.T) {
	t.Parallel()
	b := setup(t, func(b *bench, _ http.ResponseWriter, r *http.Request) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen = append(b.seen, message{id: r.Header.Get("Webhook-Id"), header: r.Header.Clone(), method: r.Method, body: b.body(r)})
		return false
	})
	cfg := b.config()
	cfg.Input, cfg.Session = `{"times":2}`, "ses_mine"
	cfg.URL = strings.Replace(cfg.URL, "http://", "http://user:pass@", 1)
	if _, err := Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{
		"lock_event.created": contracttest.Compile(t, "webhook-lock-event"), "extension.command_invoked": contracttest.Compile(t, "webhook-invocation"),
	}
	judged, ids := 0, make(map[string]int)
	for _, m := range b.seen {
		if user, password, _ := (&http.Request{Header: m.header}).BasicAuth(); user != "user" || password != "pass" || m.header.Get("User-Agent") != userAgent {
			t.Errorf("got the headers %v", m.header)
		}
		if m.method != http.MethodPost {
			continue
		}
		ids[m.id]++
		event := m.header.Get(eventHeader)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.body))
		if err != nil {
			t.Fatalf("%s: %v", event, err)
		}
		if schema := schemas[event]; schema != nil {
			judged++
			if err := schema.Validate(doc); err != nil {
				t.Errorf("got %s: %v", m.body, err)
			}
		}
		var in struct {
			Event string
			Data  struct {
				SessionID  string
				Extension  struct{ Slug string }
				Invocation struct {
					CommandID string
					Input     json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(m.body, &in); err != nil || in.Event != event || in.Data.SessionID != "ses_mine" || in.Data.Extension.Slug != "my-ext" {
			t.Errorf("got %s as %s: %v", m.body[:200], event, err)
		}
		if event == "extension.command_invoked" && (in.Data.Invocation.CommandID != "my-ext.do-it" || string(in.Data.Invocation.Input) != `{"times":2}`) {
			t.Errorf("got %s", m.body)
		}
	}
	if judged != 11 || len(ids) != 11 {
		t.Errorf("judged %d bodies with %d ids", judged, len(ids))
	}
}

// The contract's examples of answers are judged as the contract does.
func TestAnswersAreJudgedByTheContract(t *testing.T) {
	t.Parallel()
	n := 0
	for _, e := range contracts.Examples() {
		if e.Schema != "webhook-answer" {
			continue
		}
		n++
		if err := checkAnswer(e.JSON); (err == nil) != e.Valid {
			t.Errorf("%s: got %v", e.File, err)
		}
	}
	if n == 0 {
		t.Error("the contract has no examples")
	}
	for name, tc := range map[string]struct {
		body string
		ok   bool
	}{
		"as large as can be":      {`{"status":"completed","result":{"x":"` + strings.Repeat("x", 256<<10-40) + `"}}`, true},
		"larger":                  {`{"status":"completed","result":{"x":"` + strings.Repeat("x", 256<<10-39) + `"}}`, false},
		"nothing":                 {``, false},
		"events that are null":    {`{"status":"completed","result":{},"events":null}`, false},
		"an event's type is none": {`{"status":"completed","result":{},"events":[{"type":"x","payload":{}}]}`, false},
		"an error of one part":    {`{"status":"rejected","error":{"code":"x"}}`, false},
		"a code of nothing":       {`{"status":"rejected","error":{"code":"","message":"x"}}`, false},
	} {
		if err := checkAnswer([]byte(tc.body)); (err == nil) != tc.ok {
			t.Errorf("%s: got %v, want accepted %v", name, err, tc.ok)
		}
	}
}
