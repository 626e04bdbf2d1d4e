package intake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
)

// token stores a token and returns its secret.
func (s *stand) token(tb testing.TB, tok registry.Token) string {
	tb.Helper()
	made, secret := registry.NewToken(tok, s.p.Ledger.Now())
	if err := s.p.Registry.StoreToken(tb.Context(), made); err != nil {
		tb.Fatal(err)
	}
	return secret
}

// secrets are one of each kind, as they are sent.
func (s *stand) secrets(tb testing.TB, session invocation.SessionID) map[string]string {
	tb.Helper()
	dead := registry.Token{Kind: registry.DeveloperToken, Extension: "caller", ExpiresAt: s.p.Ledger.Now().Add(-time.Second)}
	dead, secret := registry.NewToken(dead, s.p.Ledger.Now().Add(-time.Hour))
	if err := s.p.Registry.StoreToken(tb.Context(), dead); err != nil {
		tb.Fatal(err)
	}
	expired := secret
	return map[string]string{
		"developer": s.token(tb, registry.Token{Kind: registry.DeveloperToken, Extension: "caller"}),
		"ghost":     s.token(tb, registry.Token{Kind: registry.DeveloperToken, Extension: "nobody"}),
		"expired":   expired,
		"admin":     s.token(tb, registry.Token{Kind: registry.AdminToken, Role: registry.RoleReadOnly}),
		"wearer":    s.token(tb, registry.Token{Kind: registry.MainToken, Session: session, Role: registry.RoleWearer}),
		"keyholder": s.token(tb, registry.Token{Kind: registry.MainToken, Session: session, Role: registry.RoleKeyholder}),
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	l := s.lock(t)
	secrets := s.secrets(t, l.Session("caller").ID)
	dev := secrets["developer"]
	for name, tc := range map[string]struct {
		header           string
		developer, admin invocation.Code // empty: let in
	}{
		"a developer token":              {"Bearer " + dev, "", invocation.Forbidden},
		"the scheme in lower case":       {"bearer " + dev, "", invocation.Forbidden},
		"the scheme in upper case":       {"BEARER " + dev, "", invocation.Forbidden},
		"an admin token":                 {"Bearer " + secrets["admin"], invocation.Forbidden, ""},
		"a main page token":              {"Bearer " + secrets["wearer"], invocation.Forbidden, invocation.Forbidden},
		"an expired token":               {"Bearer " + secrets["expired"], invocation.Unauthorized, invocation.Unauthorized},
		"a token of nobody's extension":  {"Bearer " + secrets["ghost"], invocation.Unauthorized, invocation.Forbidden},
		"nothing":                        {"", invocation.Unauthorized, invocation.Unauthorized},
		"no scheme":                      {dev, invocation.Unauthorized, invocation.Unauthorized},
		"another scheme":                 {"Basic " + dev, invocation.Unauthorized, invocation.Unauthorized},
		"a scheme alone":                 {"Bearer", invocation.Unauthorized, invocation.Unauthorized},
		"a scheme and a space":           {"Bearer ", invocation.Unauthorized, invocation.Unauthorized},
		"two spaces":                     {"Bearer  " + dev, invocation.Unauthorized, invocation.Unauthorized},
		"a tab":                          {"Bearer\t" + dev, invocation.Unauthorized, invocation.Unauthorized},
		"more behind the token":          {"Bearer " + dev + " x", invocation.Unauthorized, invocation.Unauthorized},
		"half a token":                   {"Bearer " + dev[:20], invocation.Unauthorized, invocation.Unauthorized},
		"a token with another last sign": {"Bearer " + dev[:len(dev)-1] + "!", invocation.Unauthorized, invocation.Unauthorized},
		"a token in upper case":          {"Bearer " + strings.ToUpper(dev), invocation.Unauthorized, invocation.Unauthorized},
		"a wildcard":                     {"Bearer *", invocation.Unauthorized, invocation.Unauthorized},
		"a megabyte":                     {"Bearer " + strings.Repeat("a", 1<<20), invocation.Unauthorized, invocation.Unauthorized},
		"a line break":                   {"Bearer " + dev + "\r\n", invocation.Unauthorized, invocation.Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := s.in.Developer(t.Context(), tc.header)
			check(t, err, tc.developer)
			if tc.developer == "" && e.Slug != "caller" {
				t.Errorf("got %s, want caller", e.Slug)
			}
			tok, err := s.in.Admin(t.Context(), tc.header)
			check(t, err, tc.admin)
			if tc.admin == "" && tok.Role != registry.RoleReadOnly {
				t.Errorf("got the role %s, want read-only", tok.Role)
			}
		})
	}
}

// check wants a refusal with a code, or none if it is empty.
func check(t *testing.T, err error, want invocation.Code) {
	t.Helper()
	if err == nil && want != "" || err != nil && invocation.CodeOf(err) != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A session that is somebody else's, unknown or malformed is the same (SEC-66).
func TestSessions(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	l, second := s.lock(t), s.lock(t)
	secrets := s.secrets(t, l.Session("caller").ID)
	for name, tc := range map[string]struct {
		token   string
		session invocation.SessionID
		code    invocation.Code
	}{
		"one's own":                     {"developer", l.Session("caller").ID, ""},
		"one's own on another lock":     {"developer", second.Session("caller").ID, ""},
		"another extension's":           {"developer", l.Session("probe").ID, invocation.SessionNotFound},
		"unknown":                       {"developer", invocation.NewSessionID(), invocation.SessionNotFound},
		"malformed":                     {"developer", "a.b", invocation.SessionNotFound},
		"a wildcard":                    {"developer", "*", invocation.SessionNotFound},
		"empty":                         {"developer", "", invocation.SessionNotFound},
		"65 characters":                 {"developer", invocation.SessionID(strings.Repeat("a", 65)), invocation.SessionNotFound},
		"5,000 characters":              {"developer", invocation.SessionID(strings.Repeat("a", 5000)), invocation.SessionNotFound},
		"a line break":                  {"developer", l.Session("caller").ID + "\n", invocation.SessionNotFound},
		"one's own with an admin token": {"admin", l.Session("caller").ID, invocation.Forbidden},
		"its own with a main token":     {"wearer", l.Session("caller").ID, invocation.Forbidden},
		"unknown with a wrong token":    {"expired", "nothing", invocation.Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := s.in.Caller(t.Context(), "Bearer "+secrets[tc.token], tc.session)
			if tc.code != "" {
				if e := refusal(t, err, tc.code); e.Error() != string(tc.code) || len(e.Facts)+len(e.Problems) > 0 {
					t.Errorf("got %q with particulars, want the code alone", e.Error())
				}
				return
			}
			if err != nil || c.Extension.Slug != "caller" || c.Session.ID != tc.session {
				t.Fatalf("got %+v, %v", c, err)
			}
			if want := (invocation.Party{Slug: "caller", Partner: c.Extension.ID, Session: tc.session}); c.Party() != want {
				t.Errorf("got %+v, want %+v", c.Party(), want)
			}
		})
	}
}

// A session that was deleted is unknown in every replica within five seconds;
// here the one that deleted it knows at once.
func TestDeletedSessionsAreUnknown(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	l := s.lock(t)
	header := "Bearer " + s.secrets(t, "x")["developer"]
	if _, err := s.in.Caller(t.Context(), header, l.Session("caller").ID); err != nil {
		t.Fatal(err)
	}
	if err := s.p.Registry.DeleteSession(t.Context(), l.Session("caller").ID); err != nil {
		t.Fatal(err)
	}
	_, err := s.in.Caller(t.Context(), header, l.Session("caller").ID)
	_ = refusal(t, err, invocation.SessionNotFound)
}

// A main page token opens one session for one viewer (contract section 2).
func TestMainPageTokens(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	l := s.lock(t)
	own, other := l.Session("caller"), l.Session("probe")
	secrets := s.secrets(t, own.ID)
	for name, tc := range map[string]struct {
		secret  string
		session invocation.SessionID
		as      invocation.Actor
		code    invocation.Code
	}{
		"the wearer's":                  {secrets["wearer"], own.ID, invocation.ActorWearer, ""},
		"the keyholder's":               {secrets["keyholder"], own.ID, invocation.ActorKeyholder, ""},
		"for another session":           {secrets["wearer"], other.ID, "", invocation.SessionNotFound},
		"for an unknown session":        {secrets["wearer"], "nothing", "", invocation.SessionNotFound},
		"for a malformed session":       {secrets["wearer"], "a.b", "", invocation.SessionNotFound},
		"a developer token":             {secrets["developer"], own.ID, "", invocation.Forbidden},
		"an admin token":                {secrets["admin"], own.ID, "", invocation.Forbidden},
		"with a scheme":                 {"Bearer " + secrets["wearer"], own.ID, "", invocation.Unauthorized},
		"unknown":                       {"cmt_nothing", own.ID, "", invocation.Unauthorized},
		"empty":                         {"", own.ID, "", invocation.Unauthorized},
		"unknown, and a wrong session":  {"cmt_nothing", other.ID, "", invocation.Unauthorized},
		"a developer token, wrong page": {secrets["developer"], other.ID, "", invocation.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := s.in.MainPage(t.Context(), tc.secret, tc.session)
			if tc.code != "" {
				_ = refusal(t, err, tc.code)
				return
			}
			if err != nil || v.As != tc.as || v.Session.ID != tc.session || v.Session.Lock != l.ID {
				t.Errorf("got %+v, %v; want %s", v, err, tc.as)
			}
		})
	}
}

func TestMainPageTokensEndAfterTwelveHours(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	session := s.lock(t).Session("caller").ID
	for name, tc := range map[string]struct {
		age time.Duration
		ok  bool
	}{
		"after 11 h 59 min": {12*time.Hour - time.Minute, true},
		"after 12 h":        {12*time.Hour + time.Second, false},
	} {
		at := s.p.Ledger.Now().Add(-tc.age)
		made, secret := registry.NewToken(registry.Token{
			Kind: registry.MainToken, Session: session, Role: registry.RoleWearer, ExpiresAt: at.Add(registry.MainTokenTTL),
		}, at)
		if err := s.p.Registry.StoreToken(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		_, err := s.in.MainPage(t.Context(), secret, session)
		if tc.ok != (err == nil) || !tc.ok && invocation.CodeOf(err) != invocation.Unauthorized {
			t.Errorf("%s: got %v, want let in: %t", name, err, tc.ok)
		}
	}
}
