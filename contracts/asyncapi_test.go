package contracts_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/contracts/contracttest"
)

// metaSchema is what AsyncAPI 3.0.0 says of its own documents.
func metaSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("testdata/asyncapi-3.0.0.json")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("https://contracts.test/asyncapi.json", contracttest.Decode(t, data)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://contracts.test/asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// parseYAML returns the document as JSON would give it.
func parseYAML(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return contracttest.Decode(t, asJSON)
}

func TestAsyncAPIIsValid(t *testing.T) {
	t.Parallel()
	if err := metaSchema(t).Validate(parseYAML(t, contracts.AsyncAPI())); err != nil {
		t.Errorf("%.2000v", err)
	}
}

func TestTheMetaSchemaRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := metaSchema(t)
	for name, change := range map[string][2]string{
		"an action that is none":             {"action: receive", "action: eat"},
		"a channel with a member of its own": {"    x-stream: CHAIN\n", "    stream: CHAIN\n"},
		"another version":                    {"asyncapi: 3.0.0", "asyncapi: 4.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := string(contracts.AsyncAPI())
			bad := strings.Replace(good, change[0], change[1], 1)
			if bad == good {
				t.Fatal("the change hit nothing")
			}
			if s.Validate(parseYAML(t, []byte(bad))) == nil {
				t.Error("got it accepted, want it refused")
			}
		})
	}
}

type asyncDocument struct {
	Channels map[string]struct {
		Address    *string
		Parameters map[string]any
		Messages   map[string]any
		Stream     string `yaml:"x-stream"`
	}
	Operations map[string]struct {
		Channel struct {
			Ref string `yaml:"$ref"`
		}
		Reply struct {
			Channel struct {
				Ref string `yaml:"$ref"`
			}
		}
	}
	Components struct {
		Messages map[string]struct{ Name string }
	}
}

func asyncAPI(t *testing.T) asyncDocument {
	t.Helper()
	var doc asyncDocument
	if err := yaml.Unmarshal(contracts.AsyncAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestEveryPartOfAnAddressIsDescribed(t *testing.T) {
	t.Parallel()
	part := regexp.MustCompile(`\{(\w+)\}`)
	for name, c := range asyncAPI(t).Channels {
		if c.Address == nil {
			continue
		}
		used := map[string]bool{}
		for _, m := range part.FindAllStringSubmatch(*c.Address, -1) {
			used[m[1]] = true
		}
		got, want := slices.Sorted(maps.Keys(c.Parameters)), slices.Sorted(maps.Keys(used))
		if !slices.Equal(got, want) {
			t.Errorf("%s: got parameters %q, want %q", name, got, want)
		}
		for _, m := range part.FindAllStringSubmatch(c.Stream, -1) {
			if !used[m[1]] {
				t.Errorf("%s: its stream has a part %q that its address has not", name, m[1])
			}
		}
	}
}

func TestEveryChannelIsUsed(t *testing.T) {
	t.Parallel()
	doc := asyncAPI(t)
	used := map[string]bool{}
	for _, op := range doc.Operations {
		used[strings.TrimPrefix(op.Channel.Ref, "#/channels/")] = true
		used[strings.TrimPrefix(op.Reply.Channel.Ref, "#/channels/")] = true
	}
	for name, c := range doc.Channels {
		if !used[name] {
			t.Errorf("no operation uses %s", name)
		}
		if len(c.Messages) == 0 {
			t.Errorf("%s carries no message", name)
		}
	}
}

func TestReferencesWithinAsyncAPIResolve(t *testing.T) {
	t.Parallel()
	root := parseYAML(t, contracts.AsyncAPI())
	seen := 0
	walk(root, "", func(path string, s map[string]any) {
		ref, _ := s["$ref"].(string)
		switch {
		case strings.HasPrefix(ref, "#/"):
			seen++
			if !resolves(root, ref[2:]) {
				t.Errorf("%s: %s leads nowhere", path, ref)
			}
		case strings.HasPrefix(ref, "./schemas/"):
			seen++
			file, pointer, _ := strings.Cut(strings.TrimPrefix(ref, "./schemas/"), "#/")
			data, err := contracts.Schema(strings.TrimSuffix(file, ".json"))
			if err != nil {
				t.Errorf("%s: %v", path, err)
			} else if pointer != "" && !resolves(contracttest.Decode(t, data), pointer) {
				t.Errorf("%s: %s leads nowhere", path, ref)
			}
		case ref != "":
			t.Errorf("%s: %s leads out of the contract", path, ref)
		}
	})
	if seen < 100 {
		t.Errorf("got %d references, want them all", seen)
	}
}

func resolves(v any, pointer string) bool {
	for step := range strings.SplitSeq(pointer, "/") {
		m, _ := v.(map[string]any)
		below, found := m[step]
		if !found {
			return false
		}
		v = below
	}
	return true
}

func TestTheWebhooksWeSend(t *testing.T) {
	t.Parallel()
	doc := asyncAPI(t)
	var got []string
	for _, channel := range []string{"calls", "notices"} {
		for key := range doc.Channels[channel].Messages {
			got = append(got, doc.Components.Messages[key].Name)
		}
	}
	slices.Sort(got)
	want := []string{"action_log.created", "extension.command_invoked", "extension.query_invoked", "lock_event.created"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
