package registry_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

func TestTokenForm(t *testing.T) {
	t.Parallel()
	for kind, prefix := range map[registry.TokenKind]string{registry.DeveloperToken: "cdt_", registry.AdminToken: "cat_", registry.MainToken: "cmt_"} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			form := regexp.MustCompile(`^` + prefix + `[0-9A-Za-z]{49}$`)
			seen := map[string]bool{}
			now := time.Now()
			for range 200 {
				tok, secret := registry.NewToken(registry.Token{Kind: kind}, now)
				if !form.MatchString(secret) || seen[secret] || seen[tok.ID] {
					t.Fatalf("got the secret %q, want %s and new", secret, form)
				}
				if !registry.LooksIssued(secret) || registry.LooksIssued(secret[:len(secret)-1]+"!") || registry.LooksIssued(prefix+"0"+secret[5:]) && secret[4] != '0' {
					t.Errorf("got a checksum that does not tell %q from another", secret)
				}
				if tok.Prefix != secret[:10] || strings.Contains(tok.Hash, secret) || !invocation.ValidID(tok.ID) || !tok.CreatedAt.Equal(invocation.Instant(now)) {
					t.Errorf("got the token %+v", tok)
				}
				seen[secret], seen[tok.ID] = true, true
			}
		})
	}
}

func TestImportedTokenOpensWhatItsSecretSays(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	for _, secret := range []string{"an operator's choice", "abc", "x"} {
		tok := registry.ImportToken(registry.Token{Kind: registry.AdminToken, Role: registry.RoleFull}, secret, time.Now())
		if err := env.Registry.StoreToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if got, err := env.Registry.Token(t.Context(), secret, time.Now()); err != nil || got.Role != registry.RoleFull {
			t.Errorf("got %+v, %v", got, err)
		}
		if len(tok.Prefix) > len(secret)/4 {
			t.Errorf("got the prefix %q of %q, want little of it", tok.Prefix, secret)
		}
		wantCode(t, env.Registry.StoreToken(t.Context(), tok), invocation.ResourceConflict) // at the next start
	}
}

// Nothing that is stored holds a secret (contract section 2, SEC-65).
func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	tok, secret := issue(t, env.Registry)
	imported := registry.ImportToken(registry.Token{Kind: registry.AdminToken}, "correct horse", time.Now())
	if err := env.Registry.StoreToken(t.Context(), imported); err != nil {
		t.Fatal(err)
	}
	all := storedBytes(t, env, "tokens")
	if !strings.Contains(all, tok.Hash) {
		t.Fatal("got no hash, want the bucket's contents")
	}
	for _, part := range []string{secret, secret[4:], secret[:20], secret[20:40], "correct", "horse"} {
		if strings.Contains(all, part) {
			t.Errorf("got %q stored", part)
		}
	}
}

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	now := time.Now()
	tok, secret := registry.NewToken(registry.Token{Kind: registry.MainToken, Session: "ses_a", Role: registry.RoleWearer, ExpiresAt: now.Add(registry.MainTokenTTL)}, now)
	if err := env.Registry.StoreToken(t.Context(), tok); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		after time.Duration
		ok    bool
	}{
		"at once":       {0, true},
		"just before":   {registry.MainTokenTTL - time.Millisecond, true},
		"at its end":    {registry.MainTokenTTL, false},
		"after its end": {registry.MainTokenTTL + time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := env.Registry.Token(t.Context(), secret, now.Add(tc.after))
			if (err == nil) != tc.ok || tc.ok && got.Session != "ses_a" {
				t.Errorf("got %+v, %v; want it accepted: %v", got, err, tc.ok)
			}
			if !tc.ok {
				wantCode(t, err, invocation.Unauthorized)
			}
		})
	}
}

// The store forgets an expired token by itself, and the caches follow.
func TestExpiredTokenIsForgotten(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		now := time.Now()
		for name, ttl := range map[string]time.Duration{"in a second": time.Second, "expired when it is stored": -time.Hour} {
			tok, secret := registry.NewToken(registry.Token{Kind: registry.MainToken, ExpiresAt: now.Add(ttl)}, now)
			if err := one.Registry.StoreToken(t.Context(), tok); err != nil {
				t.Fatal(err)
			}
			brokertest.Eventually(t, within, "the token is gone: "+name, func() bool {
				left, err := other.Registry.Tokens(t.Context(), func(registry.Token) bool { return true })
				return err == nil && len(left) == 0
			})
			// Also for a reader whose clock is far behind.
			brokertest.Eventually(t, within, "the caches have forgotten it: "+name, func() bool {
				_, err := one.Registry.Token(t.Context(), secret, now.Add(-24*time.Hour))
				return err != nil && invocation.CodeOf(err) == invocation.Unauthorized
			})
		}
	})
}

func TestTokensAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	now := time.Now()
	var ids []string
	for i, slug := range []invocation.Slug{"a", "b", "a"} {
		tok, _ := registry.NewToken(registry.Token{Kind: registry.DeveloperToken, Extension: slug, Label: "l"}, now.Add(time.Duration(i)*time.Minute))
		if err := env.Registry.StoreToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, tok.ID)
	}
	ofA := func(t registry.Token) bool { return t.Extension == "a" }
	got, err := env.Registry.Tokens(t.Context(), ofA)
	if err != nil || len(got) != 2 || got[0].ID != ids[0] || got[1].ID != ids[2] {
		t.Fatalf("got %+v, %v; want the two of a, oldest first", got, err)
	}
	wantCode(t, env.Registry.RevokeToken(t.Context(), ids[1], ofA), invocation.ResourceNotFound) // another's
	wantCode(t, env.Registry.RevokeToken(t.Context(), "nobody", ofA), invocation.ResourceNotFound)
	if err := env.Registry.RevokeToken(t.Context(), ids[0], ofA); err != nil {
		t.Fatal(err)
	}
	wantCode(t, env.Registry.RevokeToken(t.Context(), ids[0], ofA), invocation.ResourceNotFound)
	all, err := env.Registry.Tokens(t.Context(), func(registry.Token) bool { return true })
	if err != nil || len(all) != 2 {
		t.Errorf("got %+v, %v; want two left", all, err)
	}
}
