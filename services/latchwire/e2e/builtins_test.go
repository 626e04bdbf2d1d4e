package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// equipped is a lock with a keyholder and every built-in extension, on which a
// partner calls and another one hears everything.
func equipped(t *testing.T) (caller, listener *e2etest.Partner, lock string) {
	t.Helper()
	caller = pipeline.NewPartner(t, e2etest.Offers{}, nil)
	listener = pipeline.NewPartner(t, e2etest.Offers{Subscriptions: []string{"*"}}, func(w http.ResponseWriter, _ *http.Request, _ e2etest.Hook) {
		w.WriteHeader(http.StatusNoContent)
	})
	return caller, listener, equip(t, caller, listener)
}

// equip makes a lock with a keyholder and every built-in extension, all set so
// that what they do is known beforehand.
func equip(t *testing.T, partners ...*e2etest.Partner) (lock string) {
	t.Helper()
	lock = pipeline.NewLock(t, partners...)
	for _, x := range []struct {
		slug   string
		config map[string]any
	}{
		{"dice", map[string]any{"multiplier": 60}},
		{"link", nil},
		{"penalty", map[string]any{"habits": []any{map[string]any{"name": "late", "title": "Late", "addTime": 60, "timeLimit": 600}}}},
		{"pillory", map[string]any{"timePerVote": 60}},
		{"tasks", map[string]any{"tasks": []any{map[string]any{"task": "Sweep", "points": 2}}}},
		{"temporary-opening", nil},
		{"verification-picture", nil},
		{"wheel-of-fortune", map[string]any{"segments": []any{map[string]any{"type": "add-time", "duration": 600}}}},
	} {
		if x.config == nil {
			x.config = map[string]any{}
		}
		pipeline.Operate(t, e2etest.Request{Method: http.MethodPost, Path: "/api/admin/locks/" + lock + "/sessions", Body: map[string]any{"slug": x.slug, "config": x.config}}, nil)
	}
	return lock
}

// Every row of the contract's built-in capabilities, and every event of theirs,
// over HTTP and NATS (contract sections 8 and 12).
func TestEveryBuiltInCapability(t *testing.T) {
	t.Parallel()
	caller, listener, lock := equipped(t)
	call := func(command string, input map[string]any, wantStatus, wantCode string) e2etest.Invocation {
		t.Helper()
		inv := caller.Call(t, lock, command, map[string]any{"input": input, "idempotencyKey": e2etest.Key()}).Invocation(t)
		code := ""
		if inv.Error != nil {
			code = inv.Error.Code
		}
		if inv.Status != wantStatus || code != wantCode {
			t.Errorf("%s: got %s %s, want %s %s", command, inv.Status, code, wantStatus, wantCode)
		}
		return inv
	}
	act := func(by, name string, input map[string]any) {
		t.Helper()
		var out struct {
			Events  []e2etest.Event
			History []struct{ Actor string }
		}
		pipeline.Operate(t, e2etest.Request{Method: http.MethodPost, Path: "/api/admin/locks/" + lock + "/acts", Body: map[string]any{"act": name, "by": by, "input": input}}, &out)
		if len(out.History) != 1 || out.History[0].Actor != by {
			t.Errorf("%s: got %+v, want one line by %s", name, out, by)
		}
	}
	none := map[string]any{}
	call("lock.add-time", map[string]any{"duration": 600}, "completed", "")
	call("lock.remove-time", map[string]any{"duration": 60}, "completed", "")
	call("lock.freeze", none, "completed", "")
	call("lock.unfreeze", none, "completed", "")
	call("lock.toggle-freeze", none, "completed", "")
	call("lock.toggle-freeze", none, "completed", "")
	call("lock.set-display-remaining-time", map[string]any{"displayRemainingTime": false}, "completed", "")
	call("lock.pillory", map[string]any{"duration": 300, "reason": "Late"}, "completed", "")
	act("system", "pillory.vote", none)
	if inv := call("pillory.status", none, "completed", ""); !strings.Contains(string(inv.Result), `"nbVotes":1`) || inv.CommandID != "pillory.status" {
		t.Errorf("got %s", inv.Result)
	}
	call("tasks.assign", map[string]any{"task": map[string]any{"task": "Write", "points": 5, "duration": 60}}, "completed", "")
	call("tasks.start-timer", none, "completed", "")
	act("keyholder", "tasks.unassign", none)
	call("tasks.assign", map[string]any{"task": map[string]any{"task": "Write", "points": 5}}, "completed", "")
	call("tasks.complete", map[string]any{"isCompleted": true}, "completed", "")
	call("tasks.assign", map[string]any{"task": map[string]any{"task": "Write", "points": 5}}, "completed", "")
	call("tasks.complete", map[string]any{"isCompleted": false}, "completed", "")
	act("wearer", "tasks.start-vote", none)
	act("system", "tasks.vote", map[string]any{"task": "Sweep"})
	act("wearer", "tasks.end-vote", none)
	act("keyholder", "tasks.unassign", none)
	act("wearer", "tasks.start-vote", none)
	act("wearer", "tasks.cancel-vote", none)
	call("penalty.increment", map[string]any{"habitName": "late", "count": 2}, "completed", "")
	call("penalty.increment", map[string]any{"habitName": "other"}, "rejected", "unknown-habit")
	call("penalty.create-time-limit", map[string]any{"habitName": "late"}, "completed", "")
	call("penalty.cancel-time-limit", map[string]any{"habitName": "late"}, "completed", "")
	call("verification-picture.request", none, "completed", "")
	act("wearer", "verification-picture.submit", none)
	act("keyholder", "verification-picture.judge", map[string]any{"status": "verified"})
	call("temporary-opening.open", none, "completed", "")
	act("wearer", "temporary-opening.relock", none)
	act("wearer", "dice.roll", none)
	act("system", "link.vote", map[string]any{"action": "add", "voter": "v1"})
	act("wearer", "wheel-of-fortune.spin", none)

	want := []string{
		"dice.rolled", "link.time-changed", "link.voted", "lock.time-changed", "pillory.started", "tasks.assigned", "tasks.completed", "tasks.failed",
		"tasks.unassigned", "tasks.vote-cancelled", "tasks.vote-ended", "temporary-opening.opened", "temporary-opening.relocked",
		"verification-picture.requested", "verification-picture.submitted", "verification-picture.verdict", "wheel-of-fortune.landed",
	}
	e2etest.Eventually(t, "everything is delivered", func() bool {
		heard := make(map[string]bool)
		for _, hit := range listener.Received(func(h e2etest.Hook) bool { return h.Event == "lock_event.created" }) {
			heard[hit.Hook.Data.LockEvent.Type] = true
		}
		return !slices.ContainsFunc(want, func(kind string) bool { return !heard[kind] })
	})
	var options struct{ Options []struct{ Value string } }
	caller.Read(t, lock, "/actions/penalty.increment/options?field=habitName", &options)
	if len(options.Options) != 1 || options.Options[0].Value != "late" {
		t.Errorf("got %+v", options)
	}
	older := func(method, path string, body any, want int) {
		t.Helper()
		a := pipeline.Send(t, e2etest.Request{Token: caller.Token, Method: method, Path: caller.Path(lock, path), Body: body})
		if a.Status != want {
			t.Errorf("%s: got %d %s, want %d", path, a.Status, a.Body, want)
		}
	}
	older(http.MethodPost, "/action", map[string]any{"action": map[string]any{"name": "add_time", "params": 60}}, 201)
	older(http.MethodPost, "/action", map[string]any{"action": map[string]any{"name": "unfreeze"}}, 400)
	older(http.MethodPost, "/tasks/assign", map[string]any{"actor": "wearer", "task": map[string]any{"task": "Write", "points": 5}}, 201)
	older(http.MethodPost, "/tasks/complete", map[string]any{"actor": "keyholder", "isCompleted": true}, 201)
	older(http.MethodPost, "/penalties/increment", map[string]any{"habitName": "late"}, 201)
	older(http.MethodPost, "/penalties/increment", map[string]any{"habitName": "other"}, 400)
	older(http.MethodGet, "/pillory/status", nil, 200)
	act("keyholder", "lock.unlock", none)
	older(http.MethodPost, "/action", map[string]any{"action": map[string]any{"name": "add_time", "params": 60}}, 400)
	if a := caller.Call(t, lock, "lock.freeze", map[string]any{"idempotencyKey": e2etest.Key()}); a.Status != http.StatusConflict || !strings.Contains(string(a.Body), "lock-not-active") {
		t.Errorf("got %d %s on a lock that has ended", a.Status, a.Body)
	}
}

// The manifests of the built-in extensions are their capabilities without
// availability.
func TestBuiltInManifestsAreTheirCapabilities(t *testing.T) {
	t.Parallel()
	caller, _, lock := equipped(t)
	var offered struct {
		Extensions []struct {
			Slug     string           `json:"slug"`
			Commands []map[string]any `json:"commands"`
			Queries  []map[string]any `json:"queries"`
			Events   []map[string]any `json:"events"`
		} `json:"extensions"`
	}
	caller.Read(t, lock, "/capabilities", &offered)
	if len(offered.Extensions) != 11 || offered.Extensions[0].Slug != "lock" {
		t.Fatalf("got %d extensions, want the nine and two partners", len(offered.Extensions))
	}
	for _, x := range offered.Extensions[1:9] {
		var doc struct {
			Commands []map[string]any `json:"commands"`
			Queries  []map[string]any `json:"queries"`
			Events   []map[string]any `json:"events"`
		}
		a := pipeline.Send(t, e2etest.Request{Token: caller.Token, Method: http.MethodGet, Path: "/api/extensions/" + x.Slug + "/manifest"})
		e2etest.Decode(t, a.Body, &doc)
		for _, c := range slices.Concat(x.Commands, x.Queries) {
			delete(c, "available")
			delete(c, "reason")
		}
		if got, want := e2etest.Encode(t, x.Commands, x.Queries, x.Events), e2etest.Encode(t, doc.Commands, doc.Queries, doc.Events); got != want {
			t.Errorf("%s: got %s, want %s", x.Slug, got, want)
		}
	}
}

// Two hundred commands at once on one lock, through two edges and two
// dispatchers: all settle, and none is lost.
func TestManyCommandsOnOneLockAddUp(t *testing.T) {
	t.Parallel()
	const calls = 200
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock := pipeline.NewLock(t, caller)
	end := func() time.Time {
		var state struct{ EndDate time.Time }
		pipeline.Operate(t, e2etest.Request{Method: http.MethodGet, Path: "/api/admin/locks/" + lock}, &state)
		return state.EndDate
	}
	before := end()
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			a, err := pipeline.Try(t.Context(), e2etest.Request{
				Base: pipeline.Base(i), Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/actions/lock.add-time"),
				Body: map[string]any{"input": map[string]any{"duration": i + 1}, "idempotencyKey": e2etest.Key()},
			})
			if err != nil {
				t.Error(err)
				return
			}
			if inv := a.Invocation(t); inv.Status != "completed" {
				t.Errorf("call %d: got %+v", i, inv)
			}
		})
	}
	wg.Wait()
	if got, want := end().Sub(before), calls*(calls+1)/2*time.Second; got != want {
		t.Errorf("got the end moved by %s, want %s", got, want)
	}
}

// A lock's first entry in its capabilities is as the platform's reference page
// shows it; what the page leaves open there, "...", may be anything.
func TestCapabilitiesAreAsTheReferenceShows(t *testing.T) {
	t.Parallel()
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock := pipeline.NewLock(t, caller)
	var got, want any
	caller.Read(t, lock, "/capabilities", &got)
	sample, err := os.ReadFile("testdata/capabilities.json")
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Decode(t, sample, &want)
	for _, d := range shown("", got, want) {
		t.Error(d)
	}
}

// shown lists where a value differs from what a page shows: objects have the
// same members, lists may go on.
func shown(at string, got, want any) (differences []string) {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		if _, open := w["..."]; open && g != nil {
			return nil
		}
		if a, b := slices.Sorted(maps.Keys(g)), slices.Sorted(maps.Keys(w)); !slices.Equal(a, b) {
			return []string{fmt.Sprintf("%s: got members %q, want %q", at, a, b)}
		}
		for name, v := range w {
			differences = append(differences, shown(at+"/"+name, g[name], v)...)
		}
	case []any:
		g, isList := got.([]any)
		if !isList || len(g) < len(w) || len(w) == 0 && len(g) > 0 {
			return []string{fmt.Sprintf("%s: got %v, want %v", at, got, want)}
		}
		for i, v := range w {
			differences = append(differences, shown(at+"/"+strconv.Itoa(i), g[i], v)...)
		}
	default:
		if got != want {
			return []string{fmt.Sprintf("%s: got %v, want %v", at, got, want)}
		}
	}
	return differences
}
