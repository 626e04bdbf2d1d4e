package dispatcher_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/services/dispatcher"
)

// raw writes bytes to the connection in place of an answer, and closes it
// unless the target is to hang.
func raw(text string, hang bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, text)
		if hang {
			_, _ = io.Copy(io.Discard, conn) // until the other side has had enough
		}
		_ = conn.Close()
	}
}

func zipped(body string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, body)
	_ = z.Close()
	return b.String()
}

// trickles sends a byte now and then for ever.
func trickles(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
		}
	}
}

// endless sends as much as it can for ever.
func endless(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	block := bytes.Repeat([]byte(" "), 64<<10)
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// Every row of contract section 7 through the whole path, each with one request
// to the target at most (S-31, S-32, SEC-10 to SEC-15).
func TestRows(t *testing.T) {
	t.Parallel()
	cfg := platform.Config{}
	cfg.Egress.Timeout = 2 * time.Second
	s := newStand(t, cfg, "")
	s.dispatch(t, dispatcher.Config{})
	redirected := newTarget(t, answers(200, completedEmpty))
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	n := 0
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		status invocation.Status
		code   string
		result string
	}{
		"a valid answer":             {answers(200, `{"status":"completed","result":{"n":9007199254740993}}`), invocation.Completed, "", `{"n":9007199254740993}`},
		"an empty result":            {answers(201, completedEmpty), invocation.Completed, "", `{}`},
		"a refusal":                  {answers(200, `{"status":"rejected","error":{"code":"not-today","message":"no"}}`), invocation.Rejected, "not-today", ""},
		"the largest answer":         {answers(200, `{"status":"completed","result":{"x":"`+strings.Repeat("<", invocation.MaxBody-40)+`"}}`), invocation.Completed, "", `{"x":"` + strings.Repeat("<", invocation.MaxBody-40) + `"}`},
		"status 400":                 {answers(400, completedEmpty), invocation.Failed, invocation.TargetError, ""},
		"status 429":                 {answers(429, completedEmpty), invocation.Failed, invocation.TargetError, ""},
		"status 500":                 {answers(500, completedEmpty), invocation.Failed, invocation.TargetError, ""},
		"status 503 with advice":     {raw("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n", false), invocation.Failed, invocation.TargetError, ""},
		"status 999":                 {raw("HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n", false), invocation.Failed, invocation.TargetError, ""},
		"a redirect":                 {raw("HTTP/1.1 307 There\r\nLocation: "+redirected.URL+"\r\nContent-Length: 0\r\n\r\n", false), invocation.Failed, invocation.TargetError, ""},
		"status 204":                 {answers(204, ""), invocation.Unknown, invocation.InvalidResponse, ""},
		"HTML":                       {answers(200, "<html>ok</html>"), invocation.Unknown, invocation.InvalidResponse, ""},
		"too large an answer":        {answers(200, `{"status":"completed","result":{"x":"`+strings.Repeat("x", invocation.MaxBody)+`"}}`), invocation.Unknown, invocation.InvalidResponse, ""},
		"a length of 300 MB":         {raw(ok+"Content-Length: 300000000\r\n\r\n{", true), invocation.Unknown, invocation.InvalidResponse, ""},
		"a compressed answer":        {raw(ok+"Content-Encoding: gzip\r\n\r\n"+zipped(completedEmpty), false), invocation.Unknown, invocation.InvalidResponse, ""},
		"another protocol":           {raw("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", true), invocation.Unknown, invocation.InvalidResponse, ""},
		"a garbage status line":      {raw("garbage\r\n\r\n", false), invocation.Unknown, invocation.InvalidResponse, ""},
		"two lengths":                {raw(ok+"Content-Length: 33\r\nContent-Length: 34\r\n\r\n"+completedEmpty, false), invocation.Unknown, invocation.InvalidResponse, ""},
		"a bad chunk":                {raw(ok+"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", false), invocation.Unknown, invocation.InvalidResponse, ""},
		"headers without end":        {raw(ok+"X: "+strings.Repeat("x", 40<<10), true), invocation.Unknown, invocation.InvalidResponse, ""},
		"closed without an answer":   {raw("", false), invocation.Unknown, invocation.TargetTimeout, ""},
		"closed within the answer":   {raw(ok+"Content-Length: 33\r\n\r\n"+completedEmpty[:20], false), invocation.Unknown, invocation.TargetTimeout, ""},
		"no answer":                  {raw("", true), invocation.Unknown, invocation.TargetTimeout, ""},
		"no end of the answer":       {raw(ok+"Content-Length: 33\r\n\r\n"+completedEmpty[:20], true), invocation.Unknown, invocation.TargetTimeout, ""},
		"an answer drop by drop":     {trickles, invocation.Unknown, invocation.TargetTimeout, ""},
		"an answer without end":      {endless, invocation.Unknown, invocation.InvalidResponse, ""},
		"an event that is unknown":   {answers(200, `{"status":"completed","result":{},"events":[{"type":"x.y","payload":{}}]}`), invocation.Unknown, invocation.InvalidResponse, ""},
		"a result off the schema":    {answers(200, `{"status":"completed","result":5}`), invocation.Unknown, invocation.InvalidResponse, ""},
		"cookies and alternatives":   {raw(ok+"Set-Cookie: a=b\r\nAlt-Svc: h3=\":443\"\r\nConnection: close\r\nContent-Length: 34\r\n\r\n"+completedEmpty, false), invocation.Completed, "", `{}`},
		"an answer before the body":  {raw(ok+"Content-Length: 34\r\n\r\n"+completedEmpty, false), invocation.Completed, "", `{}`},
		"an error, never to its end": {raw("HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\nx", true), invocation.Failed, invocation.TargetError, ""},
	} {
		n++
		slug := invocation.Slug(fmt.Sprintf("row-%d", n))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, tc.answer)
			s.target(t, slug, x.URL)
			l := s.lock(t, slug)
			inv := s.invoke(t, s.call(t, l, invocation.CapabilityID(slug+".echo"), "k"))
			check(t, inv, tc.status, tc.code)
			if string(inv.Result) != tc.result {
				t.Errorf("got the result %.100s, want %.100s", inv.Result, tc.result)
			}
			if inv.Error != nil && strings.ContainsAny(inv.Error.Message, "0123456789:/\"<") {
				t.Errorf("got the words %q, want no address and no wording of ours or theirs", inv.Error.Message)
			}
			if n := x.hitsOf(inv.ID); n != 1 || x.total() != 1 {
				t.Errorf("got %d requests of %d, want one", n, x.total())
			}
			again := s.invoke(t, s.call(t, l, invocation.CapabilityID(slug+".echo"), "k"))
			if again.Status != inv.Status || string(again.Result) != tc.result || !again.SettledAt.Equal(inv.SettledAt) || x.total() != 1 {
				t.Errorf("got %+v for the repeat, want what was settled", again)
			}
		})
	}
	t.Cleanup(func() {
		if redirected.total() != 0 {
			t.Error("a redirect was followed")
		}
	})
}

// What is never written has failed, and the target hears nothing.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, "https://probe.example/")
	closed, live := newTarget(t, answers(200, completedEmpty)), newTarget(t, answers(200, completedEmpty))
	closed.Close()
	calls, n := make(map[string]invocation.Invocation), 0
	for name, change := range map[string]func(*registry.Extension){
		"no URL any more":      func(e *registry.Extension) { e.WebhookURL = "" },
		"disabled since":       func(e *registry.Extension) { e.WebhookURL, e.Disabled = live.URL, true },
		"nobody listens":       func(e *registry.Extension) { e.WebhookURL = closed.URL },
		"a private address":    func(e *registry.Extension) { e.WebhookURL = "https://10.0.0.7/" },
		"the metadata service": func(e *registry.Extension) { e.WebhookURL = "http://169.254.169.254/" },
		"a malformed URL":      func(e *registry.Extension) { e.WebhookURL = "https://a b/" },
		"a secret that is none": func(e *registry.Extension) {
			e.WebhookURL, e.Secrets = live.URL, []registry.SigningSecret{{Secret: "nothing"}}
		},
		"no TLS behind a secure URL":  func(e *registry.Extension) { e.WebhookURL = strings.Replace(live.URL, "http:", "https:", 1) },
		"a name that nobody resolves": func(e *registry.Extension) { e.WebhookURL = "https://nothing.invalid/" },
		"a password within the URL":   func(e *registry.Extension) { e.WebhookURL = "https://user:pass@t.example/" },
	} {
		n++
		slug := invocation.Slug(fmt.Sprintf("gone-%d", n))
		s.target(t, slug, "https://gone.example/")
		calls[name] = s.record(t, s.call(t, s.lock(t, slug), invocation.CapabilityID(slug+".echo"), "k"))
		platformtest.Change(t, s.p, slug, change)
	}
	s.dispatch(t, dispatcher.Config{})
	for name, inv := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, s.settled(t, inv), invocation.Failed, invocation.TargetUnreachable)
			if n := live.total(); n != 0 {
				t.Errorf("got %d requests at a target that was not to be called", n)
			}
		})
	}
}
