package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// An Extension is an application that can be installed on locks.
type Extension struct {
	ID          invocation.ExtensionID `json:"id,omitempty"` // empty for a built-in
	Slug        invocation.Slug        `json:"slug"`
	DisplayName string                 `json:"displayName"`
	WebhookURL  string                 `json:"webhookUrl,omitempty"`
	BasicUser   string                 `json:"basicUser,omitempty"`
	BasicSecret string                 `json:"basicSecret,omitempty"`
	Secrets     []SigningSecret        `json:"secrets,omitempty"`
	Disabled    bool                   `json:"disabled,omitempty"`
	// OperationalURL is where the owner is told how the endpoint fares; empty
	// for nowhere.
	OperationalURL string `json:"operationalUrl,omitempty"`
	// MaxPerSecond bounds the deliveries that the endpoint is sent; zero for no
	// bound.
	MaxPerSecond int      `json:"perSecond,omitempty"`
	Endpoint     Endpoint `json:"endpoint,omitzero"`
	// Revision is that of the manifest in force; zero means that none was published.
	Revision  int       `json:"revision,omitempty"`
	CreatedAt time.Time `json:"createdAt"`

	stored   uint64           // the bucket's revision, for compare-and-set
	unopened map[string]error // why secrets did not open, by what is stored; never changed
	stale    bool             // whether what is stored is not sealed under the first key
}

// A SigningSecret signs what is sent to an extension's webhook. Several may be
// live, so that they can be rotated without a gap (SEC-25).
type SigningSecret struct {
	ID string `json:"id"`
	// Scheme is the one of Standard Webhooks that it signs by; empty for v1. It
	// is known also of a secret that did not open.
	Scheme    string    `json:"scheme,omitempty"`
	Secret    string    `json:"secret"` // with its whsec_ or whsk_ prefix
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // zero: never
}

// Live returns the secrets that sign at the time, newest first.
func (e Extension) Live(now time.Time) []SigningSecret {
	var live []SigningSecret
	for _, s := range slices.Backward(e.Secrets) {
		if s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt) {
			live = append(live, s)
		}
	}
	return live
}

// Party returns the extension as one side of an invocation on a lock.
func (e Extension) Party(session invocation.SessionID) invocation.Party {
	return invocation.Party{Slug: e.Slug, Partner: e.ID, Session: session}
}

// Extension returns an extension, or ExtensionNotFound.
func (r *Registry) Extension(ctx context.Context, slug invocation.Slug) (Extension, error) {
	return extension(ctx, slug, r.extensions.get)
}

// Newest returns an extension as the leader knows it, past every cache: what to
// begin from again after a ResourceConflict. It returns ExtensionNotFound for a
// slug nobody has.
func (r *Registry) Newest(ctx context.Context, slug invocation.Slug) (Extension, error) {
	return extension(ctx, slug, r.extensions.read)
}

// extension reads by one of the bucket's ways.
func extension(ctx context.Context, slug invocation.Slug, read func(context.Context, string) (stored[Extension], bool, error)) (Extension, error) {
	if !invocation.ValidSlug(string(slug)) {
		return Extension{}, invocation.Refuse(invocation.ExtensionNotFound)
	}
	v, found, err := read(ctx, string(slug))
	if err != nil {
		return Extension{}, err
	}
	if !found {
		return Extension{}, invocation.Refuse(invocation.ExtensionNotFound)
	}
	v.value.stored = v.revision
	return v.value, nil
}

// Extensions returns all extensions by slug, for operators.
func (r *Registry) Extensions(ctx context.Context) ([]Extension, error) {
	all, err := r.extensions.list(ctx)
	slices.SortFunc(all, func(a, b Extension) int { return cmp.Compare(a.Slug, b.Slug) })
	return all, err
}

// CreateExtension stores a new extension. It returns ResourceConflict if the
// slug is taken: a slug belongs to one extension for ever.
func (r *Registry) CreateExtension(ctx context.Context, e Extension) error {
	if !invocation.ValidSlug(string(e.Slug)) {
		return invocation.Refuse(invocation.InvalidInput)
	}
	return r.extensions.create(ctx, string(e.Slug), e, 0)
}

// UpdateExtension changes an extension as change says, which is asked again
// with the newer value when somebody else got in first. It returns the value
// stored, ExtensionNotFound, or change's own error.
func (r *Registry) UpdateExtension(ctx context.Context, slug invocation.Slug, change func(*Extension) error) (Extension, error) {
	for {
		e, err := r.Newest(ctx, slug)
		if err != nil {
			return Extension{}, err
		}
		if err := change(&e); err != nil {
			return Extension{}, err
		}
		e.stored, err = r.extensions.update(ctx, string(slug), stored[Extension]{e, e.stored})
		if err == nil {
			return e, nil
		}
		if invocation.CodeOf(err) != invocation.ResourceConflict {
			return Extension{}, err
		}
	}
}

// A Manifest is one published revision of an extension's manifest.
type Manifest struct {
	Slug     invocation.Slug `json:"slug"`
	Revision int             `json:"revision"`
	Document json.RawMessage `json:"document"`
	At       time.Time       `json:"at"`
}

// Manifest returns one revision of an extension's manifest, or ExtensionNotFound.
func (r *Registry) Manifest(ctx context.Context, slug invocation.Slug, revision int) (Manifest, error) {
	if !invocation.ValidSlug(string(slug)) {
		return Manifest{}, invocation.Refuse(invocation.ExtensionNotFound)
	}
	v, found, err := r.manifests.get(ctx, manifestKey(slug, revision))
	if err != nil {
		return Manifest{}, err
	}
	if !found {
		return Manifest{}, invocation.Refuse(invocation.ExtensionNotFound)
	}
	return v.value, nil
}

// PublishManifest stores the next revision of an extension's manifest and puts
// it in force. ResourceConflict says that somebody else has changed the
// extension since e was read.
//
// A stored revision is never replaced (SEC-56). One that stands there already
// is another publisher's, who may have died before it was in force: it is put
// in force in their place, and the caller's own comes after it.
func (r *Registry) PublishManifest(ctx context.Context, e Extension, m Manifest) (Extension, error) {
	m.Slug, m.Revision = e.Slug, e.Revision+1
	taken := r.manifests.create(ctx, manifestKey(m.Slug, m.Revision), m, 0)
	if taken != nil && invocation.CodeOf(taken) != invocation.ResourceConflict {
		return Extension{}, taken
	}
	e.Revision = m.Revision
	var err error
	if e.stored, err = r.extensions.update(ctx, string(e.Slug), stored[Extension]{e, e.stored}); err != nil {
		return Extension{}, err
	}
	return e, taken
}

func manifestKey(slug invocation.Slug, revision int) string {
	return string(slug) + "." + strconv.Itoa(revision)
}
