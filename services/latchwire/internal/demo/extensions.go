package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

// What the demo extensions receive: the parts of contract sections 7 and 8
// that they look at.
type webhook struct {
	Event string `json:"event"`
	Data  struct {
		Invocation struct {
			CommandID string          `json:"commandId"`
			Input     json.RawMessage `json:"input"`
		} `json:"invocation"`
		LockEvent struct {
			EventID string          `json:"eventId"`
			Type    string          `json:"type"`
			Depth   int             `json:"depth"`
			Payload json.RawMessage `json:"payload"`
		} `json:"lockEvent"`
	} `json:"data"`
}

// An extension is one demo extension's back end: its manifest, what it answers
// to its commands, and what it does when it hears of an event.
type extension struct {
	slug, name string
	manifest   string
	commands   map[string]func(input json.RawMessage) (answer any)
	// heard returns the command to call because of an event, and its input.
	heard func(w webhook) (command string, input any)

	api     client
	session string
	log     *slog.Logger
}

const wheelManifest = `{
  "commands": [{
    "id": "wheel.spin", "title": "Spin", "description": "Spins the wheel once.", "kind": "game", "invocableBy": ["wearer", "keyholder", "extension"],
    "inputSchema": {"type": "object", "additionalProperties": false, "properties": {"luck": {"type": "integer", "minimum": 1, "maximum": 10}}},
    "outputSchema": {"type": "object", "required": ["segment"], "properties": {"segment": {"type": "string"}}}, "deprecated": null
  }],
  "queries": [],
  "events": [{"id": "wheel.landed", "deprecated": null, "payloadSchema": {
    "type": "object", "title": "The wheel has landed", "required": ["segment", "duration"],
    "properties": {"segment": {"type": "string"}, "duration": {"type": "integer"}}}}],
  "subscriptions": ["lock.*"]
}`

const butlerManifest = `{
  "commands": [{
    "id": "butler.note", "title": "Take a note", "description": "Notes a change of the timer.", "kind": "control", "invocableBy": ["extension"],
    "inputSchema": {"type": "object", "required": ["duration"], "properties": {"duration": {"type": "integer"}}},
    "outputSchema": {"type": "object"}, "deprecated": null
  }],
  "queries": [],
  "events": [{"id": "butler.noted", "deprecated": null, "payloadSchema": {"type": "object", "title": "A note was taken"}}],
  "subscriptions": ["wheel.*"]
}`

const probeManifest = `{
  "commands": [{
    "id": "probe.echo", "title": "Echo", "description": "Any object in, any object out.", "kind": "control", "invocableBy": ["extension"],
    "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}, "deprecated": null
  }],
  "queries": [], "events": [], "subscriptions": []
}`

// probeURL is where people and tests listen for what probe is sent.
const probeURL = "http://127.0.0.1:18999/"

func wheel() *extension {
	return &extension{
		slug: "wheel", name: "Lucky wheel", manifest: wheelManifest,
		commands: map[string]func(json.RawMessage) any{"wheel.spin": spin},
		heard: func(w webhook) (string, any) {
			// Only what came of a spin, so that other changes of the timer stay quiet.
			if w.Data.LockEvent.Type != "lock.time-changed" || w.Data.LockEvent.Depth < 3 {
				return "", nil
			}
			return "butler.note", w.Data.LockEvent.Payload
		},
	}
}

// spin lands on one of four segments.
func spin(json.RawMessage) any {
	minutes := 5 * (1 + rand.IntN(4)) //nolint:gosec // a game
	segment := fmt.Sprintf("%d more minutes", minutes)
	return map[string]any{
		"status": "completed", "result": map[string]any{"segment": segment},
		"events": []any{map[string]any{"type": "wheel.landed", "payload": map[string]any{"segment": segment, "duration": 60 * minutes}}},
	}
}

func butler() *extension {
	return &extension{
		slug: "butler", name: "Butler", manifest: butlerManifest,
		commands: map[string]func(json.RawMessage) any{"butler.note": func(input json.RawMessage) any {
			return map[string]any{
				"status": "completed", "result": map[string]any{},
				"events": []any{map[string]any{"type": "butler.noted", "payload": input}},
			}
		}},
		heard: func(w webhook) (string, any) {
			var landed struct {
				Duration int `json:"duration"`
			}
			if w.Data.LockEvent.Type != "wheel.landed" || json.Unmarshal(w.Data.LockEvent.Payload, &landed) != nil {
				return "", nil
			}
			return "lock.add-time", map[string]any{"duration": landed.Duration}
		},
	}
}

// ServeHTTP answers the extension's webhook.
func (x *extension) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var hook webhook
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&hook); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if run, found := x.commands[hook.Data.Invocation.CommandID]; found {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(run(hook.Data.Invocation.Input)); err != nil {
			x.log.WarnContext(r.Context(), "an answer was not written", slog.Any("error", err))
		}
		return
	}
	if hook.Event == "lock_event.created" {
		if err := x.react(r.Context(), hook); err != nil {
			x.log.WarnContext(r.Context(), "a demo call failed", slog.String("extension", x.slug), slog.Any("error", err))
			w.WriteHeader(http.StatusServiceUnavailable) // it is delivered again
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// react calls on because of an event. The event's id in the key makes a second
// delivery harmless, and as the cause it keeps the chain together.
func (x *extension) react(ctx context.Context, hook webhook) error {
	command, input := x.heard(hook)
	if command == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	event := hook.Data.LockEvent.EventID
	return x.api.call(ctx, http.MethodPost, "/api/extensions/sessions/"+x.session+"/actions/"+command, map[string]any{
		"input": input, "idempotencyKey": event + ":" + command, "causationId": event,
	}, nil)
}
