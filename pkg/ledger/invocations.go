package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// requestTTL is how long a request is kept: long past the dispatch deadline,
// well before its settlement goes.
const requestTTL = 7 * 24 * time.Hour

// A Request is an admitted call on its way to the queue.
type Request struct {
	Invocation invocation.Invocation
	// LockSeq is the lock's last transition that the admission saw.
	LockSeq uint64
	// Trace is the trace context that travels along, in lower-case headers.
	Trace map[string][]string
	// Reply is where the recording replica listens for the settlement; only a
	// request that was read from the queue has it.
	Reply string
	// Recorded is when the server stored the request; zero before.
	Recorded time.Time
}

// Record stores the request and puts it on the queue in one write, which the
// server refuses if an invocation with this id exists. It returns the
// invocation that is stored now, and whether it is this one.
func (l *Ledger) Record(ctx context.Context, r Request) (stored invocation.Invocation, created bool, err error) {
	inv := r.Invocation
	if err := l.Listen(); err != nil {
		return invocation.Invocation{}, false, err
	}
	data, err := encode(newRequestRecord(inv, r.LockSeq))
	if err != nil {
		return invocation.Invocation{}, false, err
	}
	m := &nats.Msg{Subject: requestSubject(inv.Lock, inv.ID), Data: data, Header: nats.Header{}}
	maps.Copy(m.Header, traceOf(r.Trace))
	m.Header[replyHeader] = []string{l.waiters.inbox + "." + token(string(inv.ID))}
	_, err = l.put(ctx, m,
		jetstream.WithExpectLastSequenceForSubject(0, guardSubject(inv.Lock, inv.ID)),
		jetstream.WithMsgTTL(requestTTL))
	if errors.Is(err, errPerhapsOurs) {
		if m, readErr := l.newest(ctx, invStream(inv.Lock.Partition()), m.Subject); readErr == nil && m != nil && bytes.Equal(m.Data, data) {
			err = nil
		}
	}
	switch {
	case err == nil:
		return inv, true, nil
	case errors.Is(err, errConflict):
		stored, err = l.Invocation(ctx, inv.Lock, inv.ID)
		return stored, false, err
	default:
		return invocation.Invocation{}, false, err
	}
}

// ParseRequest reads a request as the queue delivered it. An error means that
// no version of this program that it knows wrote it.
func ParseRequest(d broker.Delivery) (Request, error) {
	var rec requestRecord
	if err := decode(d.Data, &rec); err != nil {
		return Request{}, err
	}
	if !rec.fits(d.Subject) {
		return Request{}, errMisfit
	}
	r := Request{Invocation: rec.invocation(), LockSeq: rec.LockSeq, Trace: traceOf(d.Header), Recorded: d.Stored}
	if reply := d.Header[replyHeader]; len(reply) > 0 && replyFits(reply[0], rec.ID) {
		r.Reply = reply[0]
	}
	return r, nil
}

// Invocation returns an invocation as it stands. It returns InvocationNotFound
// if the lock has none with this id. One that nobody claimed long past the
// dispatch deadline is answered as the failure that it is, also before a
// worker records it (design section 4).
func (l *Ledger) Invocation(ctx context.Context, lock invocation.LockID, id invocation.ID) (invocation.Invocation, error) {
	st, err := l.peek(ctx, invStream(lock.Partition()), stateSubject(lock, id))
	if err != nil {
		return invocation.Invocation{}, err
	}
	state, err := parseState(st)
	if err != nil {
		return invocation.Invocation{}, err
	}
	if !state.settled() && l.cfg.Replicas > 1 { // a replica that lags decides nothing but a settlement
		if st, err = l.newest(ctx, invStream(lock.Partition()), stateSubject(lock, id)); err != nil {
			return invocation.Invocation{}, err
		}
		if state, err = parseState(st); err != nil {
			return invocation.Invocation{}, err
		}
	}
	if state.settled() {
		return ofLock(state.invocation(), lock)
	}
	req, err := l.newest(ctx, invStream(lock.Partition()), requestSubject(lock, id))
	if err != nil {
		return invocation.Invocation{}, err
	}
	if req == nil {
		return invocation.Invocation{}, invocation.Refuse(invocation.InvocationNotFound)
	}
	var rec requestRecord
	if err := decode(req.Data, &rec); err != nil {
		return invocation.Invocation{}, err
	}
	inv := rec.invocation()
	claimed := st != nil
	if o, over := invocation.Expired(req.Time.Add(invocation.DispatchGrace), l.Now()); over && !claimed {
		inv = inv.Settle(o, req.Time.Add(invocation.DispatchDeadline))
	}
	return ofLock(inv, lock)
}

// parseState reads what stands on a state subject; nil is nothing. A settlement
// of another invocation counts as a claim that nobody holds.
func parseState(m *jetstream.RawStreamMsg) (stateRecord, error) {
	if m == nil {
		return stateRecord{}, nil
	}
	var rec stateRecord
	if err := decode(m.Data, &rec); err != nil {
		return stateRecord{}, err
	}
	if !rec.fits(m.Subject) {
		return stateRecord{}, nil
	}
	return rec, nil
}

// ofLock keeps an invocation of another lock of the partition out of sight.
func ofLock(inv invocation.Invocation, lock invocation.LockID) (invocation.Invocation, error) {
	if inv.Lock != lock {
		return invocation.Invocation{}, invocation.Refuse(invocation.InvocationNotFound)
	}
	return inv, nil
}

// A Claim is a worker's right to call the target. Its place in the stream is
// the fencing token: only a settlement that names it is taken.
type Claim struct {
	// Deadline is until when its owner may be at work; after it another worker
	// may conclude that the owner is gone.
	Deadline time.Time
	// LockSeq is the lock's last transition before the claim: what the claim
	// led to stands after it.
	LockSeq uint64

	seq   uint64
	token string
}

// A Standing is what is known of an invocation when a worker asks for it.
type Standing struct {
	// Mine says that the worker holds the claim.
	Mine  bool
	Claim Claim
	// Settled is set, with the events it caused, once there is a settlement.
	Settled *invocation.Invocation
	Events  []invocation.Emission
}

// Claimed reports whether a worker has the invocation and has not settled it.
func (s Standing) Claimed() bool { return s.Settled == nil && s.Claim.seq != 0 }

// Claim asks for the right to call the target of a request. The answer says
// who has it, or that the invocation has settled. An owner's claim is kept
// until deadline; lockSeq is the lock's last transition that the worker knows.
func (l *Ledger) Claim(ctx context.Context, inv invocation.Invocation, deadline time.Time, lockSeq uint64) (Standing, error) {
	return l.claim(ctx, inv, Claim{Deadline: deadline, LockSeq: lockSeq}, 0)
}

// TakeOver is Claim in place of another worker's claim whose deadline has
// passed, or whose work can be finished without repeating any. From then on
// the other's settlement is refused.
func (l *Ledger) TakeOver(ctx context.Context, inv invocation.Invocation, from Claim, deadline time.Time) (Standing, error) {
	return l.claim(ctx, inv, Claim{Deadline: deadline, LockSeq: from.LockSeq}, from.seq)
}

func (l *Ledger) claim(ctx context.Context, inv invocation.Invocation, c Claim, expected uint64) (Standing, error) {
	c.token = nuid.Next()
	data, err := encode(stateRecord{Version: recordVersion, Token: c.token, Deadline: c.Deadline.UnixMilli(), LockSeq: c.LockSeq})
	if err != nil {
		return Standing{}, err
	}
	m := &nats.Msg{Subject: stateSubject(inv.Lock, inv.ID), Data: data}
	c.seq, err = l.put(ctx, m, jetstream.WithExpectLastSequencePerSubject(expected), jetstream.WithMsgTTL(invocation.Retention))
	if err == nil {
		return Standing{Mine: true, Claim: c}, nil
	}
	if !errors.Is(err, errConflict) {
		return Standing{}, err
	}
	s, err := l.Standing(ctx, inv)
	// An earlier try of ours may have been stored without an answer.
	s.Mine = s.Claim.token == c.token
	return s, err
}

// Standing reads from the leader who has an invocation.
func (l *Ledger) Standing(ctx context.Context, inv invocation.Invocation) (Standing, error) {
	st, err := l.newest(ctx, invStream(inv.Lock.Partition()), stateSubject(inv.Lock, inv.ID))
	if err != nil || st == nil {
		return Standing{}, err
	}
	rec, err := parseState(st)
	if err != nil {
		return Standing{}, err
	}
	s := Standing{Claim: Claim{Deadline: fromMillis(rec.Deadline), LockSeq: rec.LockSeq, seq: st.Sequence, token: rec.Token}}
	if rec.settled() {
		settled := rec.invocation()
		s.Settled, s.Events = &settled, emissions(rec.Events)
		s.Claim.LockSeq = rec.Request.LockSeq
	}
	return s, nil
}

// ErrSuperseded says that an invocation was settled or claimed by somebody
// else in the meantime. What they recorded stands.
var ErrSuperseded = errors.New("another worker has the invocation")

// Settle records how an invocation ended, with the events that the target's
// answer caused, in place of the claim. A zero claim settles what nobody
// claimed. It returns ErrSuperseded if the claim no longer stands.
func (l *Ledger) Settle(ctx context.Context, c Claim, inv invocation.Invocation, events []invocation.Emission) error {
	if !inv.Status.Settled() {
		return fmt.Errorf("settle an invocation that is %s", inv.Status)
	}
	data, err := encode(newStateRecord(inv, events, c.LockSeq))
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: stateSubject(inv.Lock, inv.ID), Data: data}
	_, err = l.put(ctx, m, jetstream.WithExpectLastSequencePerSubject(c.seq), jetstream.WithMsgTTL(invocation.Retention))
	if !errors.Is(err, errConflict) {
		return err
	}
	st, err := l.newest(ctx, invStream(inv.Lock.Partition()), stateSubject(inv.Lock, inv.ID))
	if err != nil {
		return err
	}
	if st != nil && bytes.Equal(st.Data, data) {
		return nil // an earlier try of ours was stored without an answer
	}
	return ErrSuperseded
}

// Bury keeps a copy of a message that no retry can help, with the reason.
func (l *Ledger) Bury(ctx context.Context, stream string, d broker.Delivery, why error) error {
	m := &nats.Msg{Subject: deadMessageSubject(stream, d.Sequence), Data: d.Data, Header: nats.Header{
		buriedSubject:        {d.Subject},
		buriedReason:         {oneLine(why.Error())},
		"Latchwire-Attempts": {strconv.FormatUint(d.Attempt, 10)},
	}}
	_, err := l.put(ctx, m)
	return err
}

// The headers of what was buried.
const (
	buriedSubject = "Latchwire-Subject"
	buriedReason  = "Latchwire-Reason"
)

// oneLine keeps a header's value on its line.
func oneLine(s string) string {
	b := []byte(s[:min(len(s), 500)])
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = ' '
		}
	}
	return string(b)
}
