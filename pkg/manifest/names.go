package manifest

import (
	"slices"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// ReservedSlug reports whether a slug belongs to the platform, so that no
// partner extension may have it (SEC-54).
func ReservedSlug(slug invocation.Slug) bool {
	return slices.Contains([]invocation.Slug{
		"lock", "tasks", "penalty", "verification-picture", "temporary-opening", "pillory", "dice", "link",
		"wheel-of-fortune", "chaster", "system",
	}, slug)
}

// ValidPattern reports whether p selects events: "*", "slug.*" or an exact id
// (contract sections 3 and 5).
func ValidPattern(p string) bool {
	if slug, ok := strings.CutSuffix(p, ".*"); ok {
		return invocation.ValidSlug(slug)
	}
	return p == "*" || invocation.ValidCapability(p)
}

// Matches reports whether one of the patterns selects an event: "*" selects all,
// "slug.*" those of one slug, anything else the id itself. Readers that filter
// events by type use patterns of the same form (contract section 3).
func Matches(patterns []string, event invocation.CapabilityID) bool {
	for _, p := range patterns {
		if p == "*" || p == string(event) || p == string(event.Slug())+".*" {
			return true
		}
	}
	return false
}
