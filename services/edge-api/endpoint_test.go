package edgeapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/wire"
)

type stateForm struct {
	State                                                 string
	FailingSince, NextProbeAt, DisabledReason, DisabledAt *string
}

type endpointForm struct {
	Slug, WebhookURL string
	OperationalURL   *string
	MaxPerSecond     int
	Endpoint         stateForm
}

func (e extension) update(t *testing.T, change func(*registry.Extension)) {
	t.Helper()
	_, err := shared.platform.Registry.UpdateExtension(t.Context(), invocation.Slug(e.slug), func(x *registry.Extension) error {
		change(x)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Developers see and change their own endpoint, and enable it when the platform
// disabled it, but not when an operator did.
func TestDevelopersLookAfterTheirOwnEndpoint(t *testing.T) {
	t.Parallel()
	e := shared.newExtension(t)
	own := "/api/extensions/" + e.slug + "/endpoint"
	developer := shared.client(t, e.token)
	read := func() (got endpointForm) {
		brokertest.Eventually(t, time.Minute, "the caches know", func() bool {
			developer.do(http.MethodGet, own, nil).want(t, 200).into(t, &got)
			return true
		})
		return got
	}
	if got := read(); got.Slug != e.slug || got.Endpoint.State != "active" || got.OperationalURL != nil {
		t.Errorf("got %+v", got)
	}
	var patched endpointForm
	developer.do(http.MethodPatch, own, `{"webhookUrl":"http://127.0.0.1:1/new","operationalUrl":"http://127.0.0.1:1/ops","maxPerSecond":7}`).want(t, 200).into(t, &patched)
	if patched.WebhookURL != "http://127.0.0.1:1/new" || patched.OperationalURL == nil || patched.MaxPerSecond != 7 {
		t.Errorf("got %+v", patched)
	}
	developer.do(http.MethodPatch, own, `{"webhookUrl":"http://10.0.0.1/"}`).refused(t, 400, invocation.InvalidInput)
	developer.do(http.MethodPatch, own, `{"disabled":false}`).refused(t, 400, invocation.MalformedRequest)
	developer.do(http.MethodPatch, own, `{}`).refused(t, 400, invocation.InvalidInput)

	now := time.Now()
	e.update(t, func(x *registry.Extension) { x.Suspend(registry.SuspendedFailing, now) })
	var enabled endpointForm
	brokertest.Eventually(t, time.Minute, "it is shown disabled", func() bool {
		got := read()
		return got.Endpoint.State == "disabled" && *got.Endpoint.DisabledReason == "failing"
	})
	developer.do(http.MethodPost, own+"/enable", nil).want(t, 200).into(t, &enabled)
	if enabled.Endpoint.State != "held" || enabled.Endpoint.NextProbeAt == nil {
		t.Errorf("got %+v, want a probe before all else", enabled.Endpoint)
	}
	developer.do(http.MethodPost, own+"/enable", nil).want(t, 200)

	e.update(t, func(x *registry.Extension) { x.WebhookURL = "" })
	p := developer.do(http.MethodPost, own+"/enable", nil).refused(t, 409, invocation.Unavailable)
	if p.fact(t, "reason") != "endpoint-not-configured" {
		t.Errorf("got %s", p.Details)
	}
	shared.admin(t).do(http.MethodPatch, "/api/admin/extensions/"+e.slug, `{"disabled":true}`).want(t, 200)
	developer.do(http.MethodPost, own+"/enable", nil).refused(t, 403, invocation.Forbidden)
}

// Dead deliveries are read with their attempts, and sent again by endpoint, type
// and time, after a dry run that counts them.
func TestManyDeadDeliveriesAreReplayed(t *testing.T) {
	t.Parallel()
	s, other := shared.newSession(t), shared.newSession(t)
	d := kill(t, s, wire.LockEventCreated).Failed(ledger.Try{At: 1762257600000, Status: 503, Duration: 41, Answer: "later"})
	d = d.Failed(ledger.Try{At: 1762257660000, Duration: 10000, Error: "timeout"})
	if err := shared.platform.Ledger.KeepDead(t.Context(), d, "the target did not answer in time"); err != nil {
		t.Fatal(err)
	}
	developer := shared.client(t, s.token)
	own, replays := "/api/extensions/"+s.slug+"/deliveries", "/api/extensions/"+s.slug+"/replays"
	var detail struct {
		LastStatus *int
		Log        []struct {
			Status        *int
			DurationMs    int64
			Error, Answer *string
		}
	}
	for _, a := range []answer{
		developer.do(http.MethodGet, own+"/"+ledger.DeadID(d), nil),
		shared.admin(t).do(http.MethodGet, "/api/admin/deliveries/"+ledger.DeadID(d), nil),
	} {
		a.want(t, 200).into(t, &detail)
		if l := detail.Log; len(l) != 2 || *l[0].Status != 503 || *l[0].Answer != "later" || l[0].Error != nil || l[1].Status != nil || *l[1].Error != "timeout" || l[1].DurationMs != 10000 {
			t.Errorf("got %s", a.body)
		}
	}
	foreign := kill(t, other, wire.LockEventCreated)
	developer.do(http.MethodGet, own+"/"+ledger.DeadID(foreign), nil).refused(t, 404, invocation.ResourceNotFound)
	developer.do(http.MethodPost, own+"/"+ledger.DeadID(foreign)+"/replay", nil).refused(t, 404, invocation.ResourceNotFound)

	line := kill(t, s, wire.ActionLogCreated)
	var early []string
	middle := time.Now().Add(time.Hour)
	late := kill(t, s, wire.LockEventCreated)
	late.FirstAt = middle.Add(time.Minute).UnixMilli()
	if err := shared.platform.Ledger.KeepDead(t.Context(), late, "no"); err != nil {
		t.Fatal(err)
	}
	early = append(early, ledger.DeadID(d), ledger.DeadID(line))
	listed := func(query string) (ids []string) {
		var page struct{ Items []deliveryForm }
		developer.do(http.MethodGet, own+"?"+query, nil).want(t, 200).into(t, &page)
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		slices.Sort(ids)
		return ids
	}
	slices.Sort(early)
	if got := listed("to=" + url.QueryEscape(middle.Format(time.RFC3339))); !slices.Equal(got, early) {
		t.Errorf("got %v before a time, want %v", got, early)
	}
	if got := listed("from=" + url.QueryEscape(middle.Format(time.RFC3339))); len(got) != 1 || got[0] != ledger.DeadID(late) {
		t.Errorf("got %v from a time on", got)
	}
	if got := listed("types=none.*"); len(got) != 0 {
		t.Errorf("got %v of another type", got)
	}
	var did struct{ Matched, Replayed, Skipped int }
	body := fmt.Sprintf(`{"type":"%s.*","to":%q,"dryRun":true}`, s.slug, middle.Format(time.RFC3339))
	developer.do(http.MethodPost, replays, body).want(t, 200).into(t, &did)
	if did.Matched != 2 || did.Replayed != 0 || len(listed("")) != 3 {
		t.Errorf("got %+v, want a dry run to send nothing", did)
	}
	developer.do(http.MethodPost, replays, fmt.Sprintf(`{"to":%q}`, middle.Format(time.RFC3339))).want(t, 200).into(t, &did)
	if did.Matched != 2 || did.Replayed != 2 || len(listed("")) != 1 {
		t.Errorf("got %+v and %v, want two sent and one left", did, listed(""))
	}
	uninstalled := shared.newSession(t)
	kill(t, uninstalled, wire.LockEventCreated)
	shared.admin(t).do(http.MethodDelete, "/api/admin/sessions/"+uninstalled.id, nil).want(t, 204)
	shared.admin(t).do(http.MethodPost, "/api/admin/replays", fmt.Sprintf(`{"endpoint":%q}`, uninstalled.slug)).want(t, 200).into(t, &did)
	if did.Matched != 1 || did.Skipped != 1 || did.Replayed != 0 {
		t.Errorf("got %+v, want what has no session any more skipped", did)
	}
	shared.admin(t).do(http.MethodPatch, "/api/admin/extensions/"+other.slug, `{"disabled":true}`).want(t, 200)
	brokertest.Eventually(t, time.Minute, "the caches know", func() bool {
		shared.admin(t).do(http.MethodPost, "/api/admin/replays", fmt.Sprintf(`{"endpoint":%q}`, other.slug)).want(t, 200).into(t, &did)
		return did.Skipped == 1 && did.Matched == 1
	})
	for _, bad := range []string{`{"endpoint":"A b"}`, `{"from":"yesterday"}`, `{"cursor":"eA"}`, `{"cursor":"MTg0NDY3NDQwNzM3MDk1NTE2MTU"}`, `{"type":""}`} {
		shared.admin(t).do(http.MethodPost, "/api/admin/replays", bad).refused(t, 400, invocation.InvalidInput)
	}
	developer.do(http.MethodPost, replays, `{"endpoint":"x"}`).refused(t, 400, invocation.MalformedRequest)
	for _, bad := range []string{"from=yesterday", "to=1"} {
		developer.do(http.MethodGet, own+"?"+bad, nil).refused(t, 400, invocation.MalformedRequest)
	}
}

// What no handler could deal with is listed with its reason.
func TestDeadMessagesAreListed(t *testing.T) {
	t.Parallel()
	err := shared.platform.Ledger.Bury(t.Context(), "DELIVERY_0", broker.Delivery{Subject: "dlv.0.x.y.z", Sequence: 1 << 40, Data: []byte("{")}, fmt.Errorf("no JSON"))
	if err != nil {
		t.Fatal(err)
	}
	type message struct{ Stream, Subject, Reason, At string }
	got := everything(t, "/api/admin/dead-messages?limit=1", func(m message) string { return m.Stream + " " + m.Subject + " " + m.Reason })
	if !slices.Contains(got, "DELIVERY_0 dlv.0.x.y.z no JSON") {
		t.Errorf("got %v", got)
	}
}
