package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/internal/report"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// location names the schema inside the library. It is no address, so nothing
// could be loaded relative to it.
const location = "urn:latchwire:schema"

// maxLintProblems is how many problems Compile lists: a publisher wants all of
// them (contract section 5).
const maxLintProblems = 100

// A Schema validates values. Get one from [Compile].
type Schema struct {
	compiled *jsonschema.Schema
	root     *node
	byPath   map[string]*node
	title    string
}

// Compile lints and compiles a schema. Its error is an [*invocation.Error] with
// [invocation.InvalidManifest] and every problem found, with paths inside the
// schema. The root must be of type object.
func Compile(raw json.RawMessage) (*Schema, error) {
	doc, draft, problems := read(raw)
	if problems != nil {
		return nil, refused(problems)
	}
	l := &linter{}
	if doc["type"] != "object" {
		l.report.Add("/type", `must be "object"`)
	}
	root := l.lint(doc)
	if !l.report.Empty() {
		return nil, refused(l.report.Sorted(maxLintProblems))
	}
	compiled, err := compile(doc, draft)
	if err != nil {
		explain(&l.report, err)
		return nil, refused(l.report.Sorted(maxLintProblems))
	}
	title, _ := doc["title"].(string)
	return &Schema{compiled: compiled, root: root, byPath: l.byPath, title: title}, nil
}

// Title returns the title of the schema, or nothing. It is third-party text.
func (s *Schema) Title() string { return s.title }

// read returns the schema document without $schema, which it honours.
func read(raw json.RawMessage) (map[string]any, *jsonschema.Draft, []invocation.Problem) {
	one := func(path, format string, args ...any) []invocation.Problem {
		return []invocation.Problem{{InstancePath: path, Message: fmt.Sprintf(format, args...)}}
	}
	compact := jsontext.Value(raw).Clone()
	if compact.Compact() == nil && len(compact) > MaxBytes {
		return nil, nil, one("", "must NOT be larger than %d bytes", MaxBytes)
	}
	v, err := strictjson.Value(raw, strictjson.Limits{Values: MaxBytes})
	if bad, ok := errors.AsType[*strictjson.Error](err); ok {
		return nil, nil, one(bad.Path, "%s", bad.Error())
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, nil, one("", "must be object")
	}
	draft, ok := dialect(doc)
	if !ok {
		return nil, nil, one("/$schema", "must be JSON Schema 2020-12 or draft-07")
	}
	delete(doc, "$schema")
	return doc, draft, nil
}

// dialect returns what $schema asks for (S-27). No metaschema but the library's
// own is ever read (SEC-43).
func dialect(doc map[string]any) (*jsonschema.Draft, bool) {
	v, ok := doc["$schema"]
	if !ok {
		return jsonschema.Draft2020, true
	}
	text, _ := v.(string)
	text = strings.TrimSuffix(text, "#")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "https:"), "http:")
	switch text {
	case "//json-schema.org/draft/2020-12/schema":
		return jsonschema.Draft2020, true
	case "//json-schema.org/draft-07/schema":
		return jsonschema.Draft7, true
	}
	return nil, false
}

// nowhere is the only loader the library gets (S-26).
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// compile hands a linted schema to the library. The library has panicked on
// schemas before (SEC-53), so a panic is an error here.
func compile(doc map[string]any, draft *jsonschema.Draft) (s *jsonschema.Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("compile panicked: %v", r)
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	c.DefaultDraft(draft)
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "email", Validate: email})
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

// explain reports why the library refused a schema: mostly because the
// metaschema of its dialect does.
func explain(l *report.List, err error) {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if bad, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			f := flattener{report: l}
			f.walk(bad)
		}
	}
	if l.Empty() {
		l.Add("", "must be a schema that can be compiled")
	}
}

func refused(problems []invocation.Problem) error {
	return &invocation.Error{Code: invocation.InvalidManifest, Problems: problems}
}
