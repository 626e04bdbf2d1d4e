package edgeapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Whatever a caller sends, each line of the log is one that we wrote (SEC-118).
func TestNobodyForgesALineOfTheLog(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	const forged = "x\n{\"level\":\"ERROR\",\"msg\":\"forged\"}\r\nlevel=ERROR msg=forged\u2028"
	key, err := json.Marshal(forged + unique("key"))
	if err != nil {
		t.Fatal(err)
	}
	c := shared.client(t, s.token).with("User-Agent", "x level=ERROR msg=forged")
	c.do(http.MethodPost, s.action("echo"), `{"idempotencyKey":`+string(key)+`}`).want(t, 200)
	c.do(http.MethodPost, s.action("%0A%7B%22msg%22%3A%22forged%22%7D"), call("")).refused(t, 404, invocation.UnknownCapability)
	c.do(http.MethodGet, "/%0A%7B%22msg%22%3A%22forged%22%7D", nil).refused(t, 404, invocation.RouteNotFound)
	lines := strings.Split(strings.TrimSuffix(shared.logs.String(), "\n"), "\n")
	if len(lines) < 3 {
		t.Fatalf("got %d lines, want one for each request", len(lines))
	}
	for _, line := range lines {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "forged" || entry.Msg == "" {
			t.Errorf("got the line %q, %v", line, err)
		}
	}
}
