package schema

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The linter lets no such reference through; the library must not follow one
// either (SEC-43, S-26).
func TestTheLibraryLoadsNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(file, []byte(`{"const":"CANARY"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, doc := range []map[string]any{
		{"$ref": "file://" + file},
		{"$schema": "file://" + file},
		{"$id": "file://" + filepath.Dir(file) + "/", "$ref": "secret.json"},
		{"$ref": "http://127.0.0.1:1/x.json"},
	} {
		if s, err := compile(doc, jsonschema.Draft2020); err == nil {
			t.Errorf("%v: got %v, want an error", doc, s)
		}
	}
}
