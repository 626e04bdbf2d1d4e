package ledger

import (
	"sync"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// maxSnapshots bounds the decoded states that are kept.
const maxSnapshots = 10_000

// snapshots keeps decoded lock states by lock. What it returns is only valid
// for the sequence that it has: whoever asks has just read that.
type snapshots struct {
	mu     sync.Mutex
	byLock map[invocation.LockID]Snapshot
}

func newSnapshots() *snapshots { return &snapshots{byLock: make(map[invocation.LockID]Snapshot)} }

func (s *snapshots) get(id invocation.LockID) (Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap, found := s.byLock[id]
	return snap, found
}

func (s *snapshots) put(id invocation.LockID, snap Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byLock) >= maxSnapshots {
		clear(s.byLock) // each is decoded again when it is read
	}
	s.byLock[id] = snap
}
