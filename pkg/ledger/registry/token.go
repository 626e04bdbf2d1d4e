package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A TokenKind says what a token opens (contract section 2).
type TokenKind string

// The kinds of token.
const (
	DeveloperToken TokenKind = "developer" // all sessions of an extension
	AdminToken     TokenKind = "admin"     // the admin API
	MainToken      TokenKind = "main"      // one session's capabilities, for one viewer
)

// A Role is how far a token reaches within its kind.
type Role string

// The roles: of admin tokens the first two, of main page tokens the others.
const (
	RoleFull      Role = "full"
	RoleReadOnly  Role = "read-only"
	RoleWearer    Role = "wearer"
	RoleKeyholder Role = "keyholder"
)

// MainTokenTTL is how long a main page token is valid (contract section 2).
const MainTokenTTL = 12 * time.Hour

// A Token is what is known of an issued token. The token itself is not: only
// its hash is the key.
type Token struct {
	ID        string               `json:"id"`
	Hash      string               `json:"hash"`
	Kind      TokenKind            `json:"kind"`
	Extension invocation.Slug      `json:"extension,omitempty"`
	Session   invocation.SessionID `json:"session,omitempty"`
	Role      Role                 `json:"role,omitempty"`
	Label     string               `json:"label,omitempty"`
	// Prefix is the token's beginning, enough to recognise it and no more.
	Prefix    string    `json:"prefix"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // zero: never
}

// prefixes tell the kinds apart and let secret scanners find leaked tokens.
func (k TokenKind) prefix() string {
	switch k {
	case DeveloperToken:
		return "cdt_"
	case AdminToken:
		return "cat_"
	case MainToken:
		return "cmt_"
	}
	return ""
}

const (
	secretLength   = 43 // base-62 digits of 256 random bits
	checksumLength = 6  // base-62 digits of a CRC-32
)

// NewToken fills in a token's id, hash, prefix and times and returns the secret
// that goes to its holder, once. It is 256 random bits and a checksum, so that
// a scanner tells a token from other text without asking.
func NewToken(t Token, now time.Time) (Token, string) {
	var b [32]byte
	rand.Read(b[:])
	body := t.Kind.prefix() + base62(new(big.Int).SetBytes(b[:]), secretLength)
	secret := body + checksum(body)
	t.ID = string(invocation.NewExtensionID())
	t.Hash, t.Prefix, t.CreatedAt = hash(secret), secret[:10], invocation.Instant(now)
	return t, secret
}

// ImportToken is NewToken for a secret that an operator chose, such as the
// first admin token. It may have any form; of a short one next to nothing is
// kept as its prefix.
func ImportToken(t Token, secret string, now time.Time) Token {
	t.ID = string(invocation.NewExtensionID())
	t.Hash, t.Prefix, t.CreatedAt = hash(secret), secret[:min(4, len(secret)/4)], invocation.Instant(now)
	return t
}

func checksum(body string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), checksumLength)
}

func base62(n *big.Int, width int) string {
	s := n.Text(62)
	return strings.Repeat("0", max(width-len(s), 0)) + s
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// maxSecret bounds what is looked up at all; ours are shorter.
const maxSecret = 256

// Token returns what a secret opens, or Unauthorized. The look-up is by the
// secret's hash, so its time tells nothing of the secrets stored (SEC-65).
func (r *Registry) Token(ctx context.Context, secret string, now time.Time) (Token, error) {
	if secret == "" || len(secret) > maxSecret {
		return Token{}, invocation.Refuse(invocation.Unauthorized)
	}
	v, found, err := r.tokens.get(ctx, hash(secret))
	if err != nil {
		return Token{}, err
	}
	if !found || !v.value.ExpiresAt.IsZero() && !now.Before(v.value.ExpiresAt) {
		return Token{}, invocation.Refuse(invocation.Unauthorized)
	}
	return v.value, nil
}

// StoreToken stores an issued token until it expires.
func (r *Registry) StoreToken(ctx context.Context, t Token) error {
	var ttl time.Duration
	if !t.ExpiresAt.IsZero() {
		ttl = max(t.ExpiresAt.Sub(t.CreatedAt), time.Second) // zero would be for ever
	}
	return r.tokens.create(ctx, t.Hash, t, ttl)
}

// Tokens returns the tokens that match, oldest first, for operators.
func (r *Registry) Tokens(ctx context.Context, match func(Token) bool) ([]Token, error) {
	all, err := r.tokens.list(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t Token) bool { return !match(t) })
	slices.SortFunc(all, func(a, b Token) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// RevokeToken removes the token with this id that also matches, or returns
// ResourceNotFound. It is refused everywhere within five seconds.
func (r *Registry) RevokeToken(ctx context.Context, id string, match func(Token) bool) error {
	found, err := r.Tokens(ctx, func(t Token) bool { return t.ID == id && match(t) })
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return invocation.Refuse(invocation.ResourceNotFound)
	}
	return r.tokens.remove(ctx, found[0].Hash)
}
