package dispatcher_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/services/dispatcher"
)

// ask asks for the options of probe.peek's habit.
func (s *stand) ask(tb testing.TB, l platformtest.Lock, slug invocation.Slug, search string) (invocation.Options, error) {
	tb.Helper()
	c := s.call(tb, l, invocation.CapabilityID(slug)+".peek", "-")
	return s.in.Options(tb.Context(), intake.FieldQuery{Caller: c.Caller, Command: c.Command, Field: "habit", Search: search})
}

// A question reaches the target's webhook, signed, with the field as a pointer;
// its answer comes back, digit by digit.
func TestQuestionsAreAskedAtTheTarget(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	x := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		got = append(got, r.Header.Get("X-Chaster-Event")+" "+string(body))
		mu.Unlock()
		_, _ = io.WriteString(w, `{"options":[{"value":9007199254740993,"label":"Late","description":"After one"},{"value":"b","label":"B"}],"hasMore":true}`)
	})
	s := newStand(t, platform.Config{}, x.URL)
	s.dispatch(t, dispatcher.Config{})
	l := s.lock(t)
	for _, search := range []string{"", "late <&>"} {
		options, err := s.ask(t, l, "probe", search)
		if err != nil {
			t.Fatalf("ask: %v", err)
		}
		if len(options.List) != 2 || string(options.List[0].Value) != "9007199254740993" || options.List[0].Description != "After one" ||
			options.List[1].Label != "B" || options.List[1].Description != "" || !options.HasMore {
			t.Errorf("got %+v", options)
		}
	}
	if x.total() != 2 || len(got) != 2 {
		t.Fatalf("got %d requests, want two", x.total())
	}
	var hook struct {
		Data struct {
			SessionID, LockID string
			Options           struct {
				CommandID, Field string
				Search           *string
				Caller           struct{ Slug string }
			}
		}
	}
	event, body, _ := strings.Cut(got[1], " ")
	if err := json.Unmarshal([]byte(body), &hook); err != nil {
		t.Fatal(err)
	}
	o := hook.Data.Options
	if event != "extension.options_requested" || hook.Data.SessionID != string(l.Session("probe").ID) || hook.Data.LockID != string(l.ID) ||
		o.CommandID != "probe.peek" || o.Field != "/habit" || o.Search == nil || *o.Search != "late <&>" || o.Caller.Slug != "caller" {
		t.Errorf("got %s", got[1])
	}
	if !strings.Contains(got[0], `"search":null`) {
		t.Errorf("got %s, want no search", got[0])
	}
}

// Whatever a target does instead of answering, the asker gets
// options-unavailable (SEC-62), and other targets are asked meanwhile.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	hang, release := gate()
	defer release()
	slow := newTarget(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	x := newTarget(t, answers(200, `{"options":[]}`))
	broken := newTarget(t, answers(500, `{"options":[]}`))
	s := newStand(t, platform.Config{}, x.URL)
	s.target(t, "slow", slow.URL)
	s.target(t, "broken", broken.URL)
	l := s.lock(t, "slow", "broken")
	_, err := s.ask(t, l, "probe", "")
	if code := invocation.CodeOf(err); code != invocation.ServiceUnavailable {
		t.Errorf("without a dispatcher: got %s, want service-unavailable", code)
	}
	s.dispatch(t, dispatcher.Config{})
	brokertest.Eventually(t, within, "the dispatcher answers", func() bool {
		_, err := s.ask(t, l, "probe", "")
		return err == nil
	})
	var asking sync.WaitGroup
	for range 60 { // more than are asked and wait at a time
		asking.Go(func() {
			if _, err := s.ask(t, l, "slow", ""); invocation.CodeOf(err) != invocation.OptionsUnavailable {
				t.Errorf("slow: got %v, want options-unavailable", err)
			}
		})
	}
	brokertest.Eventually(t, within, "the slow target is asked", func() bool { return slow.total() == 8 })
	if _, err := s.ask(t, l, "broken", ""); invocation.CodeOf(err) != invocation.OptionsUnavailable {
		t.Errorf("broken: got %v, want options-unavailable", err)
	}
	if _, err := s.ask(t, l, "probe", ""); err != nil {
		t.Errorf("another: got %v while one hangs", err)
	}
	release()
	asking.Wait()
}
