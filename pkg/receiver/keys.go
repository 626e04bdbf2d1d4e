package receiver

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// The prefixes of keys and the sizes of a secret in bytes (Standard Webhooks
// 1.0.0).
const (
	secretPrefix  = "whsec_"
	publicPrefix  = "whpk_"
	minSecretSize = 24
	maxSecretSize = 64
)

// The schemes of signatures: HMAC with SHA-256, and ed25519.
const (
	schemeHMAC    = "v1"
	schemeEd25519 = "v1a"
)

// Keys are the keys that signatures are checked with; one that fits is enough.
// They print and log as a placeholder. The zero value holds no key and accepts
// nothing.
type Keys struct {
	// all is a function so that printing a value that holds Keys in a field of
	// its own can't show them: package fmt calls no methods there.
	all func() []key
}

type key struct {
	scheme string
	bytes  []byte
}

// ParseKeys reads keys that are separated by white space or commas, as they
// stand in a setting: secrets ("whsec_" and 24 to 64 bytes in base64) and
// public ed25519 keys ("whpk_" and 32 bytes in base64). While a secret rotates,
// give the new one and the old one. The error, for a text that holds no key or
// a wrong one, does not quote it.
func ParseKeys(text string) (Keys, error) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || '\t' <= r && r <= '\r' })
	if len(fields) == 0 {
		return Keys{}, errors.New("there is no webhook key")
	}
	all := make([]key, 0, len(fields))
	for i, field := range fields {
		k, err := parseKey(field)
		if err != nil {
			return Keys{}, fmt.Errorf("webhook key %d of %d: %w", i+1, len(fields), err)
		}
		all = append(all, k)
	}
	return Keys{all: func() []key { return all }}, nil
}

func parseKey(text string) (key, error) {
	scheme, shortest, longest := schemeHMAC, minSecretSize, maxSecretSize
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		scheme, shortest, longest = schemeEd25519, ed25519.PublicKeySize, ed25519.PublicKeySize
		if encoded, ok = strings.CutPrefix(text, publicPrefix); !ok {
			return key{}, errors.New("it must begin with " + secretPrefix + " or " + publicPrefix)
		}
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return key{}, errors.New("it must be in standard base64")
	}
	if len(raw) < shortest || len(raw) > longest {
		return key{}, fmt.Errorf("it must have %d to %d bytes", shortest, longest)
	}
	return key{scheme, raw}, nil
}

const redacted = "[redacted]"

// String returns a placeholder.
func (k Keys) String() string { return redacted }

// Format writes a placeholder, whatever the verb.
func (k Keys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns a placeholder.
func (k Keys) LogValue() slog.Value { return slog.StringValue(redacted) }
