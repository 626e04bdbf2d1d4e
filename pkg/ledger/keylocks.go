package ledger

import (
	"context"
	"sync"
)

// keyLocks let one writer of this process at a key at a time, so that a hot
// lock's commands queue up here instead of failing each other's compare-and-set.
// Correctness never rests on it.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	turn chan struct{} // holds one token while nobody has the lock
	refs int
}

func newKeyLocks() *keyLocks { return &keyLocks{held: make(map[string]*keyLock)} }

// lock waits for the key's turn and returns what gives it back.
func (k *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	kl := k.held[key]
	if kl == nil {
		kl = &keyLock{turn: make(chan struct{}, 1)}
		kl.turn <- struct{}{}
		k.held[key] = kl
	}
	kl.refs++
	k.mu.Unlock()

	release := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if kl.refs--; kl.refs == 0 {
			delete(k.held, key)
		}
	}
	select {
	case <-kl.turn:
		return func() { kl.turn <- struct{}{}; release() }, nil
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}
