package wire

import (
	"encoding/json"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
)

// Capabilities are what the extensions on a lock offer (contract section 4).
type Capabilities struct {
	Extensions []Offer `json:"extensions"`
}

// NewCapabilities returns the wire form of what is offered.
func NewCapabilities(offers []intake.Offer) Capabilities {
	var out Capabilities
	for _, o := range offers {
		out.Extensions = append(out.Extensions, newOffer(o))
	}
	return out
}

// An Offer is what one extension on the lock offers (contract section 4).
type Offer struct {
	Slug               invocation.Slug         `json:"slug"`
	DisplayName        string                  `json:"displayName"`
	PartnerExtensionID *invocation.ExtensionID `json:"partnerExtensionId"`
	Revision           int                     `json:"revision"`
	Commands           []Command               `json:"commands"`
	Queries            []Query                 `json:"queries"`
	Events             []manifest.Event        `json:"events"`
}

// A Command is a command on the lock.
type Command struct {
	ID           invocation.CapabilityID `json:"id"`
	Title        string                  `json:"title"`
	Description  string                  `json:"description"`
	Kind         string                  `json:"kind"`
	InvocableBy  []invocation.Actor      `json:"invocableBy"`
	InputSchema  json.RawMessage         `json:"inputSchema"`
	OutputSchema json.RawMessage         `json:"outputSchema"`
	Deprecated   *manifest.Deprecation   `json:"deprecated"`
	Availability
}

// A Query is a query on the lock.
type Query struct {
	ID           invocation.CapabilityID `json:"id"`
	Title        string                  `json:"title"`
	Description  string                  `json:"description"`
	InvocableBy  []invocation.Actor      `json:"invocableBy"`
	InputSchema  json.RawMessage         `json:"inputSchema"`
	OutputSchema json.RawMessage         `json:"outputSchema"`
	Deprecated   *manifest.Deprecation   `json:"deprecated"`
	Availability
}

// An Availability says whether the viewer can call a capability right now.
type Availability struct {
	Available bool         `json:"available"`
	Reason    *lock.Reason `json:"reason"`
}

func newOffer(o intake.Offer) Offer {
	doc := o.Manifest.Document()
	out := Offer{
		Slug: o.Extension.Slug, DisplayName: o.Extension.DisplayName, PartnerExtensionID: OrNull(o.Extension.ID),
		Revision: o.Extension.Revision, Events: doc.Events,
	}
	for _, c := range doc.Commands {
		out.Commands = append(out.Commands, NewCommand(o, c))
	}
	for _, q := range doc.Queries {
		out.Queries = append(out.Queries, NewQuery(o, q))
	}
	return out
}

// NewCommand returns the wire form of one of an offer's commands.
func NewCommand(o intake.Offer, c manifest.Command) Command {
	return Command{
		ID: c.ID, Title: c.Title, Description: c.Description, Kind: c.Kind, InvocableBy: c.InvocableBy,
		InputSchema: c.InputSchema, OutputSchema: c.OutputSchema, Deprecated: c.Deprecated, Availability: availability(o, c.ID),
	}
}

// NewQuery returns the wire form of one of an offer's queries.
func NewQuery(o intake.Offer, q manifest.Query) Query {
	return Query{
		ID: q.ID, Title: q.Title, Description: q.Description, InvocableBy: q.InvocableBy,
		InputSchema: q.InputSchema, OutputSchema: q.OutputSchema, Deprecated: q.Deprecated, Availability: availability(o, q.ID),
	}
}

func availability(o intake.Offer, id invocation.CapabilityID) Availability {
	if r, found := o.Reasons[id]; found {
		return Availability{Reason: &r}
	}
	return Availability{Available: true}
}
