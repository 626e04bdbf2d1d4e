package registry

import (
	"strconv"
	"testing"
)

// However many sessions and tokens are read, so many are remembered and no more
// (SEC-89).
func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	b := &bucket[Session]{cache: make(map[string]stored[Session])}
	for i := range 2*maxCached + 1 {
		key := strconv.Itoa(i)
		b.keep(key, stored[Session]{revision: uint64(i)})
		if len(b.cache) > maxCached {
			t.Fatalf("got %d entries after %d, want at most %d", len(b.cache), i, maxCached)
		}
		if _, found := b.cache[key]; !found {
			t.Fatalf("the newest of %d is forgotten at once", i)
		}
	}
	if len(b.cache) < maxCached/2 {
		t.Errorf("got %d entries, want most to stay warm", len(b.cache))
	}
}
