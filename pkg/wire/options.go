package wire

import (
	"encoding/json"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Options are the choices of an input field (contract section 3).
type Options struct {
	Options []Option `json:"options"`
	HasMore bool     `json:"hasMore"`
}

// An Option is one choice.
type Option struct {
	Value       json.RawMessage `json:"value"`
	Label       string          `json:"label"`
	Description *string         `json:"description"`
}

// NewOptions returns the wire form of a field's options.
func NewOptions(o invocation.Options) Options {
	out := Options{Options: make([]Option, 0, len(o.List)), HasMore: o.HasMore}
	for _, option := range o.List {
		out.Options = append(out.Options, Option{option.Value, option.Label, OrNull(option.Description)})
	}
	return out
}
