package contracts

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed openapi.yaml asyncapi.yaml builtins.json schemas/*.json manifests/*.json examples/*.json
var documents embed.FS

const (
	extension   = ".json"
	manifestDir = "manifests"
	schemaDir   = "schemas"
	exampleDir  = "examples"
	lockSlug    = "lock"
)

// FS returns every document under the path it has in this folder, such as
// "schemas/invocation.json". References between documents hold in it.
func FS() fs.FS { return documents }

// OpenAPI returns the edge API and the admin API as an OpenAPI 3.1 document in
// YAML (contract sections 3 and 9).
func OpenAPI() []byte { return read("openapi.yaml") }

// AsyncAPI returns the messages on NATS and the webhooks as an AsyncAPI 3.0
// document in YAML (contract sections 7 and 8, design section 3).
func AsyncAPI() []byte { return read("asyncapi.yaml") }

// Schemas returns the names of all schemas in alphabetical order, without the
// file extension. The one named "common" holds shared parts and is no document
// of its own.
func Schemas() []string { return names(schemaDir) }

// Schema returns the JSON Schema of a name that [Schemas] lists, such as
// "invocation". The error wraps [fs.ErrNotExist] for any other name.
func Schema(name string) ([]byte, error) {
	data, err := documents.ReadFile(schemaDir + "/" + name + extension)
	if err != nil {
		return nil, fmt.Errorf("schema %q: %w", name, fs.ErrNotExist)
	}
	return data, nil
}

// BuiltIns returns the slugs of the built-in extensions in the order of the
// capabilities: the lock first, then by slug (contract section 4).
func BuiltIns() []string {
	others := slices.DeleteFunc(names(manifestDir), func(slug string) bool { return slug == lockSlug })
	return append([]string{lockSlug}, others...)
}

// DisplayName returns the name of a built-in extension that people see, such as
// "Wheel of Fortune". It returns false for every other slug.
func DisplayName(slug string) (string, bool) {
	var named []struct{ Slug, DisplayName string }
	if err := json.Unmarshal(read("builtins.json"), &named); err != nil {
		return "", false // a test reads the file
	}
	for _, b := range named {
		if b.Slug == slug {
			return b.DisplayName, true
		}
	}
	return "", false
}

// Manifest returns the manifest of a built-in extension as JSON, in the form
// in which manifests are published: schema "manifest-request", with every list
// (contract sections 5 and 12). It returns false for every other slug.
func Manifest(slug string) ([]byte, bool) {
	data, err := documents.ReadFile(manifestDir + "/" + slug + extension)
	return data, err == nil
}

// An Example is one document that a schema takes, or one that it refuses.
type Example struct {
	// File is the name in examples/, such as
	// "invocation.missing-status.invalid.json".
	File string
	// Schema is the name of the schema that judges it.
	Schema string
	// Case tells the example from the schema's others, such as
	// "missing-status"; empty for the plain one.
	Case string
	// Valid says that the schema takes it. One that is not valid is so for the
	// single reason that Case names.
	Valid bool
	// JSON is the document.
	JSON []byte
}

// Examples returns all examples in alphabetical order of their files.
func Examples() []Example {
	var all []Example
	for _, name := range names(exampleDir) {
		parts := strings.Split(name, ".")
		all = append(all, Example{
			File:   name + extension,
			Schema: parts[0],
			Case:   strings.Join(parts[1:len(parts)-1], "."),
			Valid:  parts[len(parts)-1] == "valid",
			JSON:   read(exampleDir + "/" + name + extension),
		})
	}
	return all
}

// names returns the names of a folder's files without their extension.
func names(dir string) []string {
	entries, _ := documents.ReadDir(dir) // embedded: the folder is there
	found := make([]string, 0, len(entries))
	for _, e := range entries {
		found = append(found, strings.TrimSuffix(e.Name(), extension))
	}
	return found
}

func read(path string) []byte {
	data, _ := documents.ReadFile(path) // embedded: the file is there
	return data
}
