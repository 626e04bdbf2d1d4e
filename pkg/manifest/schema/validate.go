package schema

import (
	"encoding/json"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/internal/report"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// Validate returns what is wrong with raw, or nil if it fits: at most
// [MaxProblems] problems in Ajv's words, by path (contract section 9). Nothing
// of the value is quoted, but names of its members appear in paths.
//
// A text that is no strict JSON, or needs more than [MaxSteps], is one problem.
// A nil Schema admits nothing.
func (s *Schema) Validate(raw json.RawMessage) []invocation.Problem {
	v, err := strictjson.Value(raw, strictjson.Limits{})
	if err != nil {
		bad, _ := errors.AsType[*strictjson.Error](err)
		return []invocation.Problem{{InstancePath: bad.Path, Message: bad.Error()}}
	}
	if s == nil {
		return []invocation.Problem{{Message: "must fit a schema, and there is none"}}
	}
	c := counter{limit: MaxSteps}
	if c.walk(s.root, v, false); c.over() {
		return []invocation.Problem{{Message: "must be less complex: too many steps are needed to validate it"}}
	}
	err = run(s.compiled, v)
	if err == nil {
		return nil
	}
	f := flattener{schema: s, value: v, report: &report.List{}}
	if bad, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		f.walk(bad)
		f.finish()
	}
	if f.report.Empty() {
		f.report.Add("", "must be a value that can be validated")
	}
	return f.report.Sorted(MaxProblems)
}

// errPanic says that the library gave up; the value counts as invalid.
type errPanic struct{}

func (errPanic) Error() string { return "validation panicked" }

// run validates v. Numbers that once crashed the library are refused before
// (SEC-33); the next one must not end the process either.
func run(s *jsonschema.Schema, v any) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanic{}
		}
	}()
	return s.Validate(v)
}
