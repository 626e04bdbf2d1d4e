package service

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// A Secret is a setting that no log, error or help text may show: whatever
// prints or encodes it shows a placeholder, or nothing when it is empty
// (SEC-117). Only [Secret.Reveal] gives the value away.
type Secret string

// Reveal returns the value itself, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String returns the placeholder.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format writes the placeholder for every verb, %x and %#v included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText encodes the placeholder, for JSON too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue logs the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
