package receiver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/latchwire/latchwire/contracts/contracttest"
	"github.com/latchwire/latchwire/pkg/receiver"
)

func fits(t *testing.T, schema *jsonschema.Schema, body []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("got %s: %v", body, err)
	}
}

func TestAnswersFitTheContract(t *testing.T) {
	t.Parallel()
	schema := contracttest.Compile(t, "webhook-answer")
	events := func(n int) []receiver.Emission {
		all := make([]receiver.Emission, n)
		for i := range all {
			all[i] = receiver.Emission{Type: "my-ext.done"}
		}
		return all
	}
	type left struct {
		Left int `json:"left"`
	}
	none := `{"status":"completed","result":{},"events":[]}`
	for name, tc := range map[string]struct {
		answer receiver.Answer
		err    error
		want   string // empty for an answer that can't be given
	}{
		"nothing":       {want: none},
		"a nil map":     {answer: receiver.Answer{Result: map[string]int(nil)}, want: none},
		"a nil pointer": {answer: receiver.Answer{Result: (*left)(nil)}, want: none},
		"a result and an event": {
			answer: receiver.Answer{Result: left{3}, Events: []receiver.Emission{{Type: "my-ext.done", Payload: json.RawMessage(` {"n": 9007199254740993}`)}}},
			want:   `{"status":"completed","result":{"left":3},"events":[{"type":"my-ext.done","payload":{"n":9007199254740993}}]}`,
		},
		"sixteen events": {
			answer: receiver.Answer{Events: events(16)},
			want:   `{"status":"completed","result":{},"events":[` + strings.Repeat(`{"type":"my-ext.done","payload":{}},`, 15) + `{"type":"my-ext.done","payload":{}}]}`,
		},
		"seventeen events":         {answer: receiver.Answer{Events: events(17)}},
		"a result that is a list":  {answer: receiver.Answer{Result: []int{1}}},
		"a result that is no JSON": {answer: receiver.Answer{Result: func() {}}},
		"a payload that is a text": {answer: receiver.Answer{Events: []receiver.Emission{{Type: "my-ext.done", Payload: "x"}}}},
		"too large":                {answer: receiver.Answer{Result: map[string]string{"x": strings.Repeat("x", receiver.MaxAnswer)}}},
		"a refusal": {
			err: &receiver.Rejection{Code: "not-today", Message: "On <Sundays>."}, want: `{"status":"rejected","error":{"code":"not-today","message":"On \u003cSundays\u003e."}}`,
		},
		"a refusal without words": {err: &receiver.Rejection{Code: "no"}, want: `{"status":"rejected","error":{"code":"no","message":""}}`},
		"a refusal that is long": {
			err:  &receiver.Rejection{Code: strings.Repeat("é", 64), Message: strings.Repeat("é", 501)},
			want: `{"status":"rejected","error":{"code":"` + strings.Repeat("é", 64) + `","message":"` + strings.Repeat("é", 500) + `"}}`,
		},
		"a code that is longer":  {err: &receiver.Rejection{Code: strings.Repeat("x", 65)}},
		"a refusal without code": {err: &receiver.Rejection{Message: "No."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, receiver.Handler{
				Commands: func(context.Context, *receiver.Command) (receiver.Answer, error) { return tc.answer, tc.err },
				Queries:  func(context.Context, *receiver.Query) (receiver.Answer, error) { return tc.answer, tc.err },
			})
			for _, file := range []string{"webhook-invocation.valid.json", "webhook-invocation.query.valid.json"} {
				w := s.post(t, example(t, file))
				if tc.want == "" {
					if w.Code != http.StatusInternalServerError {
						t.Errorf("got %d %s, want 500", w.Code, w.Body)
					}
					continue
				}
				if w.Code != http.StatusOK || w.Body.String() != tc.want {
					t.Errorf("got  %d %s\nwant %s", w.Code, w.Body, tc.want)
				}
				fits(t, schema, w.Body.Bytes())
			}
		})
	}
}

func TestOptionsFitTheContract(t *testing.T) {
	t.Parallel()
	schema := contracttest.Compile(t, "webhook-options-answer")
	one := func(o receiver.Option) receiver.Choices { return receiver.Choices{Options: []receiver.Option{o}} }
	for name, tc := range map[string]struct {
		choices receiver.Choices
		want    string
	}{
		"none": {receiver.Choices{}, `{"options":[],"hasMore":false}`},
		"each type": {
			receiver.Choices{Options: []receiver.Option{{Value: "late", Label: "Late", Description: "After one"}, {Value: 1.5, Label: "x"}, {Value: true, Label: "Yes"}}, HasMore: true},
			`{"options":[{"value":"late","label":"Late","description":"After one"},{"value":1.5,"label":"x"},{"value":true,"label":"Yes"}],"hasMore":true}`,
		},
		"no label":   {one(receiver.Option{Value: 1}), ""},
		"no value":   {one(receiver.Option{Label: "x"}), ""},
		"a list":     {one(receiver.Option{Value: []int{}, Label: "x"}), ""},
		"an object":  {one(receiver.Option{Value: struct{}{}, Label: "x"}), ""},
		"no JSON":    {one(receiver.Option{Value: func() {}, Label: "x"}), ""},
		"no integer": {one(receiver.Option{Value: json.Number("x"), Label: "x"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, receiver.Handler{Options: func(context.Context, *receiver.OptionsRequest) (receiver.Choices, error) { return tc.choices, nil }})
			w := s.post(t, example(t, "webhook-options.valid.json"))
			if tc.want == "" {
				if w.Code != http.StatusInternalServerError {
					t.Errorf("got %d %s, want 500", w.Code, w.Body)
				}
				return
			}
			if w.Code != http.StatusOK || w.Body.String() != tc.want {
				t.Errorf("got  %d %s\nwant %s", w.Code, w.Body, tc.want)
			}
			fits(t, schema, w.Body.Bytes())
		})
	}
}
