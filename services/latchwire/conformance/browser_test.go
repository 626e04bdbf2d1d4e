package conformance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// A page in a browser, of another origin, reads what a lock offers with its
// main page token; and reads why, if the token is wrong (S-36). The browser
// sends the preflight by itself, and hides an answer that does not allow it.
func TestAPageInABrowserReadsCapabilities(t *testing.T) {
	t.Parallel()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium to try it with")
	}
	p := startPipeline(t)
	caller := p.NewPartner(t, e2etest.Offers{}, nil)
	url := p.Base(0) + caller.Path(p.NewLock(t, caller), "/capabilities")
	var made struct{ Token string }
	session := path.Base(path.Dir(url))
	p.Operate(t, e2etest.Request{Method: http.MethodPost, Path: "/api/admin/sessions/" + session + "/main-tokens", Body: map[string]string{"role": "wearer"}}, &made)
	for token, want := range map[string]string{made.Token: "200 lock", "wrong": "401 unauthorized"} {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<p></p><script>
const show = text => { document.querySelector("p").textContent = "[" + text + "]" };
fetch(%q, {headers: {"X-Chaster-Main-Token": %q}})
  .then(async r => { const body = await r.json(); show(r.status + " " + (body.code || body.extensions[0].slug)) })
  .catch(show);
</script>`, url, token)
		}))
		t.Cleanup(page.Close)
		dom, err := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
			"--virtual-time-budget=10000", "--dump-dom", page.URL).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(dom), "["+want+"]") {
			t.Errorf("the page shows %s, want %s", dom, want)
		}
	}
}
