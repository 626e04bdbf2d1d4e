package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// answer is what JetStream answers to who asks for a stream: a service can have
// it delivered to any subject.
const answer = `{"type":"io.nats.jetstream.api.v1.stream_info_response","config":{"name":"LOCK_0"},"state":{"messages":1}}`

// with returns a record with one field set to another value; the path leads into
// objects by dots.
func with(tb testing.TB, data []byte, path string, value any) []byte {
	tb.Helper()
	var record map[string]any
	if err := json.Unmarshal(data, &record); err != nil {
		tb.Fatal(err)
	}
	at, names := record, strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		inner, ok := at[name].(map[string]any)
		if !ok {
			tb.Fatalf("%s has no object %s", data, name)
		}
		at = inner
	}
	at[names[len(names)-1]] = value
	out, err := json.Marshal(record)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Whatever lies where it does not belong is refused by each consumer's parser
// (SEC-111): foreign messages, answers of JetStream, records of others, and
// records from which a subject with a wildcard would be built.
func TestParsersRefuseWhatIsPlanted(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	made := ledgertest.NewLock(t, env.Ledger)
	inv := ledgertest.NewInvocation(env.Ledger, made.Lock, "k")
	record(t, env.Ledger, inv)
	request := deliver(t, env, inv)
	stored, err := env.Conn.Stored(t.Context(), ledger.LockStream(0), broker.StoredRequest{Sequence: made.Seq})
	if err != nil || stored == nil {
		t.Fatalf("read the transition: %v", err)
	}
	entry := broker.Delivery{Subject: stored.Subject, Data: stored.Data, Sequence: stored.Sequence}
	d := newDelivery(made.Lock, 16)
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	delivery := broker.Delivery{Subject: ledger.DeliverySubject(d), Data: data}
	operation := broker.Delivery{Subject: "ep.tell.a." + string(inv.ID), Data: []byte(`{"id":"` + string(inv.ID) + `","ext":"a","kind":"endpoint.disabled","at":1}`)}
	timer := broker.Delivery{Subject: "due.0." + string(made.Lock)}
	check := broker.Delivery{Subject: "ep.check.a"}
	other := invocation.NewLockID(0)

	for name, tc := range map[string]struct {
		good    broker.Delivery
		parse   func(broker.Delivery) error
		planted map[string]broker.Delivery
	}{
		"a request": {request, func(d broker.Delivery) error { _, err := ledger.ParseRequest(d); return err }, map[string]broker.Delivery{
			"a lock with a wildcard":     {Subject: request.Subject, Data: with(t, request.Data, "lock", "00*")},
			"a caller with a wildcard":   {Subject: request.Subject, Data: with(t, request.Data, "from.s", "*")},
			"a target with a dot":        {Subject: request.Subject, Data: with(t, request.Data, "to.s", "a.b")},
			"a chain of all":             {Subject: request.Subject, Data: with(t, request.Data, "chain.r", ">")},
			"a cause that is none":       {Subject: request.Subject, Data: with(t, request.Data, "chain.c", "x y")},
			"a subject that is no id's":  {Subject: "inv.0.req.x", Data: with(t, request.Data, "id", "x")},
			"a transition":               {Subject: request.Subject, Data: entry.Data},
			"as the reply trick does it": {Subject: delivery.Subject, Data: delivery.Data},
		}},
		"a transition": {entry, func(d broker.Delivery) error { _, err := ledger.ParseEntry(d); return err }, map[string]broker.Delivery{
			"another lock's":             {Subject: "lock.0." + string(other), Data: entry.Data, Sequence: 9},
			"a chain of all":             {Subject: entry.Subject, Data: with(t, entry.Data, "chain.r", ">")},
			"made for no id":             {Subject: entry.Subject, Data: with(t, entry.Data, "by", "*")},
			"a request":                  {Subject: entry.Subject, Data: request.Data},
			"as the reply trick does it": {Subject: request.Subject, Data: request.Data},
		}},
		"a delivery": {delivery, func(d broker.Delivery) error { _, err := ledger.ParseDelivery(d); return err }, map[string]broker.Delivery{
			"of a slug with a dot":       {Subject: "dlv.0.a.b." + string(made.Lock) + "." + d.ID, Data: with(t, data, "ext", "a.b")},
			"of no id":                   {Subject: "dlv.0.a." + string(made.Lock) + ".x", Data: with(t, data, "id", "x")},
			"a chain of all":             {Subject: delivery.Subject, Data: with(t, data, "chain.r", ">")},
			"a transition":               {Subject: delivery.Subject, Data: entry.Data},
			"as the reply trick does it": {Subject: entry.Subject, Data: entry.Data},
		}},
		"an operation": {operation, func(d broker.Delivery) error { _, err := ledger.ParseOperation(d); return err }, map[string]broker.Delivery{
			"of a slug with a dot":       {Subject: "ep.tell.a.b." + string(inv.ID), Data: with(t, operation.Data, "ext", "a.b")},
			"of no id":                   {Subject: "ep.tell.a.x", Data: with(t, operation.Data, "id", "x")},
			"as the reply trick does it": {Subject: entry.Subject, Data: entry.Data},
		}},
		"a timer": {timer, func(d broker.Delivery) error { _, err := ledger.ParseTimer(d); return err }, map[string]broker.Delivery{
			"of no lock":                 {Subject: "due.0.x"},
			"of another partition":       {Subject: "due.1." + string(made.Lock)},
			"as the reply trick does it": {Subject: delivery.Subject, Data: delivery.Data},
		}},
		"a check": {check, func(d broker.Delivery) error { _, err := ledger.ParseEndpointCheck(d); return err }, map[string]broker.Delivery{
			"of no endpoint":             {Subject: "ep.check.A"},
			"as the reply trick does it": {Subject: entry.Subject, Data: entry.Data},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.parse(tc.good); err != nil {
				t.Fatalf("the good one: %v", err)
			}
			tc.planted["an answer of JetStream"] = broker.Delivery{Subject: tc.good.Subject, Data: []byte(answer)}
			for what, planted := range tc.planted {
				if tc.parse(planted) == nil {
					t.Errorf("%s was taken", what)
				}
			}
		})
	}
}

// A request has its dispatcher tell nobody but a replica that awaits this very
// invocation: any other subject would be written to in the dispatcher's name
// (SEC-111).
func TestARequestNamesNoForeignReply(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "k")
	record(t, env.Ledger, inv)
	d := deliver(t, env, inv)
	id := string(inv.ID)
	for reply, want := range map[string]bool{
		"wake.replica." + id: true, "inv.0.st." + id: false, "wake." + id: false, "wake.." + id: false, "wake.*." + id: false,
		"wake.a.b." + id: false, "wake.replica.x": false, "wake.a b." + id: false, "lock.0." + id: false, "": false,
	} {
		d.Header = map[string][]string{"Latchwire-Reply": {reply}}
		r, err := ledger.ParseRequest(d)
		if err != nil || (r.Reply != "") != want {
			t.Errorf("%q: got the reply %q, %v; want it kept: %t", reply, r.Reply, err, want)
		}
	}
}

// A settlement of another invocation, or an answer of JetStream, settles nothing
// where it was planted: it counts as the claim of somebody who is gone (SEC-111).
func TestAPlantedStateSettlesNothing(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := invocation.NewLockID(0)
	settled := ledgertest.NewInvocation(env.Ledger, on, "settled")
	record(t, env.Ledger, settled)
	if err := env.Ledger.Settle(t.Context(), claim(t, env.Ledger, settled), completed(env.Ledger, settled, `{}`), nil); err != nil {
		t.Fatal(err)
	}
	copied, err := env.Conn.Stored(t.Context(), ledger.InvocationStream(0), broker.StoredRequest{LastBySubject: ledger.StateSubject(on, settled.ID)})
	if err != nil || copied == nil {
		t.Fatalf("read the settlement: %v", err)
	}
	for name, data := range map[string][]byte{"another's settlement": copied.Data, "an answer of JetStream": []byte(answer)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := ledgertest.NewInvocation(env.Ledger, on, name)
			record(t, env.Ledger, inv)
			if _, err := env.Conn.JS.Publish(t.Context(), ledger.StateSubject(on, inv.ID), data); err != nil {
				t.Fatal(err)
			}
			got, err := env.Ledger.Invocation(t.Context(), on, inv.ID)
			if err != nil || got.ID != inv.ID || got.Status != invocation.Pending {
				t.Errorf("got %s %s, %v; want it pending", got.ID, got.Status, err)
			}
			s, err := env.Ledger.Standing(t.Context(), inv)
			if err != nil || !s.Claimed() || s.Claim.Deadline.After(env.Ledger.Now()) {
				t.Errorf("got %+v, %v; want a claim that has run out", s, err)
			}
			if s, err = env.Ledger.TakeOver(t.Context(), inv, s.Claim, env.Ledger.Now()); err != nil || !s.Mine {
				t.Errorf("take over: %+v, %v", s, err)
			}
		})
	}
}

// What was planted among the deliveries that are kept back is buried, and the
// others are let go (SEC-111).
func TestWhatIsPlantedAmongTheKeptIsBuried(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := invocation.NewLockID(0)
	first, last := newDelivery(on, 16), newDelivery(on, 48)
	foreign, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	id := newDelivery(on, 32).ID
	err = errors.Join(
		env.Ledger.KeepBack(t.Context(), first),
		plant(t.Context(), env.Conn, "ep.kept.a."+string(on)+"."+id, answer),
		plant(t.Context(), env.Conn, "ep.kept.a.x."+id, string(foreign)),
		env.Ledger.KeepBack(t.Context(), last),
	)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := env.Ledger.LetGo(t.Context(), "a"); n != 2 || err != nil {
		t.Errorf("got %d let go, %v; want two", n, err)
	}
	if dead, _, err := env.Ledger.DeadMessages(t.Context(), 0, 10); len(dead) != 2 || err != nil || dead[0].Stream != ledger.EndpointStream {
		t.Errorf("got %+v, %v among the dead, want the two that were planted", dead, err)
	}
	if n, err := env.Ledger.LetGo(t.Context(), "a"); n != 0 || err != nil {
		t.Errorf("got %d left, %v", n, err)
	}
	// A batch of nothing else is not the end.
	if err := errors.Join(plant(t.Context(), env.Conn, "ep.kept.a."+string(on)+"."+id, answer), env.Ledger.KeepBack(t.Context(), last)); err != nil {
		t.Fatal(err)
	}
	if kept, err := env.Ledger.KeptBack(t.Context(), "a", 1); len(kept) != 1 || err != nil {
		t.Errorf("got %+v, %v; want the one behind what was planted", kept, err)
	}
}

// What is no question is answered with a failure, and no target is asked
// (SEC-111).
func TestAPlantedQuestionAsksNobody(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	answering, stop := context.WithCancel(t.Context())
	var asked atomic.Int64
	ended := make(chan error, 1)
	go func() {
		ended <- env.Ledger.Answer(answering, func(context.Context, invocation.Question, map[string][]string) (invocation.Options, error) {
			asked.Add(1)
			return invocation.Options{}, nil
		})
	}()
	good := `{"v":1,"lock":"` + string(invocation.NewLockID(0)) + `","from":{"s":"a"},"to":{"s":"b"},"cmd":"b.run","rev":1,"field":"/x"}`
	ask := func(question string) (failed bool) {
		var reply *nats.Msg
		brokertest.Eventually(t, within, "somebody answers", func() bool {
			var err error
			reply, err = env.Conn.NC.Request("ask.options", []byte(question), within)
			return err == nil
		})
		return strings.Contains(string(reply.Data), `"failed":true`)
	}
	for name, question := range map[string]string{
		"an answer of JetStream": answer,
		"another version":        strings.Replace(good, `"v":1`, `"v":2`, 1),
		"a slug with a wildcard": strings.Replace(good, `"s":"b"`, `"s":"*"`, 1),
		"no lock":                strings.Replace(good, `"lock":"`, `"lock":"x`, 1),
	} {
		if !ask(question) {
			t.Errorf("%s was taken", name)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("got %d targets asked, want none", n)
	}
	if ask(good) || asked.Load() != 1 {
		t.Errorf("the good one: got %d asked, want one", asked.Load())
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func plant(ctx context.Context, c *broker.Conn, subject, data string) error {
	_, err := c.JS.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: []byte(data)})
	return err
}
