package ledger

import (
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// However many locks are read, so many states are kept decoded and no more
// (SEC-89).
func TestSnapshotsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSnapshots()
	for i := range 2*maxSnapshots + 1 {
		id := invocation.NewLockID(0)
		s.put(id, Snapshot{})
		if len(s.byLock) > maxSnapshots {
			t.Fatalf("got %d states after %d, want at most %d", len(s.byLock), i, maxSnapshots)
		}
		if _, found := s.get(id); !found {
			t.Fatalf("the newest of %d is forgotten at once", i)
		}
	}
}
