package admin

import (
	"net/http"
	"slices"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

const (
	// How long an older secret signs along (SEC-25), unless the request says
	// otherwise, and how long it may.
	rotation    = 24 * time.Hour
	maxRotation = 7 * 24 * time.Hour
	// How many of a scheme sign at a time: each makes a webhook's header longer.
	maxSecrets = 10
	// How much is shown behind the prefix: of a secret's 32 bytes three.
	shownDigits = 4
)

// The prefixes of what is shown: a secret of v1, and the public key of v1a, for
// the private key is shown to nobody.
const (
	secretPrefix = "whsec_"
	publicPrefix = "whpk_"
)

type secretAnswer struct {
	ID        string        `json:"id"`
	Scheme    egress.Scheme `json:"scheme"`
	Prefix    string        `json:"prefix"`
	CreatedAt string        `json:"createdAt"`
	ExpiresAt *string       `json:"expiresAt"`
}

// secretCreated has what the receiver verifies with: the secret itself or, of
// v1a, the public key.
type secretCreated struct {
	secretAnswer
	SigningSecret   string `json:"signingSecret,omitempty"`
	VerificationKey string `json:"verificationKey,omitempty"`
}

func newSecret(scheme egress.Scheme, now time.Time) registry.SigningSecret {
	s := registry.SigningSecret{ID: string(invocation.NewExtensionID()), CreatedAt: now}
	if scheme == egress.SchemeV1a {
		s.Scheme, s.Secret = string(scheme), egress.NewSigningKey().Reveal()
	} else {
		s.Secret = egress.NewSecret().Reveal()
	}
	return s
}

func schemeOf(s registry.SigningSecret) egress.Scheme {
	if s.Scheme == "" {
		return egress.SchemeV1
	}
	return egress.Scheme(s.Scheme)
}

func newSecretAnswer(s registry.SigningSecret) secretAnswer {
	return secretAnswer{
		ID: s.ID, Scheme: schemeOf(s), Prefix: shownOf(s),
		CreatedAt: invocation.FormatTime(s.CreatedAt), ExpiresAt: wire.TimeOrNull(s.ExpiresAt),
	}
}

// shownOf returns the beginning of what the receiver holds. Of a secret that
// does not open it is the prefix alone.
func shownOf(s registry.SigningSecret) string {
	prefix := secretPrefix
	if schemeOf(s) == egress.SchemeV1a {
		prefix = publicPrefix
	}
	secret, err := egress.ParseSecret(s.Secret)
	if err != nil {
		return prefix
	}
	text := secret.VerificationKey()
	if text == "" {
		text = secret.Reveal()
	}
	return text[:len(prefix)+shownDigits]
}

func newSecretCreated(s registry.SigningSecret) (secretCreated, error) {
	secret, err := egress.ParseSecret(s.Secret)
	if err != nil {
		return secretCreated{}, err
	}
	made := secretCreated{secretAnswer: newSecretAnswer(s), VerificationKey: secret.VerificationKey()}
	if secret.Scheme() == egress.SchemeV1 {
		made.SigningSecret = secret.Reveal()
	}
	return made, nil
}

func (a *API) listSecrets(w http.ResponseWriter, r *http.Request) error {
	e, err := a.extension(r)
	if err != nil {
		return err
	}
	var items []secretAnswer
	for _, s := range live(e.Secrets, a.ledger.Now()) {
		items = append(items, newSecretAnswer(s))
	}
	return wire.Answer(w, http.StatusOK, whole(items))
}

func (a *API) createSecret(w http.ResponseWriter, r *http.Request) error {
	slug, err := slugOf(r)
	if err != nil {
		return err
	}
	f, err := door.OptionalObject(w, r)
	if err != nil {
		return err
	}
	scheme, overlap := egress.SchemeV1, rotation
	if text, found := f.OneOf("scheme", string(egress.SchemeV1), string(egress.SchemeV1a)); found {
		scheme = egress.Scheme(text)
	}
	if seconds, found := f.Int("overlapSeconds", 0, int(maxRotation/time.Second)); found {
		overlap = time.Duration(seconds) * time.Second
	}
	if err := f.Err(); err != nil {
		return err
	}
	now := invocation.Instant(a.ledger.Now())
	s := newSecret(scheme, now)
	made, err := newSecretCreated(s)
	if err != nil {
		return err
	}
	_, err = a.registry.UpdateExtension(r.Context(), slug, func(e *registry.Extension) error {
		e.Secrets = rotated(e.Secrets, s, now, overlap)
		return nil
	})
	return ok(w, http.StatusCreated, made, err)
}

func (a *API) revokeSecret(w http.ResponseWriter, r *http.Request) error {
	slug, err := slugOf(r)
	if err != nil {
		return err
	}
	now := a.ledger.Now()
	_, err = a.registry.UpdateExtension(r.Context(), slug, func(e *registry.Extension) (err error) {
		e.Secrets, err = without(live(e.Secrets, now), r.PathValue("secretId"))
		return err
	})
	return noContent(w, err)
}

// live returns the secrets that sign at the time, oldest first.
func live(secrets []registry.SigningSecret, now time.Time) []registry.SigningSecret {
	var out []registry.SigningSecret
	for _, s := range secrets {
		if s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt) {
			out = append(out, s)
		}
	}
	return out
}

// rotated returns the secrets after a new one was added: the older ones of its
// scheme sign along for the overlap, or until they would have stopped. Those of
// the other scheme stay as they are: their receiver has nothing to change to.
func rotated(secrets []registry.SigningSecret, added registry.SigningSecret, now time.Time, overlap time.Duration) []registry.SigningSecret {
	until := now.Add(overlap)
	kept := live(secrets, now)
	surplus := 1 - maxSecrets
	for i, s := range kept {
		if s.Scheme != added.Scheme {
			continue
		}
		surplus++
		if s.ExpiresAt.IsZero() || s.ExpiresAt.After(until) {
			kept[i].ExpiresAt = until
		}
	}
	kept = slices.DeleteFunc(kept, func(s registry.SigningSecret) bool {
		drop := s.Scheme == added.Scheme && surplus > 0
		if drop {
			surplus--
		}
		return drop
	})
	return append(live(kept, now), added) // without an overlap they end here
}

// without returns the secrets but one. It refuses to leave none, or none but
// such as are about to end: webhooks would go out unsigned (SEC-29).
func without(secrets []registry.SigningSecret, id string) ([]registry.SigningSecret, error) {
	at := slices.IndexFunc(secrets, func(s registry.SigningSecret) bool { return s.ID == id })
	if at < 0 {
		return nil, invocation.Refuse(invocation.ResourceNotFound)
	}
	stays := func(s registry.SigningSecret) bool { return s.ExpiresAt.IsZero() }
	gone, kept := secrets[at], slices.Concat(secrets[:at], secrets[at+1:])
	if len(kept) == 0 || stays(gone) && !slices.ContainsFunc(kept, stays) {
		return nil, invocation.Refusef(invocation.ResourceConflict, "it is the last secret that stays: make a new one first")
	}
	return kept, nil
}
