//go:build !crashpoints

package crashpoint_test

import (
	"slices"
	"testing"

	"github.com/latchwire/latchwire/pkg/crashpoint"
)

// In every build but that of the crash tests a mark lets everybody pass.
func TestPlacesAreDistinctAndHarmless(t *testing.T) {
	t.Setenv("LATCHWIRE_CRASH_AT", crashpoint.AfterRecord)
	places := crashpoint.Places()
	for i, place := range places {
		if place == "" || slices.Index(places, place) != i {
			t.Errorf("%q is empty or listed twice", place)
		}
		crashpoint.Here(place)
	}
}
