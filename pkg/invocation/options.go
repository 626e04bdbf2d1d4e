package invocation

import (
	"encoding/json"
	"strings"
)

// A Question asks the extension that offers a command or query for the choices
// of one of its input fields on a lock (contract section 5). Nothing of it is
// recorded.
type Question struct {
	Lock     LockID
	Caller   Party
	Target   Party
	Command  CapabilityID
	Revision int
	// Field is the JSON Pointer of the field in the input.
	Field string
	// Search is what the choices are to be narrowed to, or empty.
	Search string
}

// An Option is one choice. Its texts come from a third party.
type Option struct {
	Value       json.RawMessage
	Label       string
	Description string
}

// Options are the choices of a field, at most MaxOptions of them.
type Options struct {
	List []Option
	// HasMore says that a search would find others.
	HasMore bool
}

// ParseField returns the tokens and the JSON Pointer of a field that a caller
// names by its pointer, or by its name when it is at the top level. It returns
// false for what is neither (RFC 6901).
func ParseField(field string) (tokens []string, pointer string, ok bool) {
	if field == "" {
		return nil, "", false
	}
	if field[0] != '/' {
		return []string{field}, "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(field), true
	}
	for token := range strings.SplitSeq(field[1:], "/") {
		plain := strings.NewReplacer("~0", "", "~1", "").Replace(token)
		if strings.Contains(plain, "~") {
			return nil, "", false
		}
		tokens = append(tokens, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return tokens, field, true
}
