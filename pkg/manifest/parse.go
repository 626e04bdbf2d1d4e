package manifest

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/internal/report"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// What a manifest may hold (contract section 5; the last three are ours).
const (
	MaxBytes         = 256 << 10
	MaxCommands      = 50 // and as many queries
	MaxEvents        = 100
	MaxTitle         = 60   // code points
	MaxDescription   = 1000 // code points
	MaxKind          = 40   // code points
	MaxSubscriptions = 256
	// MaxProblems is how many problems one refusal lists.
	MaxProblems = 100
)

// limits returns the JSON limits of a manifest. Its bytes bound its values.
func limits() strictjson.Limits { return strictjson.Limits{Bytes: MaxBytes, Values: MaxBytes} }

// Parse reads a manifest that the extension with this slug publishes. A list
// that the document leaves out keeps the value it has in previous, which may be
// nil; an empty list clears it (contract section 5).
//
// The error is an [*invocation.Error] with [invocation.InvalidManifest] that
// lists every problem, each with the path in raw.
func Parse(slug invocation.Slug, raw []byte, previous *Document) (*Document, error) {
	if err := strictjson.Check(raw, limits()); err != nil {
		bad, _ := errors.AsType[*strictjson.Error](err)
		return nil, refused([]invocation.Problem{{InstancePath: bad.Path, Message: bad.Error()}})
	}
	p := &parser{slug: slug, ids: make(idSet)}
	top, ok := p.object(raw, "", "commands", "queries", "events", "subscriptions")
	if !ok {
		return nil, refused(p.report.Sorted(MaxProblems))
	}
	doc := p.document(top, previous)
	if !p.report.Empty() {
		return nil, refused(p.report.Sorted(MaxProblems))
	}
	return doc, nil
}

func refused(problems []invocation.Problem) error {
	return &invocation.Error{Code: invocation.InvalidManifest, Problems: problems}
}

// A parser reads one manifest.
type parser struct {
	slug   invocation.Slug
	ids    idSet // of commands and queries together
	report report.List
}

// An idSet holds the ids that are taken.
type idSet map[invocation.CapabilityID]bool

// A fields is an object with its members unread.
type fields map[string]json.RawMessage

func (p *parser) document(top fields, previous *Document) *Document {
	doc := new(Document)
	if previous != nil {
		*doc = *previous
	}
	_, newCommands := top["commands"]
	_, newQueries := top["queries"]
	if !newCommands { // ids that stay are taken
		for _, c := range doc.Commands {
			p.ids[c.ID] = true
		}
	}
	if !newQueries {
		for _, q := range doc.Queries {
			p.ids[q.ID] = true
		}
	}
	if newCommands {
		doc.Commands = readList(p, top, "commands", MaxCommands, p.command)
	}
	if newQueries {
		doc.Queries = readList(p, top, "queries", MaxCommands, p.query)
	}
	if _, ok := top["events"]; ok {
		seen := make(idSet)
		doc.Events = readList(p, top, "events", MaxEvents, func(raw json.RawMessage, path string) Event {
			return p.event(raw, path, seen)
		})
	}
	if _, ok := top["subscriptions"]; ok {
		doc.Subscriptions = readList(p, top, "subscriptions", MaxSubscriptions, p.subscription)
	}
	doc.Commands, doc.Queries = filled(doc.Commands), filled(doc.Queries)
	doc.Events, doc.Subscriptions = filled(doc.Events), filled(doc.Subscriptions)
	return doc
}

// readList reads one list of the manifest.
func readList[T any](p *parser, top fields, name string, most int, read func(json.RawMessage, string) T) []T {
	path := "/" + name
	items, ok := p.array(top[name], path)
	if !ok {
		return nil
	}
	if len(items) > most {
		p.report.Add(path, "must NOT have more than %d items", most)
		return nil
	}
	list := make([]T, 0, len(items))
	for i, raw := range items {
		list = append(list, read(raw, path+"/"+strconv.Itoa(i)))
	}
	return list
}
