package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
)

// builtInRevision is the revision of every built-in manifest; a change of one
// is a change of the contracts.
const builtInRevision = 1

// maxCompiled bounds the compiled manifests that are kept.
const maxCompiled = 2000

// A Catalog finds extensions and their compiled manifests. All methods may be
// called concurrently.
type Catalog struct {
	registry *registry.Registry
	builtIns map[invocation.Slug]builtIn
	compiled *manifest.Cache
}

type builtIn struct {
	extension registry.Extension
	compiled  *manifest.Compiled
}

// New compiles the built-in manifests. An error means that one of them is
// broken, which no input can cause.
func New(r *registry.Registry) (*Catalog, error) {
	c := &Catalog{registry: r, builtIns: make(map[invocation.Slug]builtIn), compiled: manifest.NewCache(maxCompiled)}
	for _, name := range contracts.BuiltIns() {
		slug := invocation.Slug(name)
		if !lock.Implemented(slug) {
			continue
		}
		raw, _ := contracts.Manifest(name)
		doc, err := manifest.Parse(slug, raw, nil)
		if err != nil {
			return nil, fmt.Errorf("built-in manifest %s: %w", name, err)
		}
		compiled, err := manifest.Compile(doc)
		if err != nil {
			return nil, fmt.Errorf("built-in manifest %s: %w", name, err)
		}
		display, _ := contracts.DisplayName(name)
		c.builtIns[slug] = builtIn{
			extension: registry.Extension{Slug: slug, DisplayName: display, Revision: builtInRevision},
			compiled:  compiled,
		}
	}
	return c, nil
}

// BuiltIn reports whether the slug is a built-in's.
func (c *Catalog) BuiltIn(slug invocation.Slug) bool {
	_, found := c.builtIns[slug]
	return found
}

// Reserved reports whether no partner may have the slug: it means something else
// in paths or as a source (SEC-54).
func Reserved(slug invocation.Slug) bool {
	return slices.Contains([]invocation.Slug{"chaster", "system", "sessions"}, slug) || slices.Contains(contracts.BuiltIns(), string(slug))
}

// Offered returns an extension and its manifest in force, which is nil if none
// was published. It returns ExtensionNotFound for a slug nobody has.
func (c *Catalog) Offered(ctx context.Context, slug invocation.Slug) (registry.Extension, *manifest.Compiled, error) {
	if b, found := c.builtIns[slug]; found {
		return b.extension, b.compiled, nil
	}
	e, err := c.registry.Extension(ctx, slug)
	if err != nil || e.Revision == 0 {
		return e, nil, err
	}
	compiled, err := c.At(ctx, slug, e.Revision)
	return e, compiled, err
}

// At returns one revision of an extension's manifest, or ExtensionNotFound.
func (c *Catalog) At(ctx context.Context, slug invocation.Slug, revision int) (*manifest.Compiled, error) {
	if b, found := c.builtIns[slug]; found {
		return b.compiled, nil
	}
	return c.compiled.Get(slug, revision, func() (json.RawMessage, error) {
		m, err := c.registry.Manifest(ctx, slug, revision)
		return m.Document, err
	})
}
