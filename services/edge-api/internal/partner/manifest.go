package partner

import (
	"context"
	"net/http"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// A manifestAnswer is a manifest as it is served (contract section 5).
type manifestAnswer struct {
	Slug               invocation.Slug         `json:"slug"`
	DisplayName        string                  `json:"displayName"`
	PartnerExtensionID *invocation.ExtensionID `json:"partnerExtensionId"`
	Revision           int                     `json:"revision"`
	Commands           []manifest.Command      `json:"commands"`
	Queries            []manifest.Query        `json:"queries"`
	Events             []manifest.Event        `json:"events"`
	Subscriptions      []string                `json:"subscriptions"`
}

func newManifestAnswer(e registry.Extension, doc *manifest.Document) manifestAnswer {
	return manifestAnswer{
		Slug: e.Slug, DisplayName: e.DisplayName, PartnerExtensionID: wire.OrNull(e.ID), Revision: e.Revision,
		Commands: doc.Commands, Queries: doc.Queries, Events: doc.Events, Subscriptions: doc.Subscriptions,
	}
}

func (a *API) manifest(w http.ResponseWriter, r *http.Request, _ registry.Extension) error {
	slug := invocation.Slug(r.PathValue("slug"))
	e, doc, err := a.offered(r.Context(), slug)
	if err != nil {
		return err
	}
	if doc == nil {
		return invocation.Refuse(invocation.ExtensionNotFound)
	}
	return wire.Answer(w, http.StatusOK, newManifestAnswer(e, doc))
}

// offered returns an extension and its manifest in force, or nil if it has
// none. The lock's own is not served (contract section 3). A built-in's is,
// also before it has behaviour here.
func (a *API) offered(ctx context.Context, slug invocation.Slug) (registry.Extension, *manifest.Document, error) {
	if !invocation.ValidSlug(string(slug)) || slug == lock.Self {
		return registry.Extension{}, nil, invocation.Refuse(invocation.ExtensionNotFound)
	}
	if raw, builtIn := contracts.Manifest(string(slug)); builtIn {
		doc, err := manifest.Decode(raw)
		name, _ := contracts.DisplayName(string(slug))
		return registry.Extension{Slug: slug, DisplayName: name, Revision: 1}, doc, err
	}
	e, compiled, err := a.cfg.Catalog.Offered(ctx, slug)
	if err != nil || compiled == nil {
		return e, nil, err
	}
	return e, compiled.Document(), nil
}

func (a *API) publish(w http.ResponseWriter, r *http.Request, own registry.Extension) error {
	slug := r.PathValue("slug")
	if !invocation.ValidSlug(slug) {
		return invocation.Refuse(invocation.ExtensionNotFound)
	}
	if invocation.Slug(slug) != own.Slug {
		return invocation.Refusef(invocation.Forbidden, "a manifest is published by its own extension")
	}
	body, err := door.Body(w, r)
	if err != nil {
		return err
	}
	for {
		e, doc, err := a.published(r.Context(), own, body)
		if err == nil {
			return wire.Answer(w, http.StatusOK, newManifestAnswer(e, doc))
		}
		if invocation.CodeOf(err) != invocation.ResourceConflict {
			return err
		}
		// Somebody has changed the extension: begin anew from what it is now.
		if own, err = a.cfg.Registry.Newest(r.Context(), own.Slug); err != nil {
			return err
		}
	}
}

// published puts a manifest in force and returns the extension with it. What
// says the same as the manifest in force changes nothing (contract section 5).
func (a *API) published(ctx context.Context, e registry.Extension, body []byte) (registry.Extension, *manifest.Document, error) {
	var previous *manifest.Document
	if e.Revision > 0 {
		compiled, err := a.cfg.Catalog.At(ctx, e.Slug, e.Revision)
		if err != nil {
			return e, nil, err
		}
		previous = compiled.Document()
	}
	doc, err := manifest.Parse(e.Slug, body, previous)
	if err != nil {
		return e, nil, err
	}
	if previous != nil && doc.Equal(previous) {
		return e, previous, nil
	}
	raw, err := doc.MarshalJSON()
	if err != nil {
		return e, nil, err
	}
	e, err = a.cfg.Registry.PublishManifest(ctx, e, registry.Manifest{Document: raw, At: invocation.Instant(a.cfg.Now())})
	return e, doc, err
}
