package fanout

import (
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestAReceiverGetsWhatItSubscribedTo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		subscriptions []string
		source        invocation.Slug
		want          bool
	}{
		"everything":                         {[]string{"*"}, "lock", true},
		"everything of a slug":               {[]string{"lock.*"}, "lock", true},
		"exactly this type":                  {[]string{"lock.time-changed"}, "lock", true},
		"one pattern of several":             {[]string{"dice.*", "lock.time-changed"}, "lock", true},
		"another slug":                       {[]string{"dice.*"}, "lock", false},
		"another type":                       {[]string{"lock.capabilities-changed"}, "lock", false},
		"a slug that only begins alike":      {[]string{"loc.*", "lock-2.*"}, "lock", false},
		"nothing":                            {nil, "lock", false},
		"everything but its own":             {[]string{"*"}, "reader", false},
		"its own, even if named exactly":     {[]string{"lock.time-changed"}, "reader", false},
		"the event of another partner":       {[]string{"*"}, "other", true},
		"a person's event, from no one else": {[]string{"*"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receiver{party: invocation.Party{Slug: "reader"}, subscriptions: tc.subscriptions}
			e := invocation.Event{Type: "lock.time-changed", Source: invocation.Source{Extension: tc.source}}
			if got := r.wants(e); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
