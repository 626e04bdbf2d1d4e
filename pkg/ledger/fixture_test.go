package ledger_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// within is how long the tests wait for what must come; only a failure takes it.
const within = 30 * time.Second

// small is a topology that starts quickly.
func small() ledger.Config { return ledger.Config{Partitions: 1} }

// still opens a ledger whose clock only a test moves.
func still(tb testing.TB, c *broker.Conn, cfg ledger.Config) *ledger.Ledger {
	tb.Helper()
	if err := ledger.Topology(cfg).Apply(tb.Context(), c.JS); err != nil {
		tb.Fatalf("apply the topology: %v", err)
	}
	l, err := ledger.Open(tb.Context(), c, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatalf("open the ledger: %v", err)
	}
	return l
}

// record records an invocation and fails the test if it was there already.
func record(tb testing.TB, l *ledger.Ledger, inv invocation.Invocation) {
	tb.Helper()
	if _, created, err := l.Record(tb.Context(), ledger.Request{Invocation: inv}); err != nil || !created {
		tb.Fatalf("record: created %v, %v", created, err)
	}
}

// claim claims an invocation and fails the test if somebody else has it.
func claim(tb testing.TB, l *ledger.Ledger, inv invocation.Invocation) ledger.Claim {
	tb.Helper()
	s, err := l.Claim(tb.Context(), inv, l.Now().Add(time.Minute), 0)
	if err != nil || !s.Mine {
		tb.Fatalf("claim: mine %v, %v", s.Mine, err)
	}
	return s.Claim
}

// completed returns the invocation as settled now with a result.
func completed(l *ledger.Ledger, inv invocation.Invocation, result string) invocation.Invocation {
	return inv.Settle(invocation.Completes(json.RawMessage(result)), l.Now())
}

// read reads an invocation that must be there.
func read(tb testing.TB, l *ledger.Ledger, inv invocation.Invocation) invocation.Invocation {
	tb.Helper()
	got, err := l.Invocation(tb.Context(), inv.Lock, inv.ID)
	if err != nil {
		tb.Fatalf("read the invocation: %v", err)
	}
	return got
}

// wantCode fails the test if err is not a refusal with the code.
func wantCode(tb testing.TB, err error, want invocation.Code) {
	tb.Helper()
	if err == nil || invocation.CodeOf(err) != want {
		tb.Errorf("got %v, want %s", err, want)
	}
}

// A deaf JetStream stores what is published and loses the server's answer, as
// often as it is told to.
type deaf struct {
	jetstream.JetStream
	lose  atomic.Int64
	asked atomic.Int64 // how often anything was published without waiting
}

func (d *deaf) PublishMsgAsync(m *nats.Msg, opts ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	d.asked.Add(1)
	return d.JetStream.PublishMsgAsync(m, opts...)
}

func (d *deaf) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := d.JetStream.PublishMsg(ctx, m, opts...)
	if d.lose.Add(-1) >= 0 {
		return nil, context.DeadlineExceeded
	}
	return ack, err
}

// deafen makes a ledger lose the answer to its next write.
func deafen(l *ledger.Ledger) *deaf {
	d := &deaf{}
	l.WrapJetStream(func(js jetstream.JetStream) jetstream.JetStream {
		d.JetStream = js
		return d
	})
	d.lose.Store(1)
	return d
}

// blindfold returns a ledger on the same server whose batch reads find nothing,
// as those of a replica that lags far behind.
func blindfold(t *testing.T, env ledgertest.Env) *ledger.Ledger {
	t.Helper()
	l := still(t, env.Conn, small())
	if _, err := env.Conn.NC.Subscribe("BLIND.DIRECT.GET.>", func(m *nats.Msg) {
		nothing := nats.NewMsg(m.Reply)
		nothing.Header.Set("Status", "404")
		_ = env.Conn.NC.PublishMsg(nothing)
	}); err != nil {
		t.Fatal(err)
	}
	l.WrapJetStream(func(js jetstream.JetStream) jetstream.JetStream { return blind{js} })
	return l
}

// A blind JetStream reads from a stream that has nothing.
type blind struct{ jetstream.JetStream }

func (b blind) Options() jetstream.JetStreamOptions {
	o := b.JetStream.Options()
	o.APIPrefix = "BLIND."
	return o
}
