package egress

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// The sizes of a signing secret, in bytes (Standard Webhooks 1.0.0, SEC-28).
const (
	MinSecretSize = 24
	MaxSecretSize = 64
)

// newSecretSize is the size of the secrets made here.
const newSecretSize = 32

// secretPrefix marks the secrets of the scheme v1, HMAC with SHA-256.
const secretPrefix = "whsec_"

// A Secret signs what is sent to one receiver. It prints and logs as a
// placeholder; [Secret.Reveal] is the only way to its text. The zero value
// holds no key and signs nothing.
type Secret struct {
	// key is behind a function so that printing a value that holds a Secret
	// in a field of its own can't show it: package fmt calls no methods there
	// and follows pointers.
	key func() []byte
}

func holdSecret(raw []byte) Secret { return Secret{key: func() []byte { return raw }} }

// NewSecret returns a random secret.
func NewSecret() Secret {
	raw := make([]byte, newSecretSize)
	_, _ = rand.Read(raw) // never fails
	return holdSecret(raw)
}

// ParseSecret reads the text form: "whsec_" and 24 to 64 bytes in standard
// base64. The error does not quote the text.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		return Secret{}, errors.New("a signing secret must begin with " + secretPrefix)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") { // line breaks pass the decoder
		return Secret{}, errors.New("a signing secret must be in standard base64")
	}
	if len(raw) < MinSecretSize || len(raw) > MaxSecretSize {
		return Secret{}, fmt.Errorf("a signing secret must have %d to %d bytes", MinSecretSize, MaxSecretSize)
	}
	return holdSecret(raw), nil
}

// IsZero reports whether s holds no key.
func (s Secret) IsZero() bool { return s.key == nil }

// Reveal returns the text form, to be shown once to the receiver's owner and
// to be stored encrypted. It is empty for the zero value.
func (s Secret) Reveal() string {
	if s.key == nil {
		return ""
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(s.key())
}

// String returns a placeholder.
func (s Secret) String() string { return redacted }

// Format writes a placeholder, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns a placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
