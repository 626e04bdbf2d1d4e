package manifest

import (
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// ValidPattern reports whether p selects events: "*", "slug.*" or an exact id
// (contract sections 3 and 5).
func ValidPattern(p string) bool {
	if slug, ok := strings.CutSuffix(p, ".*"); ok {
		return invocation.ValidSlug(slug)
	}
	return p == "*" || invocation.ValidCapability(p)
}
