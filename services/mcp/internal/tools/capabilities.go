package tools

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/wire"
)

// The providers of extensions.
const (
	platformProvider = "chaster"
	partnerProvider  = "third-party"
)

// maxSummary is the longest description in a list, in code points.
const maxSummary = 200

type capabilityList struct {
	Extensions []extension `json:"extensions"`
}

type extension struct {
	Slug        invocation.Slug `json:"slug"`
	DisplayName string          `json:"displayName"`
	Provider    string          `json:"provider"`
	Commands    []command       `json:"commands"`
	Queries     []query         `json:"queries"`
	Events      []event         `json:"events"`
}

type command struct {
	ID          invocation.CapabilityID `json:"id"`
	Title       string                  `json:"title"`
	Description string                  `json:"description"`
	Kind        string                  `json:"kind"`
	wire.Availability
}

type query struct {
	ID          invocation.CapabilityID `json:"id"`
	Title       string                  `json:"title"`
	Description string                  `json:"description"`
	wire.Availability
}

type event struct {
	ID    invocation.CapabilityID `json:"id"`
	Title *string                 `json:"title"`
}

func (k *Kit) offers(ctx context.Context, c intake.Caller) ([]intake.Offer, error) {
	return k.cfg.Intake.Capabilities(ctx, intake.Viewer{Session: c.Session, As: invocation.ActorExtension})
}

func (k *Kit) listCapabilities(ctx context.Context, c intake.Caller, _ json.RawMessage) (any, error) {
	offers, err := k.offers(ctx, c)
	if err != nil {
		return nil, err
	}
	var list capabilityList
	for _, o := range offers {
		list.Extensions = append(list.Extensions, summary(o))
	}
	return list, nil
}

func summary(o intake.Offer) extension {
	x := extension{Slug: o.Extension.Slug, DisplayName: o.Extension.DisplayName, Provider: platformProvider}
	if o.Extension.ID != "" {
		x.Provider = partnerProvider
	}
	doc := o.Manifest.Document()
	for _, m := range doc.Commands {
		x.Commands = append(x.Commands, command{m.ID, m.Title, shorten(m.Description), m.Kind, wire.NewCommand(o, m).Availability})
	}
	for _, m := range doc.Queries {
		x.Queries = append(x.Queries, query{m.ID, m.Title, shorten(m.Description), wire.NewQuery(o, m).Availability})
	}
	for _, m := range doc.Events {
		title := ""
		if t, found := o.Manifest.Event(m.ID); found {
			title = t.Title
		}
		x.Events = append(x.Events, event{m.ID, wire.OrNull(title)})
	}
	return x
}

// shorten cuts a description that is too long for a list.
func shorten(s string) string {
	if utf8.RuneCountInString(s) <= maxSummary {
		return s
	}
	return string([]rune(s)[:maxSummary-1]) + "…"
}

type descriptions struct {
	Actions    []any    `json:"actions"`
	UnknownIDs []string `json:"unknownIds"`
}

type describedCommand struct {
	Type string `json:"type"`
	wire.Command
}

type describedQuery struct {
	Type string `json:"type"`
	wire.Query
}

type describedEvent struct {
	Type string `json:"type"`
	manifest.Event
}

func (k *Kit) describeActions(ctx context.Context, c intake.Caller, arguments json.RawMessage) (any, error) {
	args, err := decode[struct {
		IDs []string `json:"ids"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	offers, err := k.offers(ctx, c)
	if err != nil {
		return nil, err
	}
	entries := make(map[string]any)
	for _, o := range offers {
		doc := o.Manifest.Document()
		for _, m := range doc.Commands {
			entries[string(m.ID)] = describedCommand{"command", wire.NewCommand(o, m)}
		}
		for _, m := range doc.Queries {
			entries[string(m.ID)] = describedQuery{"query", wire.NewQuery(o, m)}
		}
		for _, m := range doc.Events {
			entries[string(m.ID)] = describedEvent{"event", m}
		}
	}
	var out descriptions
	seen := make(map[string]bool)
	for _, id := range args.IDs {
		entry, known := entries[id]
		switch {
		case seen[id]:
		case known:
			out.Actions = append(out.Actions, entry)
		default:
			out.UnknownIDs = append(out.UnknownIDs, id)
		}
		seen[id] = true
	}
	return out, nil
}
