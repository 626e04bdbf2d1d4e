package edgeapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
)

// A sent event is what a stream sent between two empty lines.
type sentEvent struct{ kind, id, data string }

// A reader reads a stream as an EventSource does.
type reader struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Scanner
}

// follow opens a stream. Each change may be to its request.
func (s session) follow(t *testing.T, base, query string, change ...func(*http.Request)) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+s.path("/events/stream"+query), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	for _, c := range change {
		c(req)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %d %v", resp.StatusCode, resp.Header)
	}
	return &reader{t, resp.Body, bufio.NewScanner(resp.Body)}
}

func lastEventID(id string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Last-Event-ID", id) }
}

// next returns what the stream sends next, or false at its end. Comments are
// passed over.
func (r *reader) next() (e sentEvent, more bool) {
	r.t.Helper()
	for r.lines.Scan() {
		name, value, _ := strings.Cut(r.lines.Text(), ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "event":
			e.kind = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if r.lines.Text() == "" && e != (sentEvent{}) {
				return e, true
			}
		}
	}
	return e, false
}

// event returns the next event with data, and what it holds.
func (r *reader) event() (sentEvent, eventForm) {
	r.t.Helper()
	for {
		sent, more := r.next()
		if !more {
			r.t.Fatal("the stream ended:", r.lines.Err())
		}
		if sent.data == "" {
			continue
		}
		var e eventForm
		if err := json.Unmarshal([]byte(sent.data), &e); err != nil {
			r.t.Fatal(err)
		}
		return sent, e
	}
}

func (s session) done(t *testing.T, n int) eventForm {
	t.Helper()
	_, e := s.emit(t, fmt.Sprintf(`{"type":"%s.done","payload":{"n":%d}}`, s.slug, n))
	return e
}

// A stream sends what happens from now on, and one that is resumed what
// happened meanwhile, without a gap and each once.
func TestEventsAreFollowedLiveAndResumed(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	before := s.done(t, 0)
	live := s.follow(t, shared.server.URL, "")
	if first, _ := live.next(); first.data != "" || first.id == "" {
		t.Errorf("got %+v first, want a cursor alone", first)
	}
	var last string
	for n := 1; n <= 5; n++ {
		want := s.done(t, n)
		sent, got := live.event()
		if got.EventID != want.EventID || sent.id != strconv.FormatUint(want.Seq, 10) || sent.kind != "" {
			t.Fatalf("got %+v, want %s with the id %d", sent, want.EventID, want.Seq)
		}
		last = sent.id
	}
	_ = live.body.Close()
	missed := []eventForm{s.done(t, 6), s.done(t, 7)}
	resumed := s.follow(t, shared.server.URL, "?afterSeq=0", lastEventID(last)) // the header goes first
	for _, want := range append(missed, s.done(t, 8)) {
		if _, got := resumed.event(); got.EventID != want.EventID {
			t.Errorf("got %s, want %s", got.EventID, want.EventID)
		}
	}
	if _, got := s.follow(t, shared.server.URL, "?types="+s.slug+".*&afterSeq=0").event(); got.EventID != before.EventID {
		t.Errorf("got %s from the beginning, want %s", got.EventID, before.EventID)
	}
}

// While many write, every reader gets every event in order, also one that
// reconnects after each.
func TestAStreamHasNoGapWhileOthersWrite(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	const count = 60
	steady := s.follow(t, shared.server.URL, "?afterSeq=0&types="+s.slug+".*")
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for n := range count {
			s.done(t, n)
		}
	}()
	var cursor string
	for n := range count {
		hopping := s.follow(t, shared.server.URL, "?types="+s.slug+".*", lastEventID(max(cursor, "0")))
		hop, a := hopping.event()
		_ = hopping.body.Close()
		sent, b := steady.event()
		if a.EventID != b.EventID || hop.id != sent.id {
			t.Fatalf("event %d: got %s of the reader that reconnects, %s of the other", n, hop.data, sent.data)
		}
		cursor = hop.id
	}
	<-wrote
}

func TestWhatAStreamRefuses(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	c := shared.client(t, s.token)
	path := s.path("/events/stream")
	for _, id := range []string{"x", "-1", "1.5", "9007199254740992", "1,2", "١"} {
		p := c.with("Last-Event-ID", id).do(http.MethodGet, path, nil).refused(t, 400, invocation.MalformedRequest)
		if _, found := p.paths(t)["/Last-Event-ID"]; !found {
			t.Errorf("%q: got %s", id, p.Details)
		}
	}
	c.do(http.MethodGet, path+"?afterSeq=-1", nil).refused(t, 400, invocation.MalformedRequest)
	c.do(http.MethodGet, path+"?types=*", nil).refused(t, 400, invocation.MalformedRequest)
	shared.client(t, "nobody's").do(http.MethodGet, path, nil).refused(t, 401, invocation.Unauthorized)
	shared.client(t, shared.newExtension(t).token).do(http.MethodGet, path, nil).refused(t, 404, invocation.SessionNotFound)

	for range 5 {
		s.follow(t, shared.server.URL, "").next()
	}
	if p := c.do(http.MethodGet, path, nil).refused(t, 429, invocation.RateLimited); !strings.Contains(string(p.Details), `"streams"`) {
		t.Errorf("got %s, want the bucket named", p.Details)
	}
}

// A stream whose token was revoked ends at its next beat; one that has nothing
// to send shows that it is alive, and how far it has come.
func TestAStreamBeatsAndEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	st, err := newStack(t.TempDir(), platform.Config{}, edgeapi.Config{AdminToken: adminSecret, Beat: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.stop)
	s := st.newSession(t)
	r := s.follow(t, st.server.URL, "?types=other.*")
	begin, _ := r.next()
	a := st.client(t, s.token).do(http.MethodPost, s.path("/events"), fmt.Sprintf(`{"type":"%s.done","payload":{}}`, s.slug)).want(t, 201)
	var e eventForm
	a.into(t, &e)
	moved, _ := r.next()
	if id, err := strconv.ParseUint(moved.id, 10, 64); err != nil || id < e.Seq || moved.id == begin.id || moved.data != "" {
		t.Errorf("got %+v, want an id at or after %d and no data", moved, e.Seq)
	}
	tokens := "/api/admin/extensions/" + s.slug + "/tokens"
	var list struct{ Items []struct{ ID string } }
	st.admin(t).do(http.MethodGet, tokens, nil).want(t, 200).into(t, &list)
	for _, token := range list.Items {
		st.admin(t).do(http.MethodDelete, tokens+"/"+token.ID, nil).want(t, 204)
	}
	if got, more := r.next(); more {
		t.Errorf("got %+v, want the end", got)
	}
}

// A stream ends when its server begins to drain, not when that gives up.
func TestAStreamEndsWhenItsServerDrains(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	bound := make(chan net.Addr, 1)
	part := service.HTTPServer(service.HTTPConfig{
		Addr: "127.0.0.1:0", OnListen: func(a net.Addr) { bound <- a }, ReadTimeout: time.Millisecond, WriteTimeout: time.Millisecond,
	}, shared.server.Config.Handler)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx, time.Minute, part) }()
	r := s.follow(t, "http://"+(<-bound).String(), "")
	r.next()
	want := s.done(t, 1)
	if _, got := r.event(); got.EventID != want.EventID {
		t.Errorf("got %s, want %s: a server's time-outs are not for streams", got.EventID, want.EventID)
	}
	stop()
	if got, more := r.next(); more {
		t.Errorf("got %+v, want the end", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
