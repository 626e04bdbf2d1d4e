package tools

import (
	"context"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/mcp"
)

// FixedInstructions are what the model is told on the deprecated endpoint.
const FixedInstructions = "This endpoint is deprecated: connect to /mcp/v2, whose invoke_action replaces every tool here."

const (
	nothing  = `{"type":"object","properties":{},"additionalProperties":false}`
	duration = `{"type":"object","required":["durationInSeconds"],"additionalProperties":false,"properties":{"durationInSeconds":` + seconds + `}}`
	seconds  = `{"type":"integer","minimum":1,"maximum":31536000,"description":"In seconds."}`
	pillory  = `{"type":"object","required":["durationInSeconds"],"additionalProperties":false,"properties":{"durationInSeconds":` + seconds +
		`,"reason":{"type":"string","maxLength":500}}}`
	display = `{"type":"object","required":["displayRemainingTime"],"additionalProperties":false,"properties":{"displayRemainingTime":{"type":"boolean"}}}`
)

// Fixed returns the six tools of the deprecated endpoint. They go through the
// same admission as any other call (SEC-104).
func (k *Kit) Fixed() ([]mcp.Tool, error) {
	return k.build([]spec{
		k.fixed("add-time", "Adds time to the lock.", duration),
		k.fixed("remove-time", "Removes time from the lock.", duration),
		k.fixed("freeze", "Freezes the lock.", nothing),
		k.fixed("unfreeze", "Unfreezes the lock.", nothing),
		k.fixed("pillory", "Puts the wearer in the pillory.", pillory),
		k.fixed("set-display-remaining-time", "Shows or hides the remaining time.", display),
	})
}

// fixed is a tool that runs the lock's command of the same name.
func (k *Kit) fixed(name, description, input string) spec {
	return spec{
		name: name, input: input, writes: true, hints: mcp.Annotations{Destructive: true},
		description: description + " Deprecated: use invoke_action with lock." + name + " on /mcp/v2.",
		run: func(ctx context.Context, c intake.Caller, arguments json.RawMessage) (any, error) {
			in, err := renamed(arguments)
			if err != nil {
				return nil, err
			}
			return k.invoke(ctx, c, intake.Call{Command: invocation.CapabilityID("lock." + name), Input: in})
		},
	}
}

// renamed returns the input of a command: what the deprecated tools call
// durationInSeconds is its duration.
func renamed(arguments json.RawMessage) (json.RawMessage, error) {
	members, err := decode[map[string]json.RawMessage](arguments)
	if err != nil {
		return nil, err
	}
	if d, found := members["durationInSeconds"]; found {
		members["duration"] = d
		delete(members, "durationInSeconds")
	}
	return jsonv2.Marshal(members, jsonv2.Deterministic(true))
}
