package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/manifest/schema"
)

func TestFieldsWithOptions(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(json.RawMessage(`{
		"type": "object", "x-chaster-options": true,
		"$defs": {"habit": {"type": "string", "x-chaster-options": {"search": true}}},
		"anyOf": [{"properties": {"either": {"x-chaster-options": true}}}],
		"properties": {
			"plain": {"type": "string"},
			"off": {"type": "string", "x-chaster-options": false},
			"null": {"type": "string", "x-chaster-options": null},
			"on": {"type": "string", "x-chaster-options": true},
			"by": {"$ref": "#/$defs/habit"},
			"deep": {"type": "object", "properties": {"a/b": {"type": "string", "x-chaster-options": true}}},
			"list": {"type": "array", "items": {"$ref": "#/$defs/habit"}},
			"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "string", "x-chaster-options": true}]}
		}}`))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]bool{
		"": false, "plain": false, "off": false, "null": false, "absent": false, "on": true, "by": true, "either": true,
		"deep": false, "deep|a/b": true, "on|x": false, "list": false, "list|0": true, "list|7": true, "list|x": false,
		"list|-1": false, "pair|0": false, "pair|1": true, "pair|2": false,
	} {
		var tokens []string
		if field != "" {
			tokens = strings.Split(field, "|")
		}
		if got := s.HasOptions(tokens); got != want {
			t.Errorf("%q: got %t, want %t", field, got, want)
		}
	}
}
