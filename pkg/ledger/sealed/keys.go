package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"unicode"
)

// KeySize is the size of a key in bytes: AES-256.
const KeySize = 32

// maxKeys bounds a list of keys. A rotation needs two.
const maxKeys = 16

// Keys are the keys that secrets are stored under. They print and log as a
// placeholder. The zero value holds none: it seals nothing and opens what is in
// the clear.
type Keys struct {
	// ring is a function so that printing a value that holds Keys in a field of
	// its own can't show them: package fmt calls no methods there.
	ring func() []key
}

type key struct {
	id   string
	aead cipher.AEAD
}

// ParseKeys reads keys of 32 bytes in standard base64, separated by commas or
// white space: the first seals, all open. A text without a key is an error, as
// is a key that comes twice. The error does not quote the text.
func ParseKeys(text string) (Keys, error) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(fields) == 0 || len(fields) > maxKeys {
		return Keys{}, fmt.Errorf("there are %d keys, must be 1 to %d", len(fields), maxKeys)
	}
	ring := make([]key, 0, len(fields))
	for i, field := range fields {
		k, err := parseKey(field)
		if err == nil && slices.ContainsFunc(ring, func(had key) bool { return had.id == k.id }) {
			err = errors.New("it comes twice")
		}
		if err != nil {
			return Keys{}, fmt.Errorf("key %d of %d: %w", i+1, len(fields), err)
		}
		ring = append(ring, k)
	}
	return Keys{ring: func() []key { return ring }}, nil
}

func parseKey(text string) (key, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return key{}, errors.New("it must be in standard base64")
	}
	if len(raw) != KeySize {
		return key{}, fmt.Errorf("it has %d bytes, must have %d", len(raw), KeySize)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return key{}, fmt.Errorf("make the cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return key{}, fmt.Errorf("make the cipher: %w", err)
	}
	return key{id: idOf(raw), aead: aead}, nil
}

// idOf names a key by a digest of it, which tells nothing of the key.
func idOf(raw []byte) string {
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte("latchwire: id of a secrets key"))
	return hex.EncodeToString(mac.Sum(nil)[:idSize/2])
}

// IsZero reports whether there are no keys.
func (k Keys) IsZero() bool { return k.ring == nil }

// IDs returns the ids of the keys, which may be shown; the first seals.
func (k Keys) IDs() []string {
	if k.ring == nil {
		return nil
	}
	var ids []string
	for _, one := range k.ring() {
		ids = append(ids, one.id)
	}
	return ids
}

const redacted = "[redacted]"

// String returns a placeholder.
func (k Keys) String() string { return redacted }

// Format writes a placeholder, whatever the verb.
func (k Keys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns a placeholder.
func (k Keys) LogValue() slog.Value { return slog.StringValue(redacted) }
