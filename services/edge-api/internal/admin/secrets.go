package admin

import (
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/wire"
)

const (
	// How long an older secret signs along (SEC-25).
	rotation = 24 * time.Hour
	// How many sign at a time: each makes a webhook's header longer.
	maxSecrets = 10
	// How much of a secret is shown: of its 32 bytes three.
	secretPrefix = len("whsec_") + 4
)

type secretAnswer struct {
	ID        string  `json:"id"`
	Prefix    string  `json:"prefix"`
	CreatedAt string  `json:"createdAt"`
	ExpiresAt *string `json:"expiresAt"`
}

type secretCreated struct {
	secretAnswer
	SigningSecret string `json:"signingSecret"`
}

func newSecret(now time.Time) registry.SigningSecret {
	return registry.SigningSecret{ID: string(invocation.NewExtensionID()), Secret: egress.NewSecret().Reveal(), CreatedAt: now}
}

func newSecretAnswer(s registry.SigningSecret) secretAnswer {
	return secretAnswer{
		ID: s.ID, Prefix: s.Secret[:min(secretPrefix, len(s.Secret))],
		CreatedAt: invocation.FormatTime(s.CreatedAt), ExpiresAt: wire.TimeOrNull(s.ExpiresAt),
	}
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
	now := invocation.Instant(a.ledger.Now())
	s := newSecret(now)
	_, err = a.registry.UpdateExtension(r.Context(), slug, func(e *registry.Extension) error {
		e.Secrets = rotated(e.Secrets, s, now)
		return nil
	})
	return ok(w, http.StatusCreated, secretCreated{newSecretAnswer(s), s.Secret}, err)
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

// rotated returns the secrets after a new one was added: the older ones sign
// for another day, or until they would have stopped.
func rotated(secrets []registry.SigningSecret, added registry.SigningSecret, now time.Time) []registry.SigningSecret {
	kept := live(secrets, now)
	kept = kept[max(0, len(kept)-maxSecrets+1):]
	for i := range kept {
		if kept[i].ExpiresAt.IsZero() {
			kept[i].ExpiresAt = now.Add(rotation)
		}
	}
	return append(kept, added)
}
