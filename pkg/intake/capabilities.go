package intake

import (
	"cmp"
	"context"
	"slices"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
)

// An Offer is what one extension on a lock offers to a viewer.
type Offer struct {
	Extension registry.Extension
	Manifest  *manifest.Compiled
	// Reasons has, for every command and query that the viewer cannot call
	// right now, why not.
	Reasons map[invocation.CapabilityID]lock.Reason
}

// Capabilities returns everything offered on the viewer's lock, available or
// not: the lock first, then built-in, then partner extensions, by slug
// (contract section 4). An extension that has published no manifest offers
// nothing and is left out.
func (in *Intake) Capabilities(ctx context.Context, v Viewer) ([]Offer, error) {
	snap, err := in.ledger.Lock(ctx, v.Session.Lock)
	if err != nil {
		return nil, err
	}
	slugs := []invocation.Slug{lock.Self}
	for _, x := range snap.State.Extensions {
		slugs = append(slugs, x.Slug)
	}
	var offers []Offer
	for _, slug := range slugs {
		e, compiled, err := in.offered(ctx, slug)
		if err != nil {
			return nil, err
		}
		if compiled != nil {
			offers = append(offers, Offer{e, compiled, in.reasons(snap.State, e, compiled, v.As)})
		}
	}
	slices.SortStableFunc(offers, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Extension.Slug, b.Extension.Slug))
	})
	return offers, nil
}

// rank orders the lock before the built-ins before the partners.
func rank(o Offer) int {
	switch {
	case o.Extension.Slug == lock.Self:
		return 0
	case o.Extension.ID == "":
		return 1
	}
	return 2
}

// reasons says why a viewer cannot call what is not available, in the order in
// which a call would be refused.
func (in *Intake) reasons(s lock.State, e registry.Extension, m *manifest.Compiled, viewer invocation.Actor) map[invocation.CapabilityID]lock.Reason {
	out := make(map[invocation.CapabilityID]lock.Reason)
	for c := range m.Callables() {
		if !c.Invocable(viewer) {
			out[c.ID] = lock.NotInvocable
		} else if r := in.available(s, e, c.ID); r != "" {
			out[c.ID] = r
		}
	}
	return out
}
