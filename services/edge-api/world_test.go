package edgeapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var serial atomic.Int64

// unique returns a word that no other test uses.
func unique(word string) string { return fmt.Sprintf("%s-%d", word, serial.Add(1)) }

// An extension is a partner extension with its token.
type extension struct {
	slug, token string
}

// A session is an extension on a lock.
type session struct {
	extension
	id, lock string
}

// path returns an endpoint of the session.
func (s session) path(rest string) string { return "/api/extensions/sessions/" + s.id + rest }

func (s session) action(name string) string { return s.path("/actions/" + s.slug + "." + name) }

// manifestOf returns a manifest with what the tests' dispatcher answers.
func manifestOf(slug string) string {
	return strings.ReplaceAll(`{"commands":[
		{"id":"SLUG.echo","title":"Echo","description":"Says it again.","invocableBy":["wearer","keyholder","extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
		{"id":"SLUG.reject","title":"Reject","invocableBy":["extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
		{"id":"SLUG.hold","title":"Hold","invocableBy":["extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
		{"id":"SLUG.mine","title":"Mine","invocableBy":["wearer"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
		{"id":"SLUG.count","title":"Count","invocableBy":["extension"],"inputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":1},"habit":{"type":"string","x-chaster-options":true}}},"outputSchema":{"type":"object"}}],
		"events":[{"id":"SLUG.done","payloadSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}`, "SLUG", slug)
}

// newExtension registers an extension with a webhook, a token and a manifest.
func (s *stack) newExtension(t *testing.T) extension {
	t.Helper()
	x := extension{slug: unique("ext")}
	s.admin(t).do(http.MethodPost, "/api/admin/extensions", map[string]any{
		"slug": x.slug, "displayName": "Extension " + x.slug, "webhookUrl": "http://127.0.0.1:9/hook",
	}).want(t, 201)
	x.token = s.newToken(t, x.slug)
	s.client(t, x.token).do(http.MethodPut, "/api/extensions/"+x.slug+"/manifest", manifestOf(x.slug)).want(t, 200)
	return x
}

func (s *stack) newToken(t *testing.T, slug string) string {
	t.Helper()
	var made struct{ Token string }
	s.admin(t).do(http.MethodPost, "/api/admin/extensions/"+slug+"/tokens", `{}`).want(t, 201).into(t, &made)
	return made.Token
}

// newLock makes a lock with a keyholder.
func (s *stack) newLock(t *testing.T) string {
	t.Helper()
	return s.newLockOf(t, map[string]any{"keyholder": map[string]any{"id": "kh_1", "name": "Sam"}})
}

func (s *stack) newLockOf(t *testing.T, more map[string]any) string {
	t.Helper()
	body := map[string]any{"wearer": map[string]any{"id": "w_1", "name": "Robin"}, "endDate": time.Now().Add(24 * time.Hour)}
	maps.Copy(body, more)
	var made struct{ ID string }
	s.admin(t).do(http.MethodPost, "/api/admin/locks", body).want(t, 201).into(t, &made)
	return made.ID
}

// install puts an extension on a lock.
func (s *stack) install(t *testing.T, x extension, lock string) session {
	t.Helper()
	var made struct{ SessionID string }
	s.admin(t).do(http.MethodPost, "/api/admin/locks/"+lock+"/sessions", map[string]any{"slug": x.slug}).want(t, 201).into(t, &made)
	return session{x, made.SessionID, lock}
}

// newSession makes an extension, a lock and puts the one on the other.
func (s *stack) newSession(t *testing.T) session {
	t.Helper()
	return s.install(t, s.newExtension(t), s.newLock(t))
}

// call returns the body of a call with a fresh key; more is further members.
func call(more string) string {
	return fmt.Sprintf(`{"idempotencyKey":%q%s}`, unique("key"), more)
}
