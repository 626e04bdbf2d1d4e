package announce

import (
	"errors"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
)

func TestOnlyActiveLocksWithTheExtensionAreTold(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	with := []lock.Installed{{Slug: "reader", Session: "ses_1"}}
	for name, tc := range map[string]struct {
		state lock.State
		told  bool
	}{
		"an active lock":                 {lock.State{Status: lock.Active, Extensions: with}, true},
		"a finished lock":                {lock.State{Status: lock.Finished, Extensions: with}, false},
		"a lock it was taken off":        {lock.State{Status: lock.Active}, false},
		"a lock that is not there, also": {lock.State{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newsOf(registry.Manifest{Slug: "reader", Revision: 2}).step(tc.state, now)
			if (err == nil) != tc.told || err != nil && !errors.Is(err, errNotThere) {
				t.Fatalf("got error %v, want told %t", err, tc.told)
			}
			if !tc.told {
				return
			}
			if len(got.Events) != 1 || got.Events[0].Type != "lock.capabilities-changed" || string(got.Events[0].Payload) != "{}" {
				t.Errorf("got events %v", got.Events)
			}
			if want := (invocation.Source{Extension: "lock", Actor: invocation.ActorSystem}); got.Source != want {
				t.Errorf("got source %+v, want %+v", got.Source, want)
			}
			if got.Chain != (invocation.Chain{}) || len(got.History) != 0 || !got.At.Equal(now) {
				t.Errorf("got chain %+v, %d history lines, time %s", got.Chain, len(got.History), got.At)
			}
		})
	}
}

func TestTransitionsOfDifferentRevisionsAndLocksAreApart(t *testing.T) {
	t.Parallel()
	now := newsOf(registry.Manifest{Slug: "reader", Revision: 2})
	later := newsOf(registry.Manifest{Slug: "reader", Revision: 3})
	ids := map[invocation.ID]bool{now.idOn("a"): true, now.idOn("b"): true, later.idOn("a"): true}
	if len(ids) != 3 {
		t.Errorf("got %d different ids, want 3", len(ids))
	}
	if id := now.idOn("a"); id != now.idOn("a") || !invocation.ValidID(string(id)) {
		t.Errorf("got %q, want a stable id", id)
	}
}
