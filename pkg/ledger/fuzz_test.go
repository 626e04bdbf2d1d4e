package ledger

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

// Whatever lies in a stream, nothing panics, what is taken names nothing that
// no door would let in, fits the subject that it came on, and is read as the
// same when it is written again (SEC-111, SEC-113).
func FuzzStoredForms(f *testing.F) {
	for subject, record := range storedForms() {
		data, err := encode(record)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(subject, data)
	}
	f.Add("ep.check.dice", []byte(`{"id":"*","ext":">","lock":"a.b","body":{}}`))
	f.Add("due.0.0065f0c0ffee65f0c0ffee65", []byte(`{"v":1,"id":"65f0c0ffee65f0c0ffee65f0","lock":"00.>","in":{}}`))
	f.Add("lock.0.*", []byte(`{"v":2,"state":{"endDate":"9999-12-31T23:59:59.999999999-23:59","extensions":null}}`))
	f.Add("inv.req.>", []byte("\xff{\"v\":1e400,\"v\":1}"))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		readRequest(t, subject, data)
		readState(t, subject, data)
		readDelivery(t, subject, data)
		readOperation(t, subject, data)
		readEntry(t, subject, data)
		readSubject(t, subject)
		if s, err := parseSent(&jetstream.RawStreamMsg{Subject: subject, Data: data}); err == nil && s.Cause.Correlation == "" && s.Cause.ID != "" {
			t.Errorf("got %+v without a chain", s)
		}
	})
}

// storedForms returns a record of each kind, on its subject.
func storedForms() map[string]any {
	const id, ext = invocation.ID("65f0c0ffee65f0c0ffee65f0"), invocation.Slug("dice")
	lockID := invocation.LockID("0065f0c0ffee65f0c0ffee65")
	at := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	chain := invocation.Chain{Causation: id, Correlation: id, Depth: 2, Inferred: true, Starter: invocation.Starter{Extension: "wheel"}}
	party := invocation.Party{Slug: ext, Partner: "65f0c0ffee65f0c0ffee65f1", Session: "ses_1"}
	inv := invocation.Invocation{
		ID: id, Lock: lockID, Caller: party, Target: invocation.Party{Slug: "lock"}, Command: "lock.add-time",
		Capability: invocation.Command, Revision: 3, Input: json.RawMessage(`{"duration":9007199254740993}`),
		Actor: invocation.ActorExtension, Via: invocation.REST, Chain: chain, CreatedAt: at,
	}
	emitted := []invocation.Emission{{Type: "dice.rolled", Payload: json.RawMessage(`{"<":"é 😀"}`)}}
	rejected := inv.Settle(invocation.Rejects("no", "not today"), at)
	delivery := Delivery{
		ID: string(id), Extension: ext, Session: "ses_1", Lock: lockID, Kind: "lock_event.created", Body: json.RawMessage(`{}`),
		Attempt: 2, FirstAt: at.UnixMilli(), Tries: []Try{{At: 1, Status: 500, Duration: 3, Error: "x", Answer: "y"}}, Chain: newChain(chain),
	}
	operation := Operation{ID: id, Extension: ext, Kind: "endpoint.disabled", Reason: "gone", Since: 1, At: 2}
	made, err := lock.New(lock.Spec{ID: lockID, Wearer: lock.Person{ID: "w1", Name: "Wren"}, EndDate: at.Add(time.Hour)}, at)
	if err != nil {
		return nil
	}
	transition := Transition{
		State: made.State, Events: emitted, History: made.History, Source: invocation.Source{Extension: ext, Actor: invocation.ActorExtension},
		Chain: chain, Applied: id, Refused: rejected.Error, At: at,
	}
	return map[string]any{
		requestSubject(lockID, id):                newRequestRecord(inv, 7),
		stateSubject(lockID, id):                  newStateRecord(rejected, emitted, 7),
		wakeSubject(id):                           newStateRecord(inv.Settle(invocation.Completes(nil), at), nil, 0),
		deliverySubject(delivery):                 delivery,
		deadDeliverySubject("dice", delivery.ID):  DeadDelivery{Delivery: delivery, Reason: "gone", DiedAt: 4},
		operationSubject(operation):               operation,
		lockSubject(lockID):                       newTransitionRecord(transition, 5),
		sentSubject(ext, lockID, id):              sentRecord{Version: recordVersion, Chain: newChain(chain)},
		join("inv", "0", "claimed", string(id)):   stateRecord{Version: recordVersion, Token: "t", Deadline: 9, LockSeq: 7},
		join("inv", "0", "reserved", string(id)):  Reservation{Body: "{}", After: 7},
		join("blk", "x", "dice", string(lockID)):  blockRecord{Version: recordVersion, Until: 1, After: 7, Told: true},
		join("dead", "message", "INV_0", "1"):     "no record",
		join("chain", string(chain.Correlation)):  []Link{{Kind: EventLink, ID: id, Lock: lockID}},
		timerSubject(lockID):                      nil,
		endpointTimerSubject(invocation.Slug(id)): nil,
	}
}

// survives checks that what was read is read again from what is written of it.
func survives[T any](t *testing.T, first T, record func(T) any, parse func([]byte) (T, error)) {
	t.Helper()
	next := func(v T) T {
		data, err := encode(record(v))
		if err != nil {
			t.Fatalf("%+v can't be written: %v", v, err)
		}
		again, err := parse(data)
		if err != nil {
			t.Fatalf("%s was written and can't be read: %v", data, err)
		}
		return again
	}
	second := next(first) // without the white space of its payloads
	if third := next(second); !reflect.DeepEqual(second, third) {
		t.Fatalf("got %+v, then %+v", second, third)
	}
}

func readRequest(t *testing.T, subject string, data []byte) {
	t.Helper()
	var rec requestRecord
	if decode(data, &rec) != nil {
		if r, err := ParseRequest(broker.Delivery{Subject: subject, Data: data}); err == nil {
			t.Fatalf("got %+v", r)
		}
		return
	}
	fitting := requestSubject(rec.Lock, rec.ID)
	parse := func(data []byte) (Request, error) {
		return ParseRequest(broker.Delivery{Subject: fitting, Data: data})
	}
	r, err := parse(data)
	inv := r.Invocation
	named := invocation.ValidID(string(rec.ID)) && invocation.ValidID(string(rec.Lock)) && invocation.ValidSlug(string(rec.Caller.Slug))
	if err == nil && (!named || rec.Version != recordVersion) {
		t.Fatalf("got %+v for %s", r, data)
	}
	if other, err := ParseRequest(broker.Delivery{Subject: subject, Data: data}); subject != fitting && err == nil {
		t.Fatalf("got %+v on %q", other, subject)
	}
	if err != nil {
		return
	}
	if inv.ID != rec.ID || inv.Lock != rec.Lock || inv.Status != invocation.Pending {
		t.Fatalf("got %+v for %s", inv, data)
	}
	survives(t, r, func(r Request) any { return newRequestRecord(r.Invocation, r.LockSeq) }, parse)
}

func readState(t *testing.T, subject string, data []byte) {
	t.Helper()
	var raw stateRecord
	if decode(data, &raw) != nil {
		return
	}
	fitting := subject
	if raw.Request != nil {
		fitting = stateSubject(raw.Request.Lock, raw.Request.ID)
	}
	parse := func(data []byte) (stateRecord, error) {
		return parseState(&jetstream.RawStreamMsg{Subject: fitting, Data: data})
	}
	rec, err := parse(data)
	if err != nil {
		t.Fatalf("got %v for %s on its own subject", err, data)
	}
	if on, err := parseState(&jetstream.RawStreamMsg{Subject: subject, Data: data}); subject != fitting && (err != nil || on.settled()) {
		t.Fatalf("got %+v, %v for %s on %q", on, err, data, subject)
	}
	survives(t, rec, func(r stateRecord) any { return r }, parse)
	inv, woken := parseWake(&nats.Msg{Subject: subject, Data: data})
	if woken && (!rec.settled() || lastToken(subject) != string(inv.ID)) {
		t.Fatalf("%s on %q woke %+v", data, subject, inv)
	}
	if !rec.settled() {
		return
	}
	if inv = rec.invocation(); !inv.Status.Settled() || inv.ID != rec.Request.ID {
		t.Fatalf("got %+v for %s", inv, data)
	}
	settled := func(r stateRecord) any {
		return newStateRecord(r.invocation(), emissions(r.Events), r.Request.LockSeq)
	}
	survives(t, rec, settled, parse)
}

func readDelivery(t *testing.T, subject string, data []byte) {
	t.Helper()
	var rec Delivery
	if decode(data, &rec) != nil {
		return
	}
	fitting := deliverySubject(rec)
	parse := func(data []byte) (Delivery, error) {
		return ParseDelivery(broker.Delivery{Subject: fitting, Data: data})
	}
	if other, err := ParseDelivery(broker.Delivery{Subject: subject, Data: data}); subject != fitting && err == nil {
		t.Fatalf("got %+v on %q", other, subject)
	}
	if d, err := parse(data); err == nil {
		ext, lockID, _ := PlaceOf(broker.Delivery{Subject: fitting})
		if ext != d.Extension || lockID != d.Lock || lastToken(fitting) != d.ID {
			t.Fatalf("got %+v on %q", d, fitting)
		}
		survives(t, d, func(d Delivery) any { return d }, parse)
	}
	if c, err := parseCorpse(&jetstream.RawStreamMsg{Data: data}); err == nil {
		survives(t, c.DeadDelivery, func(d DeadDelivery) any { return d }, func(data []byte) (DeadDelivery, error) {
			c, err := parseCorpse(&jetstream.RawStreamMsg{Data: data})
			return c.DeadDelivery, err
		})
	}
}

func readOperation(t *testing.T, subject string, data []byte) {
	t.Helper()
	var rec Operation
	if decode(data, &rec) != nil {
		return
	}
	fitting := operationSubject(rec)
	parse := func(data []byte) (Operation, error) {
		return ParseOperation(broker.Delivery{Subject: fitting, Data: data})
	}
	if other, err := ParseOperation(broker.Delivery{Subject: subject, Data: data}); subject != fitting && err == nil {
		t.Fatalf("got %+v on %q", other, subject)
	}
	if o, err := parse(data); err == nil {
		survives(t, o, func(o Operation) any { return o }, parse)
	}
}

func readEntry(t *testing.T, subject string, data []byte) {
	t.Helper()
	if e, err := ParseEntry(broker.Delivery{Subject: subject, Data: data}); err == nil && !invocation.ValidID(string(e.Lock)) {
		t.Fatalf("got the lock %q on %q", e.Lock, subject)
	}
	const lockID = invocation.LockID("0065f0c0ffee65f0c0ffee65")
	parse := func(data []byte) (Entry, error) {
		return ParseEntry(broker.Delivery{Subject: lockSubject(lockID), Data: data, Sequence: 6})
	}
	e, err := parse(data)
	if err != nil {
		return
	}
	for i, event := range e.Committed()[:min(len(e.Events), invocation.SeqsPerTransition)] {
		if seq, ok := invocation.EventSeq(lockID, event.ID); !ok || seq != event.Seq || event.Chain.Correlation == "" || event.Type != e.Events[i].Type {
			t.Fatalf("got %+v", event)
		}
	}
	survives(t, e, func(e Entry) any { return newTransitionRecord(e.Transition, e.Prev) }, parse)
}

// readSubject reads what says everything by its subject.
func readSubject(t *testing.T, subject string) {
	t.Helper()
	if id, err := ParseTimer(broker.Delivery{Subject: subject}); err == nil && (!invocation.ValidID(string(id)) || dueSubject(id) != subject) {
		t.Fatalf("got %q on %q", id, subject)
	}
	if slug, err := ParseEndpointCheck(broker.Delivery{Subject: subject}); err == nil && (!invocation.ValidSlug(string(slug)) || endpointCheckSubject(slug) != subject) {
		t.Fatalf("got %q on %q", slug, subject)
	}
	ext, lockID, _ := PlaceOf(broker.Delivery{Subject: subject})
	if len(ext) > len(subject) || len(lockID) > len(subject) {
		t.Fatalf("got %q and %q on %q", ext, lockID, subject)
	}
}
