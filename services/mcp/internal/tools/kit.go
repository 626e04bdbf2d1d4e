package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/schema"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
	"github.com/latchwire/latchwire/pkg/mcp"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
)

// An Invoker runs a call: [intake.Intake.Invoke], perhaps wrapped.
type Invoker func(context.Context, intake.Call) (intake.Answer, error)

// A Config is what tools stand on. Every field must be set.
type Config struct {
	Intake    *intake.Intake
	Invoke    Invoker
	Telemetry *telemetry.Providers
}

// A Kit makes tools.
type Kit struct{ cfg Config }

// New returns a kit.
func New(cfg Config) *Kit { return &Kit{cfg} }

type callerKey struct{}

// WithCaller returns a context for the request of an extension on a lock. Tools
// act for nobody else (SEC-105).
func WithCaller(ctx context.Context, c intake.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

var errNoCaller = errors.New("a tool was called for nobody")

// A spec is a tool before its schema is compiled.
type spec struct {
	name, title, description string
	input                    string // its schema
	hints                    mcp.Annotations
	// run is given arguments that fit the schema. What it returns becomes the
	// data of the result, an error that is no refusal an internal-error.
	run func(ctx context.Context, c intake.Caller, arguments json.RawMessage) (any, error)
	// writes says that the tool may change something.
	writes bool
	// passes names the argument, an object, that is judged by somebody else's
	// schema; empty for none.
	passes string
}

// failed marks data of a result as that of a call that came to nothing.
type failed struct{ data any }

func (k *Kit) build(specs []spec) ([]mcp.Tool, error) {
	var all []mcp.Tool
	for _, s := range specs {
		input, err := schema.Compile(json.RawMessage(s.input))
		if err != nil {
			return nil, fmt.Errorf("input schema of %s: %w", s.name, err)
		}
		all = append(all, mcp.Tool{
			Name: s.name, Title: s.title, Description: s.description, InputSchema: json.RawMessage(s.input), Annotations: s.hints,
			Call: func(ctx context.Context, c mcp.Call) (mcp.Result, error) {
				ctx, span := k.cfg.Telemetry.Tool(ctx, telemetry.ToolCall{Tool: s.name, Version: c.Version, Traceparent: c.Traceparent})
				r, err := s.call(ctx, input, c.Arguments)
				span.EndTool(r.IsError, err)
				return r, err
			},
		})
	}
	return all, nil
}

func (s spec) call(ctx context.Context, input *schema.Schema, arguments json.RawMessage) (mcp.Result, error) {
	caller, ok := ctx.Value(callerKey{}).(intake.Caller)
	if !ok {
		return mcp.Result{}, errNoCaller
	}
	if err := s.judge(input, arguments); err != nil {
		return s.refuse(ctx, err, arguments)
	}
	data, err := s.run(ctx, caller, arguments)
	if err != nil {
		return s.refuse(ctx, err, arguments)
	}
	came, nothing := data.(failed)
	if nothing {
		data = came.data
	}
	return result(data, nothing)
}

// judge judges arguments by the tool's schema. An object that is passed on may
// be as deep as on REST, whatever it is wrapped in here.
func (s spec) judge(input *schema.Schema, arguments json.RawMessage) error {
	if s.passes != "" {
		members, err := decode[map[string]json.RawMessage](arguments)
		if err != nil {
			return &invocation.Error{Code: invalidArguments, Problems: []invocation.Problem{{Message: "must be an object"}}}
		}
		if passed := members[s.passes]; len(passed) > 0 && passed[0] == '{' {
			if strictjson.Depth(passed) > invocation.MaxNesting {
				return invocation.Refusef(invalidRequest, "%s must NOT be nested more than %d levels deep", s.passes, invocation.MaxNesting)
			}
			members[s.passes] = json.RawMessage("{}")
		}
		if arguments, err = jsonv2.Marshal(members); err != nil {
			return err
		}
	}
	if problems := input.Validate(arguments); len(problems) > 0 {
		return &invocation.Error{Code: invalidArguments, Problems: problems}
	}
	return nil
}

// refuse makes a result of a refusal.
func (s spec) refuse(ctx context.Context, err error, arguments json.RawMessage) (mcp.Result, error) {
	telemetry.NoteError(ctx, err)
	var named struct {
		Key *string `json:"idempotencyKey"`
	}
	_ = jsonv2.Unmarshal(arguments, &named) // arguments of another shape name no key
	return result(NewRefused(invocation.AsError(err), s.writes, named.Key != nil), true)
}

func result(data any, isError bool) (mcp.Result, error) {
	b, err := wire.Encode(data)
	if err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{Structured: b, Text: Fence(b), IsError: isError}, nil
}

// decode reads arguments that fit their schema.
func decode[T any](arguments json.RawMessage) (T, error) {
	var v T
	err := jsonv2.Unmarshal(arguments, &v)
	return v, err
}
