package ledger

import (
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// replyHeader tells the dispatcher where the recording replica listens.
const replyHeader = "Latchwire-Reply"

// traceOf returns the headers that travel along: all whose names are in lower
// case, as those of a trace context are. The server's own and ours begin with a
// capital, and mean something else on another message.
func traceOf(headers map[string][]string) map[string][]string {
	trace := make(map[string][]string, 2)
	for name, values := range headers {
		if strings.ToLower(name) == name {
			trace[name] = values
		}
	}
	return trace
}

// waiters wake those who wait for a settlement in this process. The wake-up
// carries the settled invocation. It may be lost; the record is the truth.
type waiters struct {
	inbox string // this replica's own, for the calls it records

	mu        sync.Mutex
	byID      map[invocation.ID][]chan invocation.Invocation
	listening bool
}

func newWaiters() *waiters {
	return &waiters{inbox: join("wake", nuid.Next()), byID: make(map[invocation.ID][]chan invocation.Invocation)}
}

// listen has the wake-ups of this replica arrive. Only a service that records
// calls needs them, and only it may have them (SEC-110).
func (w *waiters) listen(nc *nats.Conn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listening {
		return nil
	}
	if _, err := nc.Subscribe(w.inbox+".*", w.wake); err != nil {
		return unavailable(err)
	}
	w.listening = true
	return nil
}

func (w *waiters) wake(m *nats.Msg) {
	inv, ok := parseWake(m)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.byID[inv.ID] {
		ch <- inv // it has room for one, and is removed with this
	}
	delete(w.byID, inv.ID)
}

// parseWake reads a wake-up, which counts only if it fits its subject.
func parseWake(m *nats.Msg) (invocation.Invocation, bool) {
	var rec stateRecord
	if err := decode(m.Data, &rec); err != nil || !rec.settled() {
		return invocation.Invocation{}, false
	}
	inv := rec.invocation()
	return inv, lastToken(m.Subject) == string(inv.ID)
}

func (w *waiters) add(id invocation.ID) (<-chan invocation.Invocation, func()) {
	ch := make(chan invocation.Invocation, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byID[id] = append(w.byID[id], ch)
	return ch, func() { w.remove(id, ch) }
}

func (w *waiters) remove(id invocation.ID, ch chan invocation.Invocation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range w.byID[id] {
		if c == ch {
			w.byID[id] = append(w.byID[id][:i], w.byID[id][i+1:]...)
			break
		}
	}
	if len(w.byID[id]) == 0 {
		delete(w.byID, id)
	}
}

// Listen gets ready to record calls. The first [Ledger.Record] does so too, but
// then the servers of a cluster may learn of it later than the call settles.
func (l *Ledger) Listen() error { return l.waiters.listen(l.conn.NC) }

// Await returns a channel that gets an invocation recorded by this process
// once it has settled. Call it before Record, stop when done, and read the
// record when nothing came in time: a wake-up may be lost.
func (l *Ledger) Await(id invocation.ID) (settled <-chan invocation.Invocation, stop func()) {
	return l.waiters.add(id)
}

// AwaitAnywhere is Await for an invocation that any process may have recorded:
// it listens on the invocation's own subject. What settled before is read from
// the record, after this returns.
func (l *Ledger) AwaitAnywhere(id invocation.ID) (settled <-chan invocation.Invocation, stop func(), err error) {
	ch := make(chan invocation.Invocation, 1)
	sub, err := l.conn.NC.Subscribe(wakeSubject(id), func(m *nats.Msg) {
		if inv, ok := parseWake(m); ok {
			select {
			case ch <- inv:
			default: // the first is enough
			}
		}
	})
	if err != nil {
		return nil, nil, unavailable(err)
	}
	// Known to the server before the caller reads the record, so no settlement
	// falls between the two.
	if err := l.conn.NC.FlushTimeout(2 * time.Second); err != nil {
		_ = sub.Unsubscribe()
		return nil, nil, unavailable(err)
	}
	return ch, func() { _ = sub.Unsubscribe() }, nil
}

// Wake tells those who wait how an invocation has settled. Reply is where the
// recording replica listens, from the request.
func (l *Ledger) Wake(inv invocation.Invocation, reply string) error {
	data, err := encode(newStateRecord(inv, nil, 0))
	if err != nil {
		return err
	}
	if reply != "" {
		_ = l.conn.NC.Publish(reply, data) // one that is lost is covered by the record
	}
	_ = l.conn.NC.Publish(wakeSubject(inv.ID), data)
	return nil
}
