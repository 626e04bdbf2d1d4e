package edgeapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/telemetry"
)

type eventForm struct {
	EventID, Type, CorrelationID string
	Seq                          uint64
	Depth                        int
	CausationID                  *string
	Source                       struct{ Extension, Actor string }
}

type eventsForm struct {
	Events             []eventForm
	HasMore, Truncated bool
	LastSeq, OldestSeq uint64
}

func (s session) emit(t *testing.T, body string) (answer, eventForm) {
	t.Helper()
	a := shared.client(t, s.token).do(http.MethodPost, s.path("/events"), body).want(t, 201)
	var e eventForm
	a.into(t, &e)
	return a, e
}

func (s session) read(t *testing.T, query string) eventsForm {
	t.Helper()
	var page eventsForm
	shared.client(t, s.token).do(http.MethodGet, s.path("/events"+query), nil).want(t, 200).into(t, &page)
	return page
}

func TestEventsAreReadAfterACursor(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	var ids []string
	for i := range 5 {
		_, e := s.emit(t, fmt.Sprintf(`{"type":"%s.done","payload":{"n":%d}}`, s.slug, i))
		ids = append(ids, e.EventID)
	}
	var got []string
	cursor := uint64(0)
	for {
		page := s.read(t, fmt.Sprintf("?limit=2&types=%s.*&afterSeq=%d", s.slug, cursor))
		for _, e := range page.Events {
			got = append(got, e.EventID)
		}
		if cursor = page.LastSeq; !page.HasMore {
			break
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("got %v, want %v", got, ids)
	}
	page := s.read(t, fmt.Sprintf("?afterSeq=%d", cursor))
	if len(page.Events) != 0 || page.LastSeq != cursor || page.OldestSeq == 0 {
		t.Errorf("got %+v, want nothing new after %d", page, cursor)
	}
}

func TestAPageWithoutEventsIsNoNull(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	a := shared.client(t, s.token).do(http.MethodGet, s.path("/events?types=none.*"), nil).want(t, 200)
	if !strings.HasPrefix(string(a.body), `{"events":[],"hasMore":false,"lastSeq":`) {
		t.Errorf("S-02: got %s", a.body)
	}
}

func TestTypesSelectEvents(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t) // its installation is an event, too
	s.emit(t, fmt.Sprintf(`{"type":"%s.done","payload":{}}`, s.slug))
	const changed = "lock.capabilities-changed"
	done := s.slug + ".done"
	for query, want := range map[string][]string{
		"":                                 {changed, done},
		"?types=lock.*":                    {changed},
		"?types=" + done:                   {done},
		"?types=" + done + "," + changed:   {changed, done},
		"?types=" + done + "&types=lock.*": {changed, done},
		"?types=" + done + ",a.b&types=x.y,lock.*": {changed, done},
		"?types=lock.freeze":                       nil,
	} {
		var got []string
		for _, e := range s.read(t, query).Events {
			got = append(got, e.Type)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	many := strings.Repeat("a.b,", 50) + "a.b"
	for query, want := range map[string]string{
		"afterSeq=-1":                      "/afterSeq must be >= 0",
		"afterSeq=x":                       "/afterSeq must be integer",
		"afterSeq=":                        "/afterSeq must be integer",
		"afterSeq=1.5":                     "/afterSeq must be integer",
		"afterSeq=9007199254740992":        "/afterSeq must be <= 9007199254740991",
		"afterSeq=99999999999999999999999": "/afterSeq must be integer",
		"afterSeq=1&afterSeq=2":            "/afterSeq must NOT be repeated",
		"limit=0":                          "/limit must be >= 1",
		"limit=101":                        "/limit must be <= 100",
		"limit=ten":                        "/limit must be integer",
		"types=*":                          "/types/0 must be the id of an event or slug.*",
		"types=":                           "/types/0 must be the id of an event or slug.*",
		"types=lock.*,A.b":                 "/types/1 must be the id of an event or slug.*",
		"types=lock.>":                     "/types/0 must be the id of an event or slug.*",
		"types=" + many:                    "/types must NOT have more than 50 items",
		"types=%zz":                        " must be a valid query string",
	} {
		p := shared.client(t, s.token).do(http.MethodGet, s.path("/events?"+query), nil).refused(t, 400, invocation.MalformedRequest)
		path, says, _ := strings.Cut(want, " ")
		if got := p.paths(t); got[path] != says {
			t.Errorf("%s: got %s, want %q at %q", query, p.Details, says, path)
		}
	}
	s.read(t, "?types="+url.QueryEscape(strings.TrimSuffix(many, ",a.b"))+"&limit=100&afterSeq=9007199254740991&other=1")
}

func TestAnEventBeginsOrFollowsAChain(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	a, root := s.emit(t, fmt.Sprintf(`{"type":"%s.done","payload":{"n":9007199254740993}}`, s.slug))
	if root.CorrelationID != root.EventID || root.Depth != 0 || root.Source.Extension != s.slug || root.Source.Actor != "extension" {
		t.Errorf("got %s, want a root of the extension", a.body)
	}
	if !strings.Contains(string(a.body), `"payload":{"n":9007199254740993}`) {
		t.Errorf("SEC-34: got %s, want the same digits", a.body)
	}
	if got := a.header.Get("X-Trace-Id"); got != telemetry.TraceIDOf(root.EventID) {
		t.Errorf("got trace %s, want the chain's", got)
	}
	a, next := s.emit(t, fmt.Sprintf(`{"type":"%s.done","payload":{},"causationId":%q}`, s.slug, root.EventID))
	if next.Depth != 1 || next.CorrelationID != root.EventID || *next.CausationID != root.EventID {
		t.Errorf("got %s, want it caused by %s", a.body, root.EventID)
	}
}

func TestAnEmissionsKeyHolds(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	body := fmt.Sprintf(`{"type":"%s.done","payload":{"n":1},"idempotencyKey":%q}`, s.slug, unique("key"))
	first, _ := s.emit(t, body)
	second, _ := s.emit(t, body)
	if string(first.body) != string(second.body) {
		t.Errorf("got %s, want the first event %s", second.body, first.body)
	}
	other := strings.Replace(body, `"n":1`, `"n":2`, 1)
	shared.client(t, s.token).do(http.MethodPost, s.path("/events"), other).refused(t, 409, invocation.IdempotencyConflict)
}

func TestEmissionsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	ended := shared.install(t, s.extension, shared.newLock(t))
	shared.admin(t).do(http.MethodPost, "/api/admin/locks/"+ended.lock+"/finish", nil).want(t, 200)
	event := func(more string) string { return fmt.Sprintf(`{"type":"%s.done"%s}`, s.slug, more) }
	tests := map[string]struct {
		session session
		body    string
		status  int
		code    invocation.Code
	}{
		"a type that is not declared":      {s, `{"type":"lock.time-changed","payload":{}}`, 404, "unknown-event"},
		"a type that is none":              {s, `{"type":"","payload":{}}`, 404, "unknown-event"},
		"no payload":                       {s, event(""), 400, "malformed-request"},
		"a payload that is a list":         {s, event(`,"payload":[]`), 400, "malformed-request"},
		"a payload off its schema":         {s, event(`,"payload":{"n":"x"}`), 400, "invalid-input"},
		"a payload of 65 levels":           {s, event(`,"payload":` + nested(65)), 400, "invalid-input"},
		"a payload over 16 KiB":            {s, event(`,"payload":{"a":"` + strings.Repeat("y", 16<<10) + `"}`), 413, "payload-too-large"},
		"an empty key":                     {s, event(`,"payload":{},"idempotencyKey":""`), 400, "invalid-input"},
		"a key too long":                   {s, event(`,"payload":{},"idempotencyKey":"` + strings.Repeat("k", 201) + `"`), 400, "invalid-input"},
		"a key that is null":               {s, event(`,"payload":{},"idempotencyKey":null`), 400, "malformed-request"},
		"an empty cause":                   {s, event(`,"payload":{},"causationId":""`), 400, "invalid-causation"},
		"a member nobody knows":            {s, event(`,"payload":{},"actor":"wearer"`), 400, "malformed-request"},
		"a lock that has ended":            {ended, event(`,"payload":{}`), 409, "unavailable"},
		"an event of another lock's chain": {ended, event(`,"payload":{},"causationId":"0123456789abcdef01234567"`), 409, "unavailable"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared.client(t, test.session.token).do(http.MethodPost, test.session.path("/events"), test.body).refused(t, test.status, test.code)
		})
	}
}
