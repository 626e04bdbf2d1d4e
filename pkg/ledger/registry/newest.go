package registry

import (
	"context"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Newest returns an extension as the leader knows it, past every cache: what to
// begin from again after a ResourceConflict. It returns ExtensionNotFound for a
// slug nobody has.
func (r *Registry) Newest(ctx context.Context, slug invocation.Slug) (Extension, error) {
	v, found, err := r.extensions.read(ctx, string(slug))
	if err != nil {
		return Extension{}, err
	}
	if !found {
		return Extension{}, invocation.Refuse(invocation.ExtensionNotFound)
	}
	e := v.value
	e.stored = v.revision
	return e, nil
}
