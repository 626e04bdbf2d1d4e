package manifest

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/schema"
)

// A Schema validates inputs, results and payloads.
type Schema = schema.Schema

// A Capability is a compiled command or query.
type Capability struct {
	Kind        invocation.Kind
	ID          invocation.CapabilityID
	Title       string
	Description string
	// Label is the kind that the manifest gives a command, an opaque word.
	Label       string
	InvocableBy []invocation.Actor
	Deprecated  *Deprecation
	// Input and Output judge inputs and results. They are never nil.
	Input, Output *Schema
}

// Invocable reports whether an actor may call the capability (contract section
// 6, step 5).
func (c *Capability) Invocable(by invocation.Actor) bool { return slices.Contains(c.InvocableBy, by) }

// An EventType is a compiled event.
type EventType struct {
	ID invocation.CapabilityID
	// Title is the title of the payload schema, or empty (contract section 10).
	Title      string
	Deprecated *Deprecation
	// Payload judges payloads. It is never nil.
	Payload *Schema
}

// A Compiled is a manifest that is ready for calls.
type Compiled struct {
	doc       *Document
	callables map[invocation.CapabilityID]*Capability
	events    map[invocation.CapabilityID]*EventType
}

// Compile compiles every schema of a document that [Parse] accepted. Its error
// names the schema that did not compile, which means that the stored document
// was not written by Parse.
func Compile(doc *Document) (*Compiled, error) {
	c := &Compiled{
		doc: doc, callables: make(map[invocation.CapabilityID]*Capability), events: make(map[invocation.CapabilityID]*EventType),
	}
	for _, m := range doc.Commands {
		capability := &Capability{
			Kind: invocation.Command, ID: m.ID, Title: m.Title, Description: m.Description, Label: m.Kind,
			InvocableBy: m.InvocableBy, Deprecated: m.Deprecated,
		}
		if err := c.callable(capability, m.InputSchema, m.OutputSchema); err != nil {
			return nil, err
		}
	}
	for _, m := range doc.Queries {
		capability := &Capability{
			Kind: invocation.Query, ID: m.ID, Title: m.Title, Description: m.Description,
			InvocableBy: m.InvocableBy, Deprecated: m.Deprecated,
		}
		if err := c.callable(capability, m.InputSchema, m.OutputSchema); err != nil {
			return nil, err
		}
	}
	for _, m := range doc.Events {
		payload, err := schema.Compile(m.PayloadSchema)
		if err != nil {
			return nil, fmt.Errorf("payload schema of %s: %w", m.ID, err)
		}
		c.events[m.ID] = &EventType{ID: m.ID, Title: payload.Title(), Deprecated: m.Deprecated, Payload: payload}
	}
	return c, nil
}

func (c *Compiled) callable(m *Capability, input, output json.RawMessage) (err error) {
	if m.Input, err = schema.Compile(input); err != nil {
		return fmt.Errorf("input schema of %s: %w", m.ID, err)
	}
	if m.Output, err = schema.Compile(output); err != nil {
		return fmt.Errorf("output schema of %s: %w", m.ID, err)
	}
	c.callables[m.ID] = m
	return nil
}

// Document returns the document that was compiled. It must not be changed.
func (c *Compiled) Document() *Document { return c.doc }

// Callable returns the command or query with this id: their ids are unique
// across both (contract section 5).
func (c *Compiled) Callable(id invocation.CapabilityID) (*Capability, bool) {
	m, ok := c.callables[id]
	return m, ok
}

// Callables returns every command and query, in no order.
func (c *Compiled) Callables() iter.Seq[*Capability] { return maps.Values(c.callables) }

// Command returns the command with this id.
func (c *Compiled) Command(id invocation.CapabilityID) (*Capability, bool) {
	return c.kind(id, invocation.Command)
}

// Query returns the query with this id.
func (c *Compiled) Query(id invocation.CapabilityID) (*Capability, bool) {
	return c.kind(id, invocation.Query)
}

// Event returns the event with this id.
func (c *Compiled) Event(id invocation.CapabilityID) (*EventType, bool) {
	m, ok := c.events[id]
	return m, ok
}

func (c *Compiled) kind(id invocation.CapabilityID, kind invocation.Kind) (*Capability, bool) {
	if m, ok := c.callables[id]; ok && m.Kind == kind {
		return m, true
	}
	return nil, false
}
