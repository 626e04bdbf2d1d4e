package registry

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// ParseManifest reads a manifest as its bucket's consumer delivered it: one
// that was stored, whether or not it was put in force. It returns false for a
// message that stores none.
func ParseManifest(d broker.Delivery) (Manifest, bool, error) {
	if nats.Header(d.Header).Get("KV-Operation") != "" {
		return Manifest{}, false, nil
	}
	var m Manifest
	if err := json.Unmarshal(d.Data, &m); err != nil {
		return Manifest{}, false, fmt.Errorf("decode the manifest at %d: %w", d.Sequence, err)
	}
	if !invocation.ValidSlug(string(m.Slug)) || d.Subject != "$KV.manifests."+manifestKey(m.Slug, m.Revision) {
		return Manifest{}, false, fmt.Errorf("the manifest at %d does not fit its subject", d.Sequence)
	}
	return m, true, nil
}
