package contracts_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/contracts/contracttest"
)

// open lists the objects that take members which the schema does not name:
// what third parties define, and what targets answer.
func open() []string {
	return []string{
		"common#/$defs/schemaObject",
		"webhook-answer#",
		"webhook-answer#/allOf/0/then/properties/events/items",
		"webhook-answer#/allOf/1/then/properties/error",
		"webhook-options-answer#",
		"webhook-options-answer#/properties/options/items",
	}
}

func TestWhatWeEmitIsClosed(t *testing.T) {
	t.Parallel()
	for _, name := range contracts.Schemas() {
		data, err := contracts.Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		var root any
		if err := json.Unmarshal(data, &root); err != nil {
			t.Fatal(err)
		}
		walk(root, name+"#", func(path string, s map[string]any) {
			if _, has := s["properties"]; !has || s["type"] != "object" || slices.Contains(open(), path) {
				return
			}
			if s["additionalProperties"] != false {
				t.Errorf("%s is an object that takes any member", path)
			}
		})
	}
}

func TestEverySchemaNamesItsDialectAndItself(t *testing.T) {
	t.Parallel()
	for _, name := range contracts.Schemas() {
		data, err := contracts.Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			Schema      string `json:"$schema"`
			Title       string
			Description string
		}
		if err := json.Unmarshal(data, &head); err != nil {
			t.Fatal(err)
		}
		if head.Schema != "https://json-schema.org/draft/2020-12/schema" || head.Title == "" || head.Description == "" {
			t.Errorf("%s: got %+v", name, head)
		}
	}
}

// A name that is required and nowhere defined is one that no document can have.
func TestEveryRequiredMemberIsDefined(t *testing.T) {
	t.Parallel()
	for _, name := range contracts.Schemas() {
		data, err := contracts.Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		var root any
		if err := json.Unmarshal(data, &root); err != nil {
			t.Fatal(err)
		}
		walk(root, name+"#", func(path string, s map[string]any) {
			properties, closed := s["properties"].(map[string]any)
			required, _ := s["required"].([]any)
			if !closed || s["additionalProperties"] != false {
				return
			}
			for _, member := range required {
				name, _ := member.(string)
				if _, defined := properties[name]; !defined {
					t.Errorf("%s requires %q and does not define it", path, name)
				}
			}
		})
	}
}

func TestEveryProblemCodeBelongsToOneStatus(t *testing.T) {
	t.Parallel()
	data, err := contracts.Schema("problem")
	if err != nil {
		t.Fatal(err)
	}
	var problem struct {
		Properties struct {
			Code struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(data, &problem); err != nil {
		t.Fatal(err)
	}
	s := contracttest.Compile(t, "problem")
	for _, code := range problem.Properties.Code.Enum {
		var fits []int
		for _, status := range []int{400, 401, 403, 404, 405, 409, 413, 415, 429, 500, 502, 503} {
			if slices.ContainsFunc(problemsOf(status, code), func(p map[string]any) bool { return s.Validate(p) == nil }) {
				fits = append(fits, status)
			}
		}
		if len(fits) != 1 {
			t.Errorf("%s: got statuses %v, want one", code, fits)
		}
	}
}

// problemsOf returns a problem in each form that its details may have.
func problemsOf(status int, code string) []map[string]any {
	words := map[int]string{
		400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict",
		413: "Request Entity Too Large", 415: "Unsupported Media Type", 429: "Too Many Requests", 500: "Internal Server Error",
		502: "Bad Gateway", 503: "Service Unavailable",
	}
	var all []map[string]any
	for _, details := range []any{
		nil,
		[]any{},
		map[string]any{"reason": "not-frozen"},
		map[string]any{"bucket": "lock", "retryAfterSeconds": json.Number("1")},
	} {
		p := map[string]any{"statusCode": json.Number(strconv.Itoa(status)), "error": words[status], "code": code, "message": code}
		if details != nil {
			p["details"] = details
		}
		all = append(all, p)
	}
	return all
}

// walk calls visit with every schema object below v and where it stands.
func walk(v any, path string, visit func(path string, s map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(path, v)
		for key, below := range v {
			walk(below, path+"/"+key, visit)
		}
	case []any:
		for i, below := range v {
			walk(below, path+"/"+strconv.Itoa(i), visit)
		}
	}
}
