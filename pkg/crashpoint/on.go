//go:build crashpoints

package crashpoint

import "os"

// Enabled says whether this build has crash points.
const Enabled = true

// Here ends the process at once, without any clean-up, if LATCHWIRE_CRASH_AT
// names the place.
func Here(place string) {
	if os.Getenv("LATCHWIRE_CRASH_AT") == place {
		os.Exit(137)
	}
}
