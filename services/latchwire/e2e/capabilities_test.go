package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// capabilitiesPage is the page that the examples make up. LATCHWIRE_UPDATE=1
// writes it anew.
const capabilitiesPage = "../../../contracts/CAPABILITIES.md"

// Every built-in capability by example: what is sent, what comes back, what the
// lock tells, and what is refused, as the page for developers shows it.
func TestCapabilitiesByExample(t *testing.T) {
	t.Parallel()
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	var page strings.Builder
	page.WriteString(pageHead)
	for _, x := range capabilityExamples() {
		page.WriteString(x.render(t, caller))
	}
	page.WriteString(actsHead)
	for _, x := range actExamples() {
		page.WriteString(x.render(t, caller))
	}
	page.WriteString(pageTail)
	if os.Getenv("LATCHWIRE_UPDATE") != "" {
		if err := os.WriteFile(capabilitiesPage, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(capabilitiesPage)
	if err != nil {
		t.Fatal(err)
	}
	compareLines(t, page.String(), string(want))
}

func compareLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("line %d differs from the page:\n%s\nwant\n%s", i+1,
				strings.Join(g[max(0, i-3):min(len(g), i+3)], "\n"), strings.Join(w[max(0, i-3):min(len(w), i+3)], "\n"))
		}
	}
}

// A step is a command of an extension, or what a person does.
type step struct {
	command, act string
	by           string // of an act
	actor        string // of a command; empty is the extension
	input        map[string]any
}

func (s step) body() map[string]any {
	input := s.input
	if input == nil {
		input = map[string]any{}
	}
	if s.act != "" {
		return map[string]any{"act": s.act, "by": s.by, "input": input}
	}
	body := map[string]any{"input": input, "idempotencyKey": e2etest.Key()}
	if s.actor != "" {
		body["actor"] = s.actor
	}
	return body
}

// path is where a step is sent, for the page and on a lock.
func (s step) path(caller *e2etest.Partner, lock string) (shown, real string) {
	if s.act != "" {
		return "/api/admin/locks/LOCK/acts", "/api/admin/locks/" + lock + "/acts"
	}
	return "/api/extensions/sessions/SESSION/actions/" + s.command, caller.Path(lock, "/actions/"+s.command)
}

func (s step) send(t *testing.T, caller *e2etest.Partner, lock string, body map[string]any) e2etest.Answer {
	t.Helper()
	token := caller.Token
	if s.act != "" {
		token = pipeline.Admin
	}
	_, path := s.path(caller, lock)
	return pipeline.Send(t, e2etest.Request{Token: token, Method: http.MethodPost, Path: path, Body: body})
}

// An example is a step that does something, after others, and the steps that
// are refused.
type example struct {
	step
	before  []step
	refused []refusedStep
	// until is what the answer has to hold where it is left to chance.
	until string
}

type refusedStep struct {
	why    string
	before []step
	step
}

// prepared is a lock with everything on it, after some steps.
func prepared(t *testing.T, caller *e2etest.Partner, steps []step) (lock string) {
	t.Helper()
	lock = equip(t, caller)
	for _, s := range steps {
		if a := s.send(t, caller, lock, s.body()); a.Status != http.StatusOK && a.Status != http.StatusCreated || bytes.Contains(a.Body, []byte(`"rejected"`)) {
			t.Fatalf("%+v: got %d %s", s, a.Status, a.Body)
		}
	}
	return lock
}

func (x example) render(t *testing.T, caller *e2etest.Partner) string {
	t.Helper()
	var lock string
	var events, lines int
	var body map[string]any
	var a e2etest.Answer
	for range 1000 {
		lock = prepared(t, caller, x.before)
		events, lines, body = len(eventsOf(t, caller, lock)), len(historyOf(t, lock)), x.body()
		a = x.send(t, caller, lock, body)
		if a.Status != http.StatusOK {
			t.Fatalf("%+v: got %d %s", x.step, a.Status, a.Body)
		}
		if strings.Contains(string(a.Body), x.until) {
			break
		}
	}
	shown, _ := x.path(caller, lock)
	tidy := newTidy(caller)
	var out strings.Builder
	fmt.Fprintf(&out, "\n## `%s`\n\n", x.command+x.act)
	if n := names(x.before); n != "" {
		fmt.Fprintf(&out, "After %s:\n\n", n)
	}
	fmt.Fprintf(&out, "```http\nPOST %s\n\n%s\n```\n", shown, tidy.json(t, body))
	if x.act == "" {
		fmt.Fprintf(&out, "\n```json\n%s\n```\n", tidy.json(t, json.RawMessage(a.Body)))
	}
	out.WriteString(block(t, tidy, "Events", eventsOf(t, caller, lock)[events:]))
	out.WriteString(block(t, tidy, "History", historyOf(t, lock)[lines:]))
	if len(x.refused) > 0 {
		out.WriteString("\nRefused:\n\n| when | sent | answer |\n|---|---|---|\n")
	}
	for _, r := range x.refused {
		out.WriteString(r.render(t, caller, x.step))
	}
	return out.String()
}

// render sends a step that is refused, by an error or by a rejected invocation.
func (r refusedStep) render(t *testing.T, caller *e2etest.Partner, of step) string {
	t.Helper()
	lock := prepared(t, caller, r.before)
	r.command, r.act = of.command, of.act
	before := len(historyOf(t, lock))
	a := r.send(t, caller, lock, r.body())
	var answer struct {
		Status, Code, Message string
		Details               json.RawMessage
		Error                 json.RawMessage
	}
	e2etest.Decode(t, a.Body, &answer)
	told := fmt.Sprintf("%d `%s`", a.Status, answer.Code)
	switch {
	case a.Status == http.StatusOK && answer.Status == "rejected":
		told = "200, `rejected` with `" + string(answer.Error) + "`"
	case a.Status < http.StatusBadRequest:
		t.Errorf("%s, %s: got %d %s, want a refusal", of.command+of.act, r.why, a.Status, a.Body)
	case len(answer.Details) > len("[]"):
		told += " `" + string(answer.Details) + "`"
	case answer.Message != answer.Code:
		told += " " + answer.Message
	}
	if got := len(historyOf(t, lock)); got != before {
		t.Errorf("%s, %s: a refusal left %d lines", of.command+of.act, r.why, got-before)
	}
	sent := r.body()
	delete(sent, "idempotencyKey")
	delete(sent, "act")
	return fmt.Sprintf("| %s | `%s` | %s |\n", r.why, compact(t, sent), told)
}

func names(steps []step) string {
	var out []string
	for _, s := range steps {
		out = append(out, "`"+s.command+s.act+"`")
	}
	return strings.Join(out, ", ")
}

func eventsOf(t *testing.T, caller *e2etest.Partner, lock string) []json.RawMessage {
	t.Helper()
	var page struct{ Events []json.RawMessage }
	caller.Read(t, lock, "/events?limit=100", &page)
	return page.Events
}

func historyOf(t *testing.T, lock string) []json.RawMessage {
	t.Helper()
	var page struct{ Items []json.RawMessage }
	pipeline.Operate(t, e2etest.Request{Method: http.MethodGet, Path: "/api/admin/locks/" + lock + "/history?limit=100"}, &page)
	return page.Items
}

func block(t *testing.T, tidy *tidy, title string, items []json.RawMessage) string {
	t.Helper()
	if len(items) == 0 {
		return "\n" + title + ": none.\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s:\n\n```json\n", title)
	for _, item := range items {
		out.WriteString(tidy.json(t, item) + "\n")
	}
	out.WriteString("```\n")
	return out.String()
}

// tidy replaces what differs from run to run, each value by the same stand-in
// wherever it appears.
type tidy struct {
	caller *e2etest.Partner
	ids    map[string]string
	seq    int
}

func newTidy(caller *e2etest.Partner) *tidy {
	return &tidy{caller: caller, ids: make(map[string]string), seq: 40}
}

func (y *tidy) json(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	s := strings.ReplaceAll(b.String(), y.caller.Slug, "my-ext")
	for pattern, stand := range map[string]string{
		`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`: `"2026-11-04T12:00:00.000Z"`,
		`"key-[A-Z0-9]+"`:                          `"a-key-of-yours"`,
		`"verificationCode": "[^"]+"`:              `"verificationCode": "52301"`,
		`"(frozenMs|unlockedTime)": \d+`:           `"$1": 90`,
	} {
		s = regexp.MustCompile(pattern).ReplaceAllString(s, stand)
	}
	s = regexp.MustCompile(`"seq": \d+`).ReplaceAllStringFunc(s, func(string) string {
		y.seq++
		return fmt.Sprintf(`"seq": %d`, y.seq)
	})
	return regexp.MustCompile(`"[0-9a-f]{24}"`).ReplaceAllStringFunc(s, func(id string) string {
		if y.ids[id] == "" {
			y.ids[id] = fmt.Sprintf(`"6731b2c4e5f0a1b2c3d4%04x"`, len(y.ids)+1)
		}
		return y.ids[id]
	})
}

func compact(t *testing.T, body map[string]any) string {
	t.Helper()
	var out []string
	for _, k := range slices.Sorted(maps.Keys(body)) {
		b, err := json.Marshal(body[k])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%q:%s", k, b))
	}
	return "{" + strings.Join(out, ",") + "}"
}
