package registry

import (
	"context"
	"slices"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
)

// The fields of an extension that are sealed. The names are part of what is
// stored: under another one, nothing opens.
const fieldBasicSecret = "basic password"

func fieldOf(s SigningSecret) string { return "signing secret " + s.ID }

// seal returns the extension as it is stored.
func seal(keys sealed.Keys, slug invocation.Slug, e Extension) (Extension, error) {
	var err error
	if e.BasicSecret, err = e.sealOne(keys, slug, fieldBasicSecret, e.BasicSecret); err != nil {
		return Extension{}, err
	}
	e.Secrets = slices.Clone(e.Secrets)
	for i, s := range e.Secrets {
		if e.Secrets[i].Secret, err = e.sealOne(keys, slug, fieldOf(s), s.Secret); err != nil {
			return Extension{}, err
		}
	}
	return e, nil
}

// sealOne leaves what did not open as it was stored: a service without the key
// must not lose it.
func (e Extension) sealOne(keys sealed.Keys, slug invocation.Slug, field, text string) (string, error) {
	if e.unopened[text] != nil {
		return text, nil
	}
	stored, err := keys.Seal(slug, field, text)
	if err != nil {
		return "", invocation.Wrap(invocation.InvalidInput, err)
	}
	return stored, nil
}

// unseal opens the secrets of an extension that was read. What does not open
// stays as it was stored and costs the extension what needs that secret, no
// more: its record, and every list that it is in, can be read.
func unseal(keys sealed.Keys, slug invocation.Slug, e *Extension) {
	e.BasicSecret = e.unsealOne(keys, slug, fieldBasicSecret, e.BasicSecret)
	for i, s := range e.Secrets {
		e.Secrets[i].Secret = e.unsealOne(keys, slug, fieldOf(s), s.Secret)
	}
}

func (e *Extension) unsealOne(keys sealed.Keys, slug invocation.Slug, field, stored string) string {
	secret, err := keys.Open(slug, field, stored)
	if err == nil {
		e.stale = e.stale || !keys.Current(stored)
		return secret
	}
	if e.unopened == nil {
		e.unopened = make(map[string]error)
	}
	e.unopened[stored] = err
	return stored
}

// Unopened returns the slugs of the extensions some of whose secrets don't open.
func (r *Registry) Unopened(ctx context.Context) ([]invocation.Slug, error) {
	all, err := r.Extensions(ctx)
	var slugs []invocation.Slug
	for _, e := range all {
		if len(e.unopened) > 0 {
			slugs = append(slugs, e.Slug)
		}
	}
	return slugs, err
}

// Reseal stores every secret that opens under the first key, so that the others
// can be dropped, and returns how many extensions it changed.
func (r *Registry) Reseal(ctx context.Context) (n int, err error) {
	all, err := r.Extensions(ctx)
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		if !e.stale {
			continue
		}
		if _, err := r.UpdateExtension(ctx, e.Slug, func(*Extension) error { return nil }); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Opened returns why a secret of the extension, as one of its fields has it, is
// still sealed: its key is not among the secrets keys, or it was changed in the
// store. It is nil for a secret that can be used.
func (e Extension) Opened(secret string) error { return e.unopened[secret] }
