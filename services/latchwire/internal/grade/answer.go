package grade

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// checkAnswer says what is wrong with a target's answer to a call, by schema
// webhook-answer. Whether it fits the target's own manifest, nobody here knows.
func checkAnswer(body []byte) error {
	var a struct {
		Status string          `json:"status"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
		Events json.RawMessage `json:"events"`
	}
	if len(body) > invocation.MaxBody {
		return fmt.Errorf("it has more than %d bytes", invocation.MaxBody)
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return errors.New("it is not a JSON object with status, result, error and events")
	}
	switch a.Status {
	case "completed":
		if !isObject(a.Result) {
			return errors.New("result must be an object")
		}
		return checkEvents(a.Events)
	case "rejected":
		return checkRefusal(a.Error)
	}
	return errors.New("status must be completed or rejected")
}

func checkEvents(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var events []struct {
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(raw, &events); err != nil || events == nil {
		return errors.New("events must be a list of objects with type and payload")
	}
	if len(events) > invocation.MaxEvents {
		return fmt.Errorf("there may be %d events at most", invocation.MaxEvents)
	}
	for i, e := range events {
		if !invocation.ValidCapability(e.Type) || !isObject(e.Payload) {
			return fmt.Errorf("event %d must have a type such as my-ext.done, and an object as its payload", i)
		}
	}
	return nil
}

func checkRefusal(raw json.RawMessage) error {
	var refusal struct{ Code, Message *string }
	if json.Unmarshal(raw, &refusal) != nil || refusal.Code == nil || refusal.Message == nil {
		return errors.New("error must be an object with code and message")
	}
	if n := utf8.RuneCountInString(*refusal.Code); n < 1 || n > invocation.MaxFailureCode {
		return fmt.Errorf("the code of an error has 1 to %d characters", invocation.MaxFailureCode)
	}
	if utf8.RuneCountInString(*refusal.Message) > invocation.MaxFailureText {
		return fmt.Errorf("the message of an error has %d characters at most", invocation.MaxFailureText)
	}
	return nil
}

// isObject reports whether raw is one JSON object.
func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
