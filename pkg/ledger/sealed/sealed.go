package sealed

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// prefix marks a sealed text and its version.
const prefix = "sealed1."

// idSize is the length of a key's id.
const idSize = 8

// Is reports whether a text is marked as sealed.
func Is(text string) bool { return strings.HasPrefix(text, prefix) }

// Seal returns what is to be stored of a secret: sealed under the first key,
// each time anew. Only [Keys.Open] with the same slug and field gives the secret
// back. An empty secret stays empty, and without keys every secret stays as it
// is; one that then would read as sealed is an error.
func (k Keys) Seal(slug invocation.Slug, field, secret string) (string, error) {
	if secret == "" {
		return "", nil
	}
	if k.IsZero() {
		if Is(secret) {
			return "", errors.New("a secret in the clear must not begin as a sealed one does")
		}
		return secret, nil
	}
	first := k.ring()[0]
	box := first.aead.Seal(nil, nil, []byte(secret), bound(slug, field))
	return prefix + first.id + "." + base64.StdEncoding.EncodeToString(box), nil
}

// Open returns the secret of a stored text. A text in the clear is the secret
// itself. It is an error, which names the key and quotes nothing else, if the
// text was sealed under a key that is not among these, for another extension or
// field, or has been changed since.
func (k Keys) Open(slug invocation.Slug, field, stored string) (string, error) {
	rest, found := strings.CutPrefix(stored, prefix)
	if !found {
		return stored, nil
	}
	id, encoded, found := strings.Cut(rest, ".")
	box, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !found || err != nil || !validID(id) {
		return "", fmt.Errorf("%s of %s is no sealed text", field, slug)
	}
	for _, one := range k.keys() {
		if one.id != id {
			continue
		}
		secret, err := one.aead.Open(nil, nil, box, bound(slug, field))
		if err != nil {
			return "", fmt.Errorf("%s of %s does not open with the key %s: it was changed or belongs elsewhere", field, slug, id)
		}
		return string(secret), nil
	}
	return "", fmt.Errorf("%s of %s is sealed with the key %s, which is not among the secrets keys", field, slug, id)
}

// Current reports whether a text is stored as [Keys.Seal] would store it now: not
// in the clear, and not under a key that only opens.
func (k Keys) Current(stored string) bool {
	if stored == "" || k.IsZero() {
		return true
	}
	return strings.HasPrefix(stored, prefix+k.ring()[0].id+".")
}

func (k Keys) keys() []key {
	if k.ring == nil {
		return nil
	}
	return k.ring()
}

// validID reports whether a text may be a key's id, so that an error quotes
// nothing else.
func validID(id string) bool {
	return len(id) == idSize && strings.Trim(id, "0123456789abcdef") == ""
}

// bound is what a sealed text is tied to. A slug has no zero byte.
func bound(slug invocation.Slug, field string) []byte {
	return []byte(prefix + "\x00" + string(slug) + "\x00" + field)
}
