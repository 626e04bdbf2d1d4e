package registry_test

import (
	"testing"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

func TestParseManifestReadsWhatIsStored(t *testing.T) {
	t.Parallel()
	const stored = `{"slug":"reader","revision":2,"document":{"commands":[]},"at":"2026-11-04T12:00:00Z"}`
	for name, tc := range map[string]struct {
		delivery broker.Delivery
		found    bool
		fails    bool
	}{
		"a manifest":           {broker.Delivery{Subject: "$KV.manifests.reader.2", Data: []byte(stored)}, true, false},
		"a deleted key":        {broker.Delivery{Header: map[string][]string{"KV-Operation": {"DEL"}}}, false, false},
		"a purged key":         {broker.Delivery{Header: map[string][]string{"KV-Operation": {"PURGE"}}}, false, false},
		"another's subject":    {broker.Delivery{Subject: "$KV.manifests.writer.2", Data: []byte(stored)}, false, true}, // SEC-111
		"another revision":     {broker.Delivery{Subject: "$KV.manifests.reader.3", Data: []byte(stored)}, false, true},
		"no manifest":          {broker.Delivery{Subject: "$KV.manifests.reader.2", Data: []byte(`{"type":"io.nats"}`)}, false, true},
		"what nobody can read": {broker.Delivery{Data: []byte(`{"slug":`)}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, found, err := registry.ParseManifest(tc.delivery)
			if found != tc.found || (err != nil) != tc.fails {
				t.Fatalf("got found %t, error %v", found, err)
			}
			if found && (m.Slug != "reader" || m.Revision != 2 || string(m.Document) != `{"commands":[]}`) {
				t.Errorf("got %+v", m)
			}
		})
	}
}
