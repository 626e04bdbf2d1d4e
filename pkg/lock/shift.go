package lock

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// shift moves the end by up to n seconds, as far as it may go: never beyond the
// latest end, never before now. It returns by how much. Penalties, votes and
// games move the end like this; commands that are asked for a duration refuse
// instead.
func (s State) shift(n int64, now time.Time) (State, int64) {
	switch {
	case n > 0:
		n = max(0, min(n, int64(s.latestEnd(now).Sub(s.EndsAt(now))/time.Second)))
	case n < 0:
		n = -min(-n, int64(s.Remaining(now)/time.Second))
	}
	s.EndDate = s.EndDate.Add(seconds(n))
	return s, n
}

// timeChanged returns the event of a moved end, or none where it has not moved.
func timeChanged(n int64) []invocation.Emission {
	if n == 0 {
		return nil
	}
	return []invocation.Emission{emission("lock.time-changed", fmt.Sprintf(`{"duration":%d}`, n))}
}

func emission(t invocation.CapabilityID, payload string) invocation.Emission {
	return invocation.Emission{Type: t, Payload: json.RawMessage(payload)}
}

// encoded returns a value as JSON. Every value here can be.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// wholeSeconds returns the seconds of a time that has passed, never negative.
func wholeSeconds(d time.Duration) int64 { return max(0, int64(d/time.Second)) }
