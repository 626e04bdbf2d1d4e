package schema

import (
	"errors"
	"regexp"
)

// An address is words and dots, an at sign, and a name of two labels at least:
// what is in daily use, and not all that RFC 5321 allows. The library takes an
// address with nothing before the at sign.
var address = regexp.MustCompile(
	"(?i)^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
)

var errEmail = errors.New("is no email address")

// email checks what is said to be an email address.
func email(v any) error {
	if text, ok := v.(string); ok && !address.MatchString(text) {
		return errEmail
	}
	return nil
}
