package edgeapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
)

// index notes links of a chain, as the workers do.
func index(t *testing.T, correlation string, links ...ledger.Link) {
	t.Helper()
	for _, l := range links {
		w, err := shared.platform.Ledger.Index(invocation.ID(correlation), l)
		if err == nil {
			err = w.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAChainIsShownWhole(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	_, root := s.emit(t, fmt.Sprintf(`{"type":"%s.done","payload":{}}`, s.slug))
	lock, receiver := invocation.LockID(s.lock), invocation.Slug("receiver")
	// What followed is noted before what it followed from.
	a, inv := s.invoke(t, "reject", call(fmt.Sprintf(`,"causationId":%q`, root.EventID)))
	_, pending := s.invoke(t, "hold", call(fmt.Sprintf(`,"causationId":%q`, inv.InvocationID)))
	attempt := func(try int, status string) ledger.Link {
		return ledger.Link{Kind: ledger.DeliveryLink, ID: invocation.ID(root.EventID), Lock: lock, Extension: receiver, Status: status, Try: try, At: time.Now().UnixMilli()}
	}
	index(t, root.CorrelationID,
		ledger.Link{Kind: ledger.InvocationLink, ID: invocation.ID(pending.InvocationID), Lock: lock},
		attempt(1, "pending"), attempt(2, "delivered"),
		ledger.Link{Kind: ledger.EventLink, ID: invocation.ID(root.EventID), Lock: lock},
		ledger.Link{Kind: ledger.EventLink, ID: "0123456789abcdef01234567", Lock: lock}) // no longer kept
	var chain struct {
		CorrelationID, TraceID string
		Nodes                  []struct {
			Kind, ID, Status, Name string
			ParentID, ErrorCode    *string
			Caller                 *string
			Attempts, Depth        int
		}
	}
	shared.admin(t).do(http.MethodGet, "/api/admin/chains/"+root.CorrelationID, nil).want(t, 200).into(t, &chain)
	if chain.TraceID != telemetry.TraceIDOf(root.EventID) || chain.TraceID != a.header.Get("X-Trace-Id") {
		t.Errorf("got trace %s, want the chain's", chain.TraceID)
	}
	var got []string
	for _, n := range chain.Nodes {
		parent, code := "-", "-"
		if n.ParentID != nil {
			parent = *n.ParentID
		}
		if n.ErrorCode != nil {
			code = *n.ErrorCode
		}
		got = append(got, fmt.Sprintf("%s %s<%s %s %s %d", n.Kind, n.ID, parent, n.Status, code, n.Attempts))
	}
	want := []string{
		"event " + root.EventID + "<- recorded - 0",
		"invocation " + inv.InvocationID + "<" + root.EventID + " rejected not-today 1",
		"delivery receiver-" + root.EventID + "<" + root.EventID + " delivered - 2",
		"invocation " + pending.InvocationID + "<" + inv.InvocationID + " pending - 0",
	}
	if slices.Sort(got[1:]); got[0] != want[0] {
		t.Errorf("got %v first, want the root", got[0])
	}
	if slices.Sort(want[1:]); !slices.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	for _, none := range []string{"0123456789abcdef01234567", "x", "*"} {
		shared.admin(t).do(http.MethodGet, "/api/admin/chains/"+none, nil).refused(t, 404, invocation.ResourceNotFound)
	}
}

type deliveryForm struct {
	ID, Endpoint, Event, SubjectID, SubjectType, State string
	CorrelationID, LastError                           *string
	Attempts                                           int
}

// kill keeps a delivery of a session's event among the dead.
func kill(t *testing.T, s session, kind string) ledger.Delivery {
	t.Helper()
	_, e := s.emit(t, fmt.Sprintf(`{"type":"%s.done","payload":{}}`, s.slug))
	d := ledger.NewEventDelivery(invocation.Event{
		ID: invocation.ID(e.EventID), Lock: invocation.LockID(s.lock), Chain: invocation.Chain{Correlation: invocation.ID(e.CorrelationID)}, CreatedAt: time.Now(),
	}, invocation.Party{Slug: invocation.Slug(s.slug), Session: invocation.SessionID(s.id)}, json.RawMessage(fmt.Sprintf(`{"type":"%s.done"}`, s.slug)))
	d.Kind, d.Attempt = kind, 5
	if err := shared.platform.Ledger.KeepDead(t.Context(), d, "the receiver answered with status 500"); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDeadDeliveriesAreListedAndReplayed(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	var want []string
	for range 3 {
		want = append(want, ledger.DeadID(kill(t, s, wire.LockEventCreated)))
	}
	line := kill(t, s, wire.ActionLogCreated)
	want = append(want, ledger.DeadID(line))
	path := "/api/admin/deliveries?limit=2&state=dead&endpoint=" + s.slug
	list := func() []string {
		return everything(t, path, func(d deliveryForm) string {
			if d.Endpoint != s.slug || d.State != "dead" || d.Attempts != 5 || *d.LastError != "the receiver answered with status 500" || d.SubjectType != s.slug+".done" {
				t.Errorf("got %+v", d)
			}
			if (d.CorrelationID == nil) != (d.Event == wire.ActionLogCreated) {
				t.Errorf("got %+v, want a chain for events only", d)
			}
			return d.ID
		})
	}
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := everything(t, "/api/admin/deliveries?limit=2", func(d deliveryForm) string { return d.ID }); len(got) < 4 {
		t.Errorf("got %v, want those of all endpoints", got)
	}

	var revived deliveryForm
	shared.admin(t).do(http.MethodPost, "/api/admin/deliveries/"+want[0]+"/replay", nil).want(t, 202).into(t, &revived)
	if revived.State != "pending" || revived.ID != want[0] {
		t.Errorf("got %+v, want it pending", revived)
	}
	if got := list(); !slices.Equal(got, want[1:]) {
		t.Errorf("got %v, want it gone from %v", got, want)
	}
	m, err := shared.platform.Conn.JS.Stream(t.Context(), ledger.DeliveryStream(invocation.LockID(s.lock).Partition()))
	if err != nil {
		t.Fatal(err)
	}
	queued, err := m.GetLastMsgForSubject(t.Context(), fmt.Sprintf("dlv.%d.%s.%s.%s", invocation.LockID(s.lock).Partition(), s.slug, s.lock, revived.SubjectID))
	if err != nil {
		t.Fatal(err)
	}
	var d ledger.Delivery
	if err := json.Unmarshal(queued.Data, &d); err != nil || d.Attempt != 1 {
		t.Errorf("got %s, want its first attempt", queued.Data)
	}

	shared.admin(t).do(http.MethodPatch, "/api/admin/extensions/"+s.slug, `{"disabled":true}`).want(t, 200)
	p := shared.admin(t).do(http.MethodPost, "/api/admin/deliveries/"+want[1]+"/replay", nil).refused(t, 409, invocation.Unavailable)
	if p.fact(t, "reason") != "extension-disabled" {
		t.Errorf("got %s", p.Details)
	}
	shared.admin(t).do(http.MethodPatch, "/api/admin/extensions/"+s.slug, `{"disabled":false,"webhookUrl":null}`).want(t, 200)
	p = shared.admin(t).do(http.MethodPost, "/api/admin/deliveries/"+want[1]+"/replay", nil).refused(t, 409, invocation.Unavailable)
	if p.fact(t, "reason") != "endpoint-not-configured" {
		t.Errorf("got %s", p.Details)
	}
	shared.admin(t).do(http.MethodDelete, "/api/admin/sessions/"+s.id, nil).want(t, 204)
	shared.admin(t).do(http.MethodPost, "/api/admin/deliveries/"+want[1]+"/replay", nil).refused(t, 409, invocation.ResourceConflict)
	if got := list(); !slices.Equal(got, want[1:]) {
		t.Errorf("got %v, want those that were not sent still there: %v", got, want[1:])
	}
	for _, none := range []string{want[0], "x", "*", "a.b", "-0123456789abcdef01234567"} {
		shared.admin(t).do(http.MethodPost, "/api/admin/deliveries/"+none+"/replay", nil).refused(t, 404, invocation.ResourceNotFound)
	}
	for _, query := range []string{"endpoint=A.b", "state=pending", "cursor=eA", "cursor=MTg0NDY3NDQwNzM3MDk1NTE2MTU"} {
		shared.admin(t).do(http.MethodGet, "/api/admin/deliveries?"+query, nil).refused(t, 400, invocation.MalformedRequest)
	}
}
