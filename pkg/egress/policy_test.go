package egress

import (
	"net/netip"
	"strings"
	"testing"
)

// hostileURLs are refused by every policy but for what an allow-list is there
// for (SEC-01, SEC-07).
func hostileURLs() map[string]string {
	return map[string]string{
		"SEC-01 loopback address":                  "https://127.0.0.1/",
		"SEC-01 IPv6 loopback":                     "https://[::1]/",
		"SEC-01 localhost":                         "https://localhost/",
		"SEC-01 localhost with a dot":              "https://localhost./",
		"SEC-01 name under localhost":              "https://a.localhost/",
		"SEC-01 short address":                     "https://127.1/",
		"SEC-01 decimal address":                   "https://2130706433/",
		"SEC-01 hexadecimal address":               "https://0x7f.0.0.1/",
		"SEC-01 hexadecimal number":                "https://0x7f000001/",
		"SEC-01 octal address":                     "https://0177.0.0.1/",
		"SEC-01 circled digits":                    "https://①②⑦.0.0.1/",
		"SEC-01 circled digits, escaped":           "https://%E2%91%A0%E2%91%A1%E2%91%A6.0.0.1/",
		"SEC-01 ideographic full stops":            "https://127。0。0。1/",
		"SEC-01 zone":                              "https://[fe80::1%25lo]/",
		"SEC-01 mapped address":                    "https://[::ffff:127.0.0.1]/",
		"SEC-01 public address":                    "https://1.1.1.1/",
		"SEC-01 address with a dot":                "https://127.0.0.1./",
		"SEC-06 metadata by name":                  "https://metadata.google.internal/",
		"SEC-06 metadata by address":               "https://169.254.169.254/latest/meta-data/",
		"SEC-07 plain http":                        "http://example.com/",
		"SEC-07 another port":                      "https://example.com:8443/",
		"SEC-07 impossible port":                   "https://example.com:99999/",
		"SEC-07 port zero":                         "https://example.com:0/",
		"SEC-07 empty port":                        "https://example.com:/",
		"SEC-07 user and password":                 "https://u:p@example.com/",
		"SEC-07 empty user":                        "https://@example.com/",
		"SEC-07 fragment":                          "https://example.com#@x",
		"SEC-07 empty fragment":                    "https://example.com/#",
		"SEC-07 opaque":                            "https:example.com",
		"SEC-07 no host":                           "https:///x",
		"SEC-07 file":                              "file:///etc/passwd",
		"SEC-07 gopher":                            "gopher://x.y/",
		"SEC-07 no scheme":                         "//example.com/",
		"SEC-07 backslash":                         `https://ex\@127.0.0.1/`,
		"SEC-07 backslash in the path":             `https://example.com/a\b`,
		"SEC-07 line break":                        "https://example.com/\r\nX: y",
		"SEC-07 space":                             "https://example.com/ x",
		"SEC-07 delete character":                  "https://example.com/\x7f",
		"SEC-07 bad escape":                        "https://example.com/%zz",
		"SEC-07 local name":                        "https://a.local/",
		"SEC-07 empty label":                       "https://a..example.com/",
		"SEC-07 two final dots":                    "https://example.com../",
		"SEC-07 label that begins with a hyphen":   "https://-a.example.com/",
		"SEC-07 label too long":                    "https://" + strings.Repeat("a", 64) + ".com/",
		"SEC-07 name too long":                     "https://" + strings.Repeat("a.", 130) + "com/",
		"SEC-07 URL too long":                      "https://example.com/" + strings.Repeat("a", MaxURLLength-19),
		"SEC-07 name in another script":            "https://例え.jp/",
		"SEC-07 special characters in the name":    "https://a!b.example.com/",
		"SEC-07 empty":                             "",
		"SEC-07 name in brackets":                  "https://[example.com]/",
		"SEC-07 comma-separated hosts":             "https://example.com,127.0.0.1/",
		"SEC-07 escaped slash in the host":         "https://example.com%2f@127.0.0.1/",
		"SEC-07 name without a dot":                "https://intranet/",
		"SEC-07 URL with a byte that is not UTF-8": "https://example.com/\xff",
	}
}

func TestCheckURLRefusesHostileURLs(t *testing.T) {
	t.Parallel()
	for name, s := range hostileURLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := Policy{}.CheckURL(s)
			if err == nil || u != nil {
				t.Fatalf("got %v, %v for %q, want a refusal", u, err, s)
			}
			if len(s) > 8 && strings.Contains(err.Error(), s[8:]) {
				t.Errorf("got %q, which quotes the URL", err)
			}
		})
	}
}

func TestCheckURLAccepts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		url string
		in  Policy
	}{
		"a path and a query":             {url: "https://example.com/hook?a=b"},
		"no path":                        {url: "https://example.com"},
		"the port named":                 {url: "https://example.com:443/"},
		"upper case and a final dot":     {url: "HTTPS://EXAMPLE.com./x"},
		"an international name":          {url: "https://xn--r8jz45g.jp/"},
		"an underscore":                  {url: "https://my_app.example.com/"},
		"the longest URL":                {url: "https://example.com/" + strings.Repeat("a", MaxURLLength-20)},
		"loopback in development":        {url: "http://127.0.0.1:18999/", in: loopback()},
		"loopback and https":             {url: "https://127.0.0.1:18999/", in: loopback()},
		"mapped loopback":                {url: "http://[::ffff:127.0.0.1]:18999/", in: loopback()},
		"localhost in development":       {url: "http://localhost:18999/", in: loopback()},
		"a compose name in development":  {url: "http://receiver:8080/hook", in: loopback()},
		"a public name in development":   {url: "https://example.com/", in: loopback()},
		"an allowed network":             {url: "http://172.16.0.9/", in: allow(t, "172.16.0.0/12")},
		"IPv6 loopback in development":   {url: "http://[::1]:18999/", in: allow(t, "::1/128")},
		"localhost over IPv6":            {url: "http://localhost:18999/", in: allow(t, "::1/128")},
		"a name under localhost allowed": {url: "http://a.localhost:1/", in: loopback()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if u, err := tc.in.CheckURL(tc.url); err != nil || u == nil {
				t.Errorf("got %v, %v for %q", u, err, tc.url)
			}
		})
	}
}

// An allow-list opens what it names and nothing beside it.
func TestAllowListOpensNothingElse(t *testing.T) {
	t.Parallel()
	opened := map[string]bool{
		"https://127.0.0.1/": true, "https://localhost/": true, "https://localhost./": true, "https://a.localhost/": true,
		"https://intranet/": true, "https://[::ffff:127.0.0.1]/": true, "https://127.0.0.1./": true,
	}
	for name, s := range hostileURLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := loopback().CheckURL(s); (err == nil) != opened[s] {
				t.Errorf("got %v for %q, want accepted %v", err, s, opened[s])
			}
		})
	}
	for name, s := range map[string]string{
		"another private address":          "http://10.0.0.1/",
		"another address, mapped":          "http://[::ffff:10.0.0.1]/",
		"IPv6 loopback":                    "http://[::1]/",
		"user and password on loopback":    "http://u:p@127.0.0.1/",
		"another scheme":                   "ftp://127.0.0.1/",
		"impossible port":                  "http://127.0.0.1:99999/",
		"port zero":                        "http://127.0.0.1:0/",
		"plain http to a public name":      "http://example.com/",
		"public name on another port":      "https://example.com:8443/",
		"metadata":                         "http://metadata.google.internal/",
		"zone":                             "http://[fe80::1%25lo]/",
		"localhost without loopback":       "http://localhost/",
		"name under it without a loopback": "http://a.localhost/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := loopback()
			if strings.Contains(s, "localhost") {
				p = allow(t, "172.16.0.0/12")
			}
			if _, err := p.CheckURL(s); err == nil {
				t.Errorf("got %q accepted", s)
			}
		})
	}
}

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	if p := allow(t, " "); p.Development() {
		t.Errorf("got %v from an empty list, want the production policy", p)
	}
	if p := allow(t, "127.0.0.1/8, ::1/128,"); len(p.Allow) != 2 || p.Allow[0].String() != "127.0.0.0/8" {
		t.Errorf("got %v, want two prefixes", p.Allow)
	}
	for _, list := range []string{"127.0.0.1", "localhost", "127.0.0.0/33"} {
		if _, err := ParsePolicy(list); err == nil {
			t.Errorf("got %q accepted", list)
		}
	}
}

func allow(t *testing.T, list string) Policy {
	t.Helper()
	p, err := ParsePolicy(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FuzzCheckURL holds both policies to what they promise about whatever they
// accept, and their errors to quoting nothing (SEC-01, SEC-07).
func FuzzCheckURL(f *testing.F) {
	for _, s := range hostileURLs() {
		f.Add(s)
	}
	f.Add("https://example.com:443/a?b=c")
	f.Add("http://[::ffff:127.0.0.1]:18999/")
	f.Fuzz(func(t *testing.T, s string) {
		const secret = "?key=CANARY"
		if _, err := (Policy{}).CheckURL(s + secret); err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("got %v for %q", err, s)
		}
		if u, err := loopback().CheckURL(s); err == nil && (u.User != nil || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https") {
			t.Errorf("got %q accepted in development", s)
		}
		u, err := Policy{}.CheckURL(s)
		if err != nil {
			return
		}
		host := strings.TrimSuffix(u.Hostname(), ".")
		if u.Scheme != "https" || (u.Port() != "" && u.Port() != "443") || !strings.Contains(host, ".") ||
			u.User != nil || u.Fragment != "" || len(s) > MaxURLLength {
			t.Errorf("got %q accepted", s)
		}
		for _, r := range s {
			if r > '~' || r <= ' ' || r == '\\' {
				t.Errorf("got %q accepted", s)
			}
		}
		last := host[strings.LastIndexByte(host, '.')+1:] // a resolver reads digits in it as an address
		if _, err := netip.ParseAddr(host); err == nil || strings.ContainsAny(host, ":%") || last == "" || last[0] >= '0' && last[0] <= '9' {
			t.Errorf("got the address %q accepted", s)
		}
		if _, err := loopback().CheckURL(s); err != nil {
			t.Errorf("got %q accepted, and refused in development: %v", s, err)
		}
		if again, err := (Policy{}).CheckURL(u.String()); len(u.String()) <= MaxURLLength && (err != nil || again.Host != u.Host) {
			t.Errorf("got %q, which is called as %q: %v", s, u, err)
		}
	})
}
