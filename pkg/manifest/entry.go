package manifest

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/schema"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

func (p *parser) command(raw json.RawMessage, path string) Command {
	q, e := p.callable(raw, path, "kind")
	c := Command{
		ID: q.ID, Title: q.Title, Description: q.Description, Kind: DefaultKind, InvocableBy: q.InvocableBy,
		InputSchema: q.InputSchema, OutputSchema: q.OutputSchema, Deprecated: q.Deprecated,
	}
	if kind, ok := p.text(e, path, "kind", 1, MaxKind); ok {
		c.Kind = kind
	}
	return c
}

func (p *parser) query(raw json.RawMessage, path string) Query {
	q, _ := p.callable(raw, path)
	return q
}

// callable reads what commands and queries have in common.
func (p *parser) callable(raw json.RawMessage, path string, more ...string) (Query, fields) {
	e, ok := p.object(raw, path, append(more, "id", "title", "description", "invocableBy", "inputSchema", "outputSchema", "deprecated")...)
	if !ok {
		return Query{}, nil
	}
	p.require(e, path, "id", "title", "invocableBy", "inputSchema", "outputSchema")
	var q Query
	q.ID = p.id(e, path, p.ids, "commands and queries")
	q.Title, _ = p.text(e, path, "title", 1, MaxTitle)
	q.Description, _ = p.text(e, path, "description", 0, MaxDescription)
	q.InvocableBy = p.invocableBy(e, path)
	q.InputSchema = p.schema(e, path, "inputSchema")
	q.OutputSchema = p.schema(e, path, "outputSchema")
	q.Deprecated = p.deprecated(e, path)
	return q, e
}

func (p *parser) event(raw json.RawMessage, path string, seen idSet) Event {
	e, ok := p.object(raw, path, "id", "payloadSchema", "deprecated")
	if !ok {
		return Event{}
	}
	p.require(e, path, "id", "payloadSchema")
	return Event{
		ID: p.id(e, path, seen, "events"), PayloadSchema: p.schema(e, path, "payloadSchema"), Deprecated: p.deprecated(e, path),
	}
}

func (p *parser) subscription(raw json.RawMessage, path string) string {
	s, ok := p.str(raw, path)
	if ok && !ValidPattern(s) {
		p.report.Add(path, `must be "*", "slug.*" or the id of an event`)
	}
	return s
}

// id reads an id, which must be the extension's own and not taken (SEC-54,
// SEC-55).
func (p *parser) id(e fields, path string, taken idSet, among string) invocation.CapabilityID {
	raw, ok := e["id"]
	if !ok {
		return ""
	}
	path += "/id"
	text, ok := p.str(raw, path)
	id := invocation.CapabilityID(text)
	switch {
	case !ok:
	case !invocation.ValidCapability(text):
		p.report.Add(path, `must match pattern "^[a-z0-9-]{1,40}\.[a-z0-9]+(-[a-z0-9]+)*$"`)
	case id.Slug() != p.slug:
		p.report.Add(path, "must begin with the extension's own slug, %q", p.slug+".")
	case taken[id]:
		p.report.Add(path, "must be unique among %s", among)
	}
	taken[id] = true
	return id
}

// text reads plain text of a bounded length in code points (SEC-59).
func (p *parser) text(e fields, path, name string, least, most int) (string, bool) {
	raw, ok := e[name]
	if !ok {
		return "", false
	}
	path += "/" + name
	s, ok := p.str(raw, path)
	if !ok {
		return "", false
	}
	if n := utf8.RuneCountInString(s); n < least {
		p.report.Add(path, "must NOT have fewer than %d characters", least)
	} else if n > most {
		p.report.Add(path, "must NOT have more than %d characters", most)
	}
	if !clean(s) {
		p.report.Add(path, "must NOT have control, bidirectional or tag characters")
	}
	return s, true
}

func (p *parser) invocableBy(e fields, path string) []invocation.Actor {
	raw, ok := e["invocableBy"]
	if !ok {
		return nil
	}
	path += "/invocableBy"
	items, ok := p.array(raw, path)
	if !ok {
		return nil
	}
	list := make([]invocation.Actor, 0, len(items))
	for i, item := range items {
		at := path + "/" + strconv.Itoa(i)
		text, ok := p.str(item, at)
		who := invocation.Actor(text)
		switch {
		case !ok:
		case who != invocation.ActorWearer && who != invocation.ActorKeyholder && who != invocation.ActorExtension:
			p.report.Add(at, "must be equal to one of the allowed values")
		case slices.Contains(list, who):
			p.report.Add(path, "must NOT have duplicate items (items ## %d and %d are identical)", i, slices.Index(list, who))
		}
		list = append(list, who)
	}
	return list
}

// schema reads a schema, lints it and returns it without white space.
func (p *parser) schema(e fields, path, name string) json.RawMessage {
	raw, ok := e[name]
	if !ok {
		return nil
	}
	path += "/" + name
	if _, err := schema.Compile(raw); err != nil {
		for _, problem := range invocation.AsError(err).Problems {
			problem.InstancePath = path + problem.InstancePath
			p.report.AddProblem(problem)
		}
		return nil
	}
	compact := jsontext.Value(raw).Clone()
	if err := compact.Compact(); err != nil {
		p.report.Add(path, "must be valid JSON")
	}
	return json.RawMessage(compact)
}

func (p *parser) deprecated(e fields, path string) *Deprecation {
	raw, ok := e["deprecated"]
	if !ok || isNull(raw) {
		return nil
	}
	path += "/deprecated"
	d, ok := p.object(raw, path, "message", "replacedBy")
	if !ok {
		return nil
	}
	p.require(d, path, "message")
	var out Deprecation
	out.Message, _ = p.text(d, path, "message", 1, MaxDescription)
	if by, ok := d["replacedBy"]; ok && !isNull(by) {
		text, ok := p.str(by, path+"/replacedBy")
		if ok && !invocation.ValidCapability(text) {
			p.report.Add(path+"/replacedBy", "must be null or the id of a capability")
		}
		id := invocation.CapabilityID(text)
		out.ReplacedBy = &id
	}
	return &out
}

// object reads an object that has no other members than these.
func (p *parser) object(raw json.RawMessage, path string, allowed ...string) (fields, bool) {
	var e fields
	if !p.read(raw, path, &e) {
		return nil, false
	}
	for name := range e {
		if !slices.Contains(allowed, name) {
			p.report.Add(path, "must NOT have additional properties")
		}
	}
	return e, true
}

func (p *parser) array(raw json.RawMessage, path string) ([]json.RawMessage, bool) {
	var items []json.RawMessage
	return items, p.read(raw, path, &items)
}

func (p *parser) str(raw json.RawMessage, path string) (string, bool) {
	var s string
	if isNull(raw) {
		p.report.Add(path, "must be string")
		return "", false
	}
	return s, p.read(raw, path, &s)
}

func isNull(raw json.RawMessage) bool { return jsontext.Value(raw).Kind() == 'n' }

// read stores raw in the value v points to, or reports that it does not fit.
func (p *parser) read(raw json.RawMessage, path string, v any) bool {
	err := strictjson.Decode(raw, v, limits())
	if err != nil {
		p.report.Add(path, "%s", err.Error())
	}
	return err == nil
}

func (p *parser) require(e fields, path string, names ...string) {
	for _, name := range names {
		if _, ok := e[name]; !ok {
			p.report.Add(path, "must have required property '%s'", name)
		}
	}
}
