package admin

import (
	"net/http"
	"strings"
	"time"

	"github.com/latchwire/latchwire/pkg/catalog"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// The bounds of what an operator says of an extension.
const (
	maxDisplayName = 60
	maxBasicUser   = 100
	maxBasicSecret = 200
)

// An extensionAnswer is a partner extension as operators see it.
type extensionAnswer struct {
	ID             invocation.ExtensionID `json:"id"`
	Slug           invocation.Slug        `json:"slug"`
	DisplayName    string                 `json:"displayName"`
	WebhookURL     *string                `json:"webhookUrl"`
	OperationalURL *string                `json:"operationalUrl"`
	MaxPerSecond   *int                   `json:"maxPerSecond"`
	BasicUser      *string                `json:"basicUser"`
	Disabled       bool                   `json:"disabled"`
	Endpoint       endpointState          `json:"endpoint"`
	CreatedAt      string                 `json:"createdAt"`
}

type extensionCreated struct {
	extensionAnswer
	SigningSecret string `json:"signingSecret"`
}

func newExtension(e registry.Extension) extensionAnswer {
	return extensionAnswer{
		ID: e.ID, Slug: e.Slug, DisplayName: e.DisplayName, WebhookURL: wire.OrNull(e.WebhookURL),
		OperationalURL: wire.OrNull(e.OperationalURL), MaxPerSecond: wire.OrNull(e.MaxPerSecond), BasicUser: wire.OrNull(e.BasicUser),
		Disabled: !e.Listens(), Endpoint: newEndpointState(e), CreatedAt: invocation.FormatTime(e.CreatedAt),
	}
}

func (a *API) listExtensions(w http.ResponseWriter, r *http.Request) error {
	p, err := readPlace(r)
	if err != nil {
		return err
	}
	all, err := a.registry.Extensions(r.Context())
	bySlug := func(e registry.Extension) string { return string(e.Slug) }
	return ok(w, http.StatusOK, through(cut(all, p, bySlug), newExtension), err)
}

func (a *API) getExtension(w http.ResponseWriter, r *http.Request) error {
	e, err := a.extension(r)
	return ok(w, http.StatusOK, newExtension(e), err)
}

// extension returns the partner extension that the path names. A slug that has
// not the form of one names nothing.
func (a *API) extension(r *http.Request) (registry.Extension, error) {
	slug, err := slugOf(r)
	if err != nil {
		return registry.Extension{}, err
	}
	return a.registry.Extension(r.Context(), slug)
}

func slugOf(r *http.Request) (invocation.Slug, error) {
	slug := r.PathValue("slug")
	if !invocation.ValidSlug(slug) {
		return "", invocation.Refuse(invocation.ExtensionNotFound)
	}
	return invocation.Slug(slug), nil
}

func (a *API) createExtension(w http.ResponseWriter, r *http.Request) error {
	f, err := door.Object(w, r, "")
	if err != nil {
		return err
	}
	now := invocation.Instant(a.ledger.Now())
	secret := newSecret(egress.SchemeV1, now)
	e := registry.Extension{ID: invocation.NewExtensionID(), Secrets: []registry.SigningSecret{secret}, CreatedAt: now}
	f.Require("slug", "displayName")
	slug, _ := f.Text("slug")
	e.Slug = invocation.Slug(slug)
	switch {
	case !invocation.ValidSlug(slug):
		f.Wrong("slug", `must match pattern "^[a-z0-9-]{1,40}$"`)
	case catalog.Reserved(e.Slug):
		f.Wrong("slug", "must NOT be the slug of a built-in extension")
	}
	describeName(f, &e)
	a.describe(f, &e)
	if err := f.Err(); err != nil {
		return err
	}
	if err := a.registry.CreateExtension(r.Context(), e); err != nil {
		if refusal := invocation.AsError(err); refusal.Code == invocation.ResourceConflict {
			return invocation.Refusef(invocation.ResourceConflict, "the slug is taken").With("field", "slug")
		}
		return err
	}
	return wire.Answer(w, http.StatusCreated, extensionCreated{newExtension(e), secret.Secret})
}

func (a *API) patchExtension(w http.ResponseWriter, r *http.Request) error {
	slug, err := slugOf(r)
	if err != nil {
		return err
	}
	e, err := a.edit(w, r, slug, (*patch).read)
	return ok(w, http.StatusOK, newExtension(e), err)
}

// edit changes what the request's body says of an extension and has its
// endpoint looked at, which may have something kept back for it.
func (a *API) edit(w http.ResponseWriter, r *http.Request, slug invocation.Slug, read func(*patch, *API, *door.Fields)) (registry.Extension, error) {
	f, err := door.Object(w, r, "")
	if err != nil {
		return registry.Extension{}, err
	}
	if f.Empty() {
		f.Wrong("", "must NOT have fewer than 1 properties")
	}
	var edit patch
	read(&edit, a, f)
	if err := f.Err(); err != nil {
		return registry.Extension{}, err
	}
	now := invocation.Instant(a.ledger.Now())
	e, err := a.registry.UpdateExtension(r.Context(), slug, func(e *registry.Extension) error {
		edit.apply(e, now)
		return nil
	})
	if err == nil && (edit.url != nil || edit.disabled != nil) {
		err = a.ledger.CheckEndpoint(r.Context(), slug)
	}
	return e, err
}

// A patch is what is to be changed of an extension; nil changes nothing.
type patch struct {
	name, url, operational *string
	maxPerSecond           *int
	basic                  *egress.Credentials
	disabled               *bool
}

// read reads what operators may change. Null clears what may be absent.
func (p *patch) read(a *API, f *door.Fields) {
	p.readEndpoint(a, f)
	var e registry.Extension
	if describeName(f, &e) {
		p.name = &e.DisplayName
	}
	if disabled, found := f.Bool("disabled"); found {
		p.disabled = &disabled
	}
}

// readEndpoint reads what owners may change, too.
func (p *patch) readEndpoint(a *API, f *door.Fields) {
	var set registry.Extension
	clearURL, clearOperational, clearBasic := f.Null("webhookUrl"), f.Null("operationalUrl"), f.Null("basic")
	clearRate := f.Null("maxPerSecond")
	has := a.describe(f, &set)
	if has.url || clearURL {
		p.url = &set.WebhookURL
	}
	if has.operational || clearOperational {
		p.operational = &set.OperationalURL
	}
	if has.rate || clearRate {
		p.maxPerSecond = &set.MaxPerSecond
	}
	if has.basic || clearBasic {
		p.basic = &egress.Credentials{User: set.BasicUser, Password: set.BasicSecret}
	}
}

func (p *patch) apply(e *registry.Extension, now time.Time) {
	if p.name != nil {
		e.DisplayName = *p.name
	}
	if p.url != nil {
		e.Move(*p.url, now)
	}
	if p.operational != nil {
		e.OperationalURL = *p.operational
	}
	if p.maxPerSecond != nil {
		e.MaxPerSecond = *p.maxPerSecond
	}
	if p.basic != nil {
		e.BasicUser, e.BasicSecret = p.basic.User, p.basic.Password
	}
	switch {
	case p.disabled == nil:
	case *p.disabled:
		e.Disable()
	default:
		e.Enable(now)
	}
}

// describeName reads an extension's name.
func describeName(f *door.Fields, e *registry.Extension) (found bool) {
	if e.DisplayName, found = f.Text("displayName"); found {
		f.Within("displayName", e.DisplayName, 1, maxDisplayName)
		if manifest.CleanText(e.DisplayName, len(e.DisplayName)) != e.DisplayName {
			f.Wrong("displayName", "must NOT have control, bidirectional or tag characters")
		}
	}
	return found
}

// described says which members a description of an endpoint had.
type described struct{ url, operational, rate, basic bool }

// mostPerSecond is the highest bound of an endpoint's deliveries.
const mostPerSecond = 1000

// describe reads what making an extension and changing its endpoint have in
// common.
func (a *API) describe(f *door.Fields, e *registry.Extension) (has described) {
	e.WebhookURL, has.url = a.callable(f, "webhookUrl")
	e.OperationalURL, has.operational = a.callable(f, "operationalUrl")
	e.MaxPerSecond, has.rate = f.Int("maxPerSecond", 1, mostPerSecond)
	basic, found := f.Nested("basic", "user", "password")
	if has.basic = found; !found {
		return has
	}
	e.BasicUser, _ = basic.Text("user")
	e.BasicSecret, _ = basic.Text("password")
	basic.Within("user", e.BasicUser, 1, maxBasicUser)
	basic.Within("password", e.BasicSecret, 1, maxBasicSecret)
	if err := (egress.Credentials{User: e.BasicUser, Password: e.BasicSecret}).Validate(); err != nil && e.BasicUser != "" {
		for line := range strings.Lines(err.Error()) {
			f.Wrong("basic", "%s", strings.TrimSpace(line))
		}
	}
	return has
}

// callable reads a URL that may be called.
func (a *API) callable(f *door.Fields, name string) (url string, found bool) {
	if url, found = f.Text(name); found {
		if _, err := a.policy.CheckURL(url); err != nil {
			f.Wrong(name, "%s", err.Error())
		}
	}
	return url, found
}
