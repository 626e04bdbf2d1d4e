package egress

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// A Scheme is a way to sign, named as the signatures in the header are.
type Scheme string

// The schemes of Standard Webhooks 1.0.0.
const (
	// SchemeV1 is HMAC with SHA-256: sender and receiver share the secret.
	SchemeV1 Scheme = "v1"
	// SchemeV1a is ed25519: the receiver holds the public key only (SEC-26).
	SchemeV1a Scheme = "v1a"
)

// The sizes of a signing secret of v1, in bytes (Standard Webhooks 1.0.0,
// SEC-28).
const (
	MinSecretSize = 24
	MaxSecretSize = 64
)

// newSecretSize is the size of the secrets made here.
const newSecretSize = 32

// The prefixes tell secrets of v1, private keys of v1a and public keys apart.
const (
	secretPrefix     = "whsec_"
	signingKeyPrefix = "whsk_"
	publicKeyPrefix  = "whpk_"
)

// A Secret signs what is sent to one receiver, by the scheme that it is for. It
// prints and logs as a placeholder; [Secret.Reveal] is the only way to its
// text. The zero value holds no key and signs nothing.
type Secret struct {
	// key is behind a function so that printing a value that holds a Secret
	// in a field of its own can't show it: package fmt calls no methods there
	// and follows pointers.
	key    func() []byte
	scheme Scheme
}

func holdSecret(scheme Scheme, raw []byte) Secret {
	return Secret{key: func() []byte { return raw }, scheme: scheme}
}

// NewSecret returns a random secret of v1.
func NewSecret() Secret {
	raw := make([]byte, newSecretSize)
	_, _ = rand.Read(raw) // never fails
	return holdSecret(SchemeV1, raw)
}

// NewSigningKey returns a random private key of v1a.
func NewSigningKey() Secret {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	return holdSecret(SchemeV1a, ed25519.NewKeyFromSeed(seed))
}

// ParseSecret reads the text form. For v1 that is "whsec_" and 24 to 64 bytes
// in standard base64. For v1a it is "whsk_" and the 64 bytes of an ed25519 key:
// the seed and the public key. The specification speaks of a key pair and gives
// no layout; its example signature was made with a key of this one, which is
// also that of [ed25519.PrivateKey]. The error does not quote the text.
func ParseSecret(text string) (Secret, error) {
	scheme := SchemeV1
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		scheme = SchemeV1a
		if encoded, ok = strings.CutPrefix(text, signingKeyPrefix); !ok {
			return Secret{}, errors.New("a signing secret must begin with " + secretPrefix + " or " + signingKeyPrefix)
		}
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") { // line breaks pass the decoder
		return Secret{}, errors.New("a signing secret must be in standard base64")
	}
	if scheme == SchemeV1a {
		return holdSigningKey(raw)
	}
	if len(raw) < MinSecretSize || len(raw) > MaxSecretSize {
		return Secret{}, fmt.Errorf("a signing secret must have %d to %d bytes", MinSecretSize, MaxSecretSize)
	}
	return holdSecret(scheme, raw), nil
}

// holdSigningKey refuses a pair whose halves are not one key's: what it signs
// would verify with neither.
func holdSigningKey(raw []byte) (Secret, error) {
	if len(raw) != ed25519.PrivateKeySize {
		return Secret{}, fmt.Errorf("a signing key must have %d bytes", ed25519.PrivateKeySize)
	}
	if !bytes.Equal(ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize]), raw) {
		return Secret{}, errors.New("a signing key must end with its own public key")
	}
	return holdSecret(SchemeV1a, raw), nil
}

// IsZero reports whether s holds no key.
func (s Secret) IsZero() bool { return s.key == nil }

// Reveal returns the text form, to be stored encrypted and, for v1 only, to be
// shown once to the receiver's owner. It is empty for the zero value.
func (s Secret) Reveal() string {
	if s.key == nil {
		return ""
	}
	prefix := secretPrefix
	if s.scheme == SchemeV1a {
		prefix = signingKeyPrefix
	}
	return prefix + base64.StdEncoding.EncodeToString(s.key())
}

// Scheme returns the scheme that s signs by, empty for the zero value.
func (s Secret) Scheme() Scheme { return s.scheme }

// VerificationKey returns what the receiver of v1a signatures verifies them
// with: "whpk_" and the 32 bytes of the public key in standard base64. It may
// be shown to anybody. It is empty for the other scheme and the zero value.
func (s Secret) VerificationKey() string {
	if s.scheme != SchemeV1a {
		return ""
	}
	return publicKeyPrefix + base64.StdEncoding.EncodeToString(s.key()[ed25519.SeedSize:])
}

// String returns a placeholder.
func (s Secret) String() string { return redacted }

// Format writes a placeholder, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns a placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
