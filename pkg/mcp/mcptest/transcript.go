package mcptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what was answered into the transcripts") //nolint:gochecknoglobals // a flag of the tests

// Modern is the _meta of a request of revision 2026-07-28: what {{meta}} stands
// for in transcripts.
const Modern = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// Transcripts plays every transcript (*.txtar) of a folder. In each, a file
// "NAME >" is a request: its method and path, headers, an empty line, a body;
// Content-Type and Accept are those of an official client unless they are
// given, as "-" to leave one out. The file after it, "NAME <", is the exact
// answer: its status, the headers that matter, an empty line, the body. Names
// begin with the rows of the checklist that the exchange shows.
func Transcripts(t *testing.T, folder string, h http.Handler) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in %s: %v", folder, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			asked, answered := archive.Files[i], &archive.Files[i+1]
			name, isRequest := strings.CutSuffix(asked.Name, " >")
			if !isRequest || answered.Name != name+" <" {
				t.Fatalf("%s: %q and %q are no exchange", file, asked.Name, answered.Name)
			}
			t.Run(name, func(t *testing.T) {
				if !*update { // what was answered is written when all are through
					t.Parallel()
				}
				got := play(t, h, string(asked.Data))
				if *update {
					answered.Data = []byte(got)
				} else if got != string(answered.Data) {
					t.Errorf("%s: got\n%s\nwant\n%s", file, got, answered.Data)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// play sends a request and writes the answer as a transcript has it.
func play(t *testing.T, h http.Handler, transcript string) string {
	t.Helper()
	r := request(t, transcript)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	CheckAnswer(t, r, body, w)
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", w.Code)
	for _, name := range []string{"Content-Type", "Allow", "Retry-After", "Www-Authenticate", "Mcp-Session-Id", "X-Accel-Buffering"} {
		for _, v := range w.Header().Values(name) {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSuffix(w.Body.String(), "\n"))
	return b.String()
}

// CheckAnswer is [Check] for whatever a server made of a request: one JSON-RPC
// response, plain or as one event of a stream, or nothing.
func CheckAnswer(tb testing.TB, r *http.Request, body []byte, w *httptest.ResponseRecorder) {
	tb.Helper()
	answer := w.Body.Bytes()
	switch kind := w.Header().Get("Content-Type"); {
	case len(answer) == 0 && w.Code == http.StatusAccepted:
		return
	case kind == "text/event-stream":
		var data []string
		for line := range strings.Lines(string(answer)) {
			if text, found := strings.CutPrefix(line, "data: "); found {
				data = append(data, text)
			}
		}
		answer = []byte(strings.Join(data, ""))
		if !strings.HasPrefix(w.Body.String(), "event: message\ndata: ") || !strings.HasSuffix(w.Body.String(), "\n\n") {
			tb.Errorf("got %q, want one event", w.Body)
		}
	case kind != "application/json":
		tb.Errorf("got %d with the content type %q and %q", w.Code, kind, w.Body)
		return
	}
	Check(tb, exchange(r, body, answer))
}

// request reads a request of a transcript.
func request(t *testing.T, transcript string) *http.Request {
	t.Helper()
	line, rest, _ := strings.Cut(strings.ReplaceAll(transcript, "{{meta}}", Modern), "\n")
	method, path, _ := strings.Cut(line, " ")
	in := bufio.NewReader(strings.NewReader(rest))
	header, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil {
		t.Fatalf("%q: %v", transcript, err)
	}
	body, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(bytes.TrimSuffix(body, []byte("\n"))))
	r.Host, r.Header = "localhost:8080", http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for name, values := range header {
		switch {
		case name == "Host":
			r.Host = values[0]
		case slices.Equal(values, []string{"-"}):
			r.Header.Del(name)
		default:
			r.Header[name] = values
		}
	}
	return r
}

// exchange tells which revision a request was of, as its sender meant it.
func exchange(r *http.Request, body, answer []byte) Exchange {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	_ = jsonv2.Unmarshal(body, &m) // what cannot be read has no revision
	x := Exchange{Version: r.Header.Get("Mcp-Protocol-Version"), Method: m.Method, Answer: answer}
	if version, ok := m.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string); ok && x.Version == "" {
		x.Version = version
	}
	switch {
	case x.Method == "initialize":
		var result struct {
			Result struct{ ProtocolVersion string }
		}
		_ = json.Unmarshal(answer, &result)
		x.Version = result.Result.ProtocolVersion
	case x.Version == "":
		x.Version = "2025-03-26"
	}
	if _, err := schemas.ReadFile("schema/" + x.Version + ".json"); err != nil {
		x.Version = "" // no revision that exists
	}
	return x
}
