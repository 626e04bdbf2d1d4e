package registry

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/broker"
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
	return m, true, nil
}
