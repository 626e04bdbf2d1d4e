package registry

import (
	"testing"
)

// What a read finds stays in the cache as long as nothing newer is known, while
// the watch delivers what came before and after it.
func TestFilling(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		seenBefore, seenNow, revision uint64
		kept                          bool
	}{
		"the watch has delivered nothing meanwhile":   {5, 5, 4, true},
		"it has passed the value, which may be gone":  {5, 7, 6, false},
		"it has delivered this very value":            {5, 6, 6, false},
		"it lags, and has delivered what came before": {5, 7, 9, true},
	} {
		b := &bucket[int]{cache: make(map[string]stored[int]), seen: tc.seenNow}
		b.fill("k", stored[int]{1, tc.revision}, tc.seenBefore)
		if _, kept := b.cache["k"]; kept != tc.kept {
			t.Errorf("%s: got kept %t", name, kept)
		}
	}
}
