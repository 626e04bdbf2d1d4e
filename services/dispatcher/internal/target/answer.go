package target

import (
	"encoding/json"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// answer is what a target answers (contract section 7). Members we don't know
// are ignored.
type answer struct {
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Events json.RawMessage `json:"events"`
}

type refusal struct {
	Code    *string `json:"code"`
	Message *string `json:"message"`
}

type emission struct {
	Type    invocation.CapabilityID `json:"type"`
	Payload json.RawMessage         `json:"payload"`
}

// Read makes an outcome of a target's HTTP answer, by the manifest revision
// that admitted the call.
func Read(status int, body []byte, command invocation.CapabilityID, offered *manifest.Compiled) invocation.Outcome {
	if status < 200 || status > 299 {
		return invocation.Fails(invocation.TargetError)
	}
	invalid := invocation.LeavesUnknown(invocation.InvalidResponse)
	// The envelope adds levels: what is nested inside is bounded below.
	limits := strictjson.Limits{Bytes: invocation.MaxBody, Depth: invocation.MaxNesting + envelopeLevels}
	var a answer
	if err := strictjson.Decode(body, &a, limits); err != nil {
		return invalid
	}
	switch a.Status {
	case "completed":
		if o, ok := completed(a, command, offered); ok {
			return o
		}
	case "rejected":
		if o, ok := rejected(a); ok {
			return o
		}
	}
	return invalid
}

// envelopeLevels is how deep a payload lies in an answer: the answer, its
// events, the event.
const envelopeLevels = 3

func completed(a answer, command invocation.CapabilityID, offered *manifest.Compiled) (invocation.Outcome, bool) {
	capability, found := offered.Callable(command)
	if !found || !isObject(a.Result) || strictjson.Depth(a.Result) > invocation.MaxNesting {
		return invocation.Outcome{}, false
	}
	if len(capability.Output.Validate(a.Result)) > 0 {
		return invocation.Outcome{}, false
	}
	events, ok := emissions(a.Events, offered)
	return invocation.Completes(a.Result, events...), ok
}

// emissions reads the events that a target says it caused: at most 16, each
// declared in its manifest.
func emissions(raw json.RawMessage, offered *manifest.Compiled) ([]invocation.Emission, bool) {
	if raw == nil {
		return nil, true
	}
	var list []emission
	if raw[0] != '[' || jsonv2.Unmarshal(raw, &list) != nil || len(list) > invocation.MaxEvents {
		return nil, false
	}
	events := make([]invocation.Emission, 0, len(list))
	for _, e := range list {
		declared, found := offered.Event(e.Type)
		if !found || !isObject(e.Payload) || len(e.Payload) > invocation.MaxPayload ||
			strictjson.Depth(e.Payload) > invocation.MaxNesting || len(declared.Payload.Validate(e.Payload)) > 0 {
			return nil, false
		}
		events = append(events, invocation.Emission(e))
	}
	return events, true
}

// rejected reads a refusal. Its message is cut and cleaned rather than turned
// into a doubt about whether the command ran: the target has said no (SEC-22).
func rejected(a answer) (invocation.Outcome, bool) {
	var r refusal
	if !isObject(a.Error) || jsonv2.Unmarshal(a.Error, &r) != nil || r.Code == nil || r.Message == nil {
		return invocation.Outcome{}, false
	}
	code := manifest.CleanText(*r.Code, invocation.MaxFailureCode)
	if code == "" || code != *r.Code || utf8.RuneCountInString(*r.Code) > invocation.MaxFailureCode {
		return invocation.Outcome{}, false
	}
	return invocation.Rejects(code, manifest.CleanText(*r.Message, invocation.MaxFailureText)), true
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
