package contracts_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/contracts/contracttest"
)

type capability struct {
	ID            string
	Title         string
	Description   string
	Kind          string
	InvocableBy   []string
	InputSchema   map[string]any
	OutputSchema  map[string]any
	PayloadSchema map[string]any
}

type manifest struct {
	Commands []capability
	Queries  []capability
	Events   []capability
}

func manifestOf(t *testing.T, slug string) manifest {
	t.Helper()
	data, found := contracts.Manifest(slug)
	if !found {
		t.Fatalf("no manifest of %s", slug)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// schemas returns the input, output and payload schemas of every built-in
// capability, compiled, by "id input" and so on.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	all := map[string]*jsonschema.Schema{}
	add := func(name string, schema map[string]any) {
		if schema == nil {
			return
		}
		url := "https://contracts.test/" + strings.ReplaceAll(name, " ", "/")
		c := jsonschema.NewCompiler()
		c.UseLoader(jsonschema.SchemeURLLoader{})
		c.AssertFormat()
		if err := c.AddResource(url, schema); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile(url)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = s
	}
	for _, slug := range contracts.BuiltIns() {
		m := manifestOf(t, slug)
		for _, c := range slices.Concat(m.Commands, m.Queries, m.Events) {
			add(c.ID+" input", c.InputSchema)
			add(c.ID+" output", c.OutputSchema)
			add(c.ID+" payload", c.PayloadSchema)
		}
	}
	return all
}

func TestManifestsAreOfTheFormInWhichTheyArePublished(t *testing.T) {
	t.Parallel()
	published, served := contracttest.Compile(t, "manifest-request"), contracttest.Compile(t, "manifest")
	for _, slug := range contracts.BuiltIns() {
		data, _ := contracts.Manifest(slug)
		doc, _ := contracttest.Decode(t, data).(map[string]any)
		if got := refusals(t, published, doc); got != nil {
			t.Errorf("%s: refused for %q", slug, got)
		}
		// What is served of it has no default left to fill in.
		doc["slug"], doc["partnerExtensionId"], doc["revision"] = slug, nil, json.Number("1")
		doc["displayName"], _ = contracts.DisplayName(slug)
		if got := refusals(t, served, doc); got != nil {
			t.Errorf("%s as served: refused for %q", slug, got)
		}
		m := manifestOf(t, slug)
		for _, c := range slices.Concat(m.Commands, m.Queries, m.Events) {
			if !strings.HasPrefix(c.ID, slug+".") {
				t.Errorf("%s declares %s", slug, c.ID)
			}
		}
	}
}

// TestBuiltInsOfferWhatTheReferenceLists compares with the table of the
// reference, which contract section 12 repeats.
func TestBuiltInsOfferWhatTheReferenceLists(t *testing.T) {
	t.Parallel()
	want := map[string][3]string{
		"lock": {
			"add-time remove-time freeze unfreeze toggle-freeze pillory set-display-remaining-time", "",
			"time-changed capabilities-changed",
		},
		"tasks":                {"assign start-timer complete", "", "assigned completed failed unassigned vote-ended vote-cancelled"},
		"penalty":              {"increment create-time-limit cancel-time-limit", "", ""},
		"verification-picture": {"request", "", "requested submitted verdict"},
		"temporary-opening":    {"open", "", "opened relocked late"},
		"pillory":              {"", "status", "started ended"},
		"dice":                 {"", "", "rolled"},
		"link":                 {"", "", "voted time-changed"},
		"wheel-of-fortune":     {"", "", "landed"},
	}
	if got := len(contracts.BuiltIns()); got != len(want) {
		t.Errorf("got %d built-ins, want %d", got, len(want))
	}
	for slug, lists := range want {
		m := manifestOf(t, slug)
		for i, list := range [][]capability{m.Commands, m.Queries, m.Events} {
			var got []string
			for _, c := range list {
				got = append(got, strings.TrimPrefix(c.ID, slug+"."))
			}
			if names := strings.Join(got, " "); names != lists[i] {
				t.Errorf("%s: got %q, want %q", slug, names, lists[i])
			}
		}
	}
}

func TestOnlyFourCommandsAreBannedForTheWearer(t *testing.T) {
	t.Parallel()
	want := []string{"lock.remove-time", "lock.unfreeze", "lock.toggle-freeze", "lock.set-display-remaining-time"}
	var got []string
	for _, slug := range contracts.BuiltIns() {
		m := manifestOf(t, slug)
		for _, c := range slices.Concat(m.Commands, m.Queries) {
			if !slices.Contains(c.InvocableBy, "extension") || !slices.Contains(c.InvocableBy, "keyholder") {
				t.Errorf("%s: got callers %q", c.ID, c.InvocableBy)
			}
			if !slices.Contains(c.InvocableBy, "wearer") {
				got = append(got, c.ID)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAddTimeReadsAsInTheReference(t *testing.T) {
	t.Parallel()
	m := manifestOf(t, "lock")
	c := m.Commands[0]
	if c.ID != "lock.add-time" || c.Title != "Add time" || c.Description != "Add time to a current lock session" || c.Kind != "control" {
		t.Errorf("got %+v", c)
	}
	if _, titled := m.Events[0].PayloadSchema["title"]; titled {
		t.Error("the reference shows lock.time-changed without a title")
	}
}

func TestSchemasOfBuiltInsAreClosed(t *testing.T) {
	t.Parallel()
	for _, slug := range contracts.BuiltIns() {
		data, _ := contracts.Manifest(slug)
		var m any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		walk(m, slug, func(path string, s map[string]any) {
			if s["type"] != "object" {
				return
			}
			if _, counts := s["additionalProperties"].(map[string]any); s["additionalProperties"] != false && !counts {
				t.Errorf("%s takes any member", path)
			}
			if _, has := s["properties"].(map[string]any); !has && s["additionalProperties"] == false {
				t.Errorf("%s has no properties", path)
			}
		})
	}
}
