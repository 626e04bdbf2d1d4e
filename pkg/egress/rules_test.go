package egress

import (
	"math"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		value string
		want  time.Duration
		ok    bool
	}{
		"seconds":                      {"120", 2 * time.Minute, true},
		"seconds with spaces":          {" 120 ", 2 * time.Minute, true},
		"at the lower bound":           {"1", time.Second, true},
		"SEC-20 below it":              {"0", time.Second, true},
		"at the upper bound":           {"86400", 24 * time.Hour, true},
		"SEC-20 above it":              {"999999999", 24 * time.Hour, true},
		"SEC-20 beyond every integer":  {strings.Repeat("9", 40), 24 * time.Hour, true},
		"SEC-20 negative":              {"-5", 0, false},
		"SEC-20 no number":             {"NaN", 0, false},
		"SEC-20 infinity":              {"Inf", 0, false},
		"SEC-20 with a sign":           {"+5", 0, false},
		"SEC-20 fraction":              {"1.5", 0, false},
		"SEC-20 exponent":              {"1e3", 0, false},
		"SEC-20 hexadecimal":           {"0x10", 0, false},
		"SEC-20 other digits":          {"１２", 0, false},
		"SEC-20 1 MB long":             {strings.Repeat("1", 1<<20), 0, false},
		"SEC-20 none":                  {"", 0, false},
		"SEC-20 words":                 {"tomorrow", 0, false},
		"a date":                       {now.Add(time.Minute).Format(http.TimeFormat), time.Minute, true},
		"a date, RFC 850":              {now.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT"), time.Minute, true},
		"SEC-20 past date":             {now.Add(-time.Hour).Format(http.TimeFormat), time.Second, true},
		"SEC-20 date far ahead":        {"Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour, true},
		"SEC-20 date far back":         {"Mon, 01 Jan 0001 00:00:00 GMT", time.Second, true},
		"SEC-20 date that can't exist": {"Mon, 99 Jan 2026 00:00:00 GMT", 0, false},
		"SEC-20 date in another form":  {"2026-11-30T12:01:00Z", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := RetryAfter(http.Header{"Retry-After": {tc.value}}, now)
			if got != tc.want || ok != tc.ok {
				t.Errorf("got %v, %v, want %v, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
	if _, ok := RetryAfter(nil, now); ok {
		t.Error("got a wait from no header at all")
	}
}

// Whoever reads an error learns neither where a target lives nor what runs
// here (S-31).
func TestErrorTextsTellNothing(t *testing.T) {
	t.Parallel()
	seen := map[string]Kind{}
	for _, k := range Kinds() {
		text := (&CallError{Kind: k}).Error()
		if other, ok := seen[text]; ok || text == Kind("").text() {
			t.Errorf("got %q for %s and for %q", text, k, other)
		}
		seen[text] = k
		for _, word := range []string{"net/http", "dial", "tcp", "lookup", "x509", "EOF", "context", "127."} {
			if strings.Contains(text, word) {
				t.Errorf("got %q for %s, which holds %q", text, k, word)
			}
		}
	}
}

// What comes back from real failures keeps the same silence, and no cause
// holds the URL's path or query.
func TestFailuresDoNotTellTheURL(t *testing.T) {
	t.Parallel()
	garbage := listen(t, "127.0.0.1:0", says("no HTTP\r\n\r\n"))
	c := open(t, Config{Policy: loopback(), Resolver: resolve(t, points())})
	for name, base := range map[string]string{
		"refused by the policy": "http://example.com/", "not a URL": "http://127.0.0.1:x/", "nobody listens": "http://127.0.0.1:1/",
		"no such name": "https://target.example.test/", "no TLS": "https" + garbage.url[4:], "no HTTP": garbage.url,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.Post(t.Context(), Request{URL: base + "CANARY?key=CANARY", Credentials: Credentials{User: "CANARY", Password: "CANARY"}})
			got := fault(t, err)
			if got.Error() != got.Kind.text() || got.Unwrap() == nil {
				t.Errorf("got %q, cause %v", got.Error(), got.Unwrap())
			}
			if strings.Contains(got.Unwrap().Error(), "CANARY") {
				t.Errorf("SEC-117: got cause %q", got.Unwrap())
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	got := Config{}.WithDefaults()
	if got.Timeout != 10*time.Second || got.IdleTimeout != 3*time.Second || got.MaxBody != 262144 || got.MaxHeader != 32768 ||
		got.MaxConnsPerHost != 64 || got.Policy.Development() {
		t.Errorf("got %+v", got)
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("got %v for the zero value", err)
	}
	bad := Config{
		Timeout: -1, ConnectTimeout: -1, IdleTimeout: -1, MaxBody: -1, MaxHeader: -1, MaxConnsPerHost: math.MinInt,
		Policy: Policy{Allow: make([]netip.Prefix, 1)},
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("got no problem")
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 7 {
		t.Errorf("got %d problems, want all 7:\n%v", lines, err)
	}
}
