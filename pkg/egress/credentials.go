package egress

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

// redacted stands for a secret wherever one would be printed.
const redacted = "[redacted]"

// Credentials are a target's user and password for Basic authentication
// (RFC 7617). They print, log and marshal as a placeholder. The zero value
// means none.
type Credentials struct {
	User     string `json:"-"`
	Password string `json:"-"`
}

// IsZero reports whether there are no credentials.
func (c Credentials) IsZero() bool { return c == Credentials{} }

// Validate returns everything that is wrong with c in one error, which quotes
// neither field. A user with a colon could not be told from the password
// (S-33).
func (c Credentials) Validate() error {
	var problems []error
	if c.User == "" && c.Password != "" {
		problems = append(problems, errors.New("the user must not be empty"))
	}
	if strings.Contains(c.User, ":") {
		problems = append(problems, errors.New("the user must not contain a colon"))
	}
	for name, value := range map[string]string{"user": c.User, "password": c.Password} {
		if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
			problems = append(problems, fmt.Errorf("the %s must be UTF-8 without control characters", name))
		}
	}
	return errors.Join(problems...)
}

// header returns the value of the Authorization field.
func (c Credentials) header() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.User+":"+c.Password))
}

// String returns a placeholder.
func (c Credentials) String() string { return redacted }

// Format writes a placeholder, whatever the verb.
func (c Credentials) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns a placeholder.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(redacted) }
