package partner

import (
	"encoding/json"
	"net/http"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// mainTokenHeader carries the token of a person who looks at an extension's
// page (contract section 2).
const mainTokenHeader = "X-Chaster-Main-Token" //nolint:gosec // the name of a header

// allowOrigin lets a page of any origin read the answer, refusals included.
// There are no cookies, so the page needs a token to learn anything.
func allowOrigin(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "X-Trace-Id, Retry-After")
}

// preflight tells a browser what it may send. No other endpoint answers one
// (contract section 2, SEC-71).
func preflight(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	allowOrigin(h)
	h.Set("Access-Control-Allow-Methods", "GET")
	h.Set("Access-Control-Allow-Headers", "Authorization, X-Chaster-Main-Token")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) capabilities(w http.ResponseWriter, r *http.Request) error {
	allowOrigin(w.Header())
	v, err := a.viewer(r)
	if err != nil {
		return err
	}
	offers, err := a.cfg.Intake.Capabilities(r.Context(), v)
	if err != nil {
		return err
	}
	var answer capabilitiesAnswer
	for _, o := range offers {
		answer.Extensions = append(answer.Extensions, newEntry(o))
	}
	return door.Answer(w, http.StatusOK, answer)
}

// viewer returns for whom the capabilities are computed. Where both credentials
// are sent, Authorization wins (contract section 2).
func (a *API) viewer(r *http.Request) (intake.Viewer, error) {
	if len(r.Header.Values("Authorization")) == 0 && len(r.Header.Values(mainTokenHeader)) > 0 {
		return a.cfg.Intake.MainPage(r.Context(), door.Credential(r, mainTokenHeader), sessionOf(r))
	}
	c, err := a.caller(r)
	return intake.Viewer{Session: c.Session, As: invocation.ActorExtension}, err
}

type capabilitiesAnswer struct {
	Extensions []entry `json:"extensions"`
}

// An entry is what one extension on the lock offers (contract section 4).
type entry struct {
	Slug               invocation.Slug         `json:"slug"`
	DisplayName        string                  `json:"displayName"`
	PartnerExtensionID *invocation.ExtensionID `json:"partnerExtensionId"`
	Revision           int                     `json:"revision"`
	Commands           []command               `json:"commands"`
	Queries            []query                 `json:"queries"`
	Events             []manifest.Event        `json:"events"`
}

type command struct {
	ID           invocation.CapabilityID `json:"id"`
	Title        string                  `json:"title"`
	Description  string                  `json:"description"`
	Kind         string                  `json:"kind"`
	InvocableBy  []invocation.Actor      `json:"invocableBy"`
	InputSchema  json.RawMessage         `json:"inputSchema"`
	OutputSchema json.RawMessage         `json:"outputSchema"`
	Deprecated   *manifest.Deprecation   `json:"deprecated"`
	availability
}

type query struct {
	ID           invocation.CapabilityID `json:"id"`
	Title        string                  `json:"title"`
	Description  string                  `json:"description"`
	InvocableBy  []invocation.Actor      `json:"invocableBy"`
	InputSchema  json.RawMessage         `json:"inputSchema"`
	OutputSchema json.RawMessage         `json:"outputSchema"`
	Deprecated   *manifest.Deprecation   `json:"deprecated"`
	availability
}

// availability says whether the viewer can call a capability right now.
type availability struct {
	Available bool         `json:"available"`
	Reason    *lock.Reason `json:"reason"`
}

func newEntry(o intake.Offer) entry {
	doc := o.Manifest.Document()
	e := entry{
		Slug: o.Extension.Slug, DisplayName: o.Extension.DisplayName, PartnerExtensionID: wire.OrNull(o.Extension.ID),
		Revision: o.Extension.Revision, Events: doc.Events,
	}
	for _, c := range doc.Commands {
		e.Commands = append(e.Commands, command{
			ID: c.ID, Title: c.Title, Description: c.Description, Kind: c.Kind, InvocableBy: c.InvocableBy,
			InputSchema: c.InputSchema, OutputSchema: c.OutputSchema, Deprecated: c.Deprecated, availability: availabilityOf(o, c.ID),
		})
	}
	for _, q := range doc.Queries {
		e.Queries = append(e.Queries, query{
			ID: q.ID, Title: q.Title, Description: q.Description, InvocableBy: q.InvocableBy,
			InputSchema: q.InputSchema, OutputSchema: q.OutputSchema, Deprecated: q.Deprecated, availability: availabilityOf(o, q.ID),
		})
	}
	return e
}

func availabilityOf(o intake.Offer, id invocation.CapabilityID) availability {
	if r, found := o.Reasons[id]; found {
		return availability{Reason: &r}
	}
	return availability{Available: true}
}
