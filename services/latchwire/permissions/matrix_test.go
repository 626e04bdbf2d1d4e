package permissions

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/platform"
)

// A row is what a user must not do, and some of what it may, lest the test pass
// for a user that may do nothing.
type row struct{ publish, subscribe, mayPublish, maySubscribe []string }

const id = "00c0ffee00c0ffee00c0ffee"

// matrix has the rows of SEC-110.
var matrix = map[string]row{
	"edge-api": {
		publish: []string{
			"inv.0.st." + id, "chain." + id, "sent.reader." + id + "." + id, "dead.message.INV_0.1", "tmr.0.lock." + id, "due.0." + id,
			"settled." + id, "wake.replica." + id, "blk.mcp.reader." + id, "ep.tell.reader." + id, "ep.kept.reader." + id + "." + id,
			"$JS.API.CONSUMER.MSG.NEXT.INV_0.dispatch", "$JS.ACK.INV_0.dispatch.1.1.1.1.0", "$JS.API.STREAM.MSG.DELETE.INV_0",
			"$JS.API.STREAM.MSG.DELETE.ENDPOINTS",
		},
		subscribe:    []string{"ask.options", "wake.>", "settled.*.*", "moved.>", "inv.0.req.*"},
		mayPublish:   []string{"inv.0.req." + id, "inv.0.em." + id, "ep.check.reader", "$KV.tokens.t", "$JS.API.STREAM.MSG.DELETE.DEAD"},
		maySubscribe: []string{"wake.replica.*", "settled." + id, "moved.0." + id},
	},
	"mcp": {
		publish: []string{
			"inv.0.st." + id, "inv.0.em." + id, "$KV.tokens.t", "$KV.extensions.reader", "dlv.0.reader." + id + "." + id, "ep.check.reader",
			"settled." + id, "$JS.API.STREAM.MSG.DELETE.DEAD", "$JS.API.CONSUMER.MSG.NEXT.INV_0.dispatch",
		},
		subscribe:    []string{"ask.options", "moved.0." + id, "settled.*.*"},
		mayPublish:   []string{"inv.0.req." + id, "blk.mcp.reader." + id, "lim.mcp-lock.reader.1"},
		maySubscribe: []string{"wake.replica.*", "settled." + id},
	},
	"dispatcher": {
		publish: []string{
			"inv.0.req." + id, "inv.0.em." + id, "$KV.tokens.t", "$KV.extensions.reader", "dlv.0.reader." + id + "." + id, "lim.lock." + id + ".1",
			"dead.delivery.reader." + id, "ask.options", "$JS.API.CONSUMER.MSG.NEXT.LOCK_0.fanout", "$JS.ACK.LOCK_0.fanout.1.1.1.1.0",
			"$JS.API.STREAM.MSG.DELETE.INV_0",
		},
		subscribe:    []string{"wake.*.*", "settled." + id, "ask.*", "inv.0.req.*"},
		mayPublish:   []string{"inv.0.st." + id, "wake.replica." + id, "settled." + id, "$JS.API.CONSUMER.MSG.NEXT.INV_0.dispatch"},
		maySubscribe: nil,
	},
	"webhook-worker": {
		publish: []string{
			"inv.0.req." + id, "inv.0.st." + id, "$KV.tokens.t", "$KV.manifests.reader.1", "$KV.sessions.s", "lim.lock." + id + ".1",
			"settled." + id, "wake.replica." + id, "ask.options", "due.0." + id, "$JS.API.CONSUMER.MSG.NEXT.INV_0.dispatch",
			"$JS.ACK.INV_0.dispatch.1.1.1.1.0", "$JS.API.STREAM.MSG.DELETE.DEAD", "$JS.API.STREAM.MSG.DELETE.LOCK_0",
		},
		subscribe:    []string{"wake.*.*", "settled." + id, "moved.0." + id, "ask.options"},
		mayPublish:   []string{"ep.check.reader", "tmr.0.lock." + id, "dead.delivery.reader." + id, "$KV.extensions.reader", "$JS.API.CONSUMER.MSG.NEXT.LOCK_0.fanout"},
		maySubscribe: nil,
	},
	"setup": {
		publish: []string{
			"inv.0.req." + id, "inv.0.st." + id, "lock.0." + id, "$KV.tokens.t", "settled." + id, "ask.options", "$JS.ACK.INV_0.dispatch.1.1.1.1.0",
		},
		subscribe:  []string{"settled." + id, "wake.*.*"},
		mayPublish: []string{"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$KV.extensions.reader"},
	},
}

// What no service may do: only setup changes streams and consumers, and nobody
// listens to others or to everything.
func forAll(user string, r row) row {
	if user != "setup" {
		r.publish = append(r.publish,
			"$JS.API.STREAM.DELETE.INV_0", "$JS.API.STREAM.PURGE.LOCK_0", "$JS.API.STREAM.UPDATE.LOCK_0", "$JS.API.STREAM.CREATE.MINE",
			"$JS.API.STREAM.SNAPSHOT.KV_extensions", "$JS.API.STREAM.RESTORE.LOCK_0", "$JS.API.STREAM.LEADER.STEPDOWN.INV_0",
			"$JS.API.CONSUMER.CREATE.INV_0.mine.inv.0.req.*", "$JS.API.CONSUMER.CREATE.LOCK_0", "$JS.API.CONSUMER.DURABLE.CREATE.INV_0.mine",
			"$JS.API.CONSUMER.CREATE.KV_manifests.announce.$KV.manifests.>", "$JS.API.CONSUMER.DELETE.KV_manifests.announce",
			"$JS.API.CONSUMER.DELETE.INV_0.dispatch", "$JS.API.CONSUMER.PAUSE.INV_0.dispatch", "$JS.API.STREAM.NAMES",
		)
		r.mayPublish = append(r.mayPublish, "$JS.API.STREAM.INFO.INV_0", "$JS.API.DIRECT.GET.LOCK_0")
	}
	r.publish = append(r.publish, "$SYS.REQ.SERVER.PING", "elsewhere", "moved.0."+id)
	r.subscribe = append(r.subscribe, ">", "*.>", "inv.>", "lock.>", "$JS.>", "$JS.API.>", "$KV.>", "$SYS.>", "_INBOX.>", "elsewhere")
	for _, other := range users {
		if other != user {
			r.publish = append(r.publish, platform.InboxPrefix(other)+".x")
			r.subscribe = append(r.subscribe, platform.InboxPrefix(other)+".>")
		}
	}
	r.maySubscribe = append(r.maySubscribe, platform.InboxPrefix(user)+".x")
	return r
}

// Each service may do what its row allows, and is refused what it forbids
// (SEC-110): the server says so of every single one, and of nothing else.
func TestEachServiceIsRefusedWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	in := start(t, "nats.conf")
	in.setup(platform.Config{})
	for _, user := range users {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			r := forAll(user, matrix[user])
			c, refused := in.connect(user)
			var want []string
			for _, subject := range slices.Concat(r.mayPublish, r.publish) {
				if err := c.NC.PublishRequest(subject, c.NC.NewInbox(), []byte("{}")); err != nil {
					t.Errorf("publish to %s: %v", subject, err)
				}
			}
			for _, subject := range slices.Concat(r.maySubscribe, r.subscribe) {
				if _, err := c.NC.Subscribe(subject, func(*nats.Msg) {}); err != nil {
					t.Errorf("subscribe to %s: %v", subject, err)
				}
			}
			for _, subject := range r.publish {
				want = append(want, "publish "+subject)
			}
			for _, subject := range r.subscribe {
				want = append(want, "subscription "+subject)
			}
			// The server answers in order, so the last refusal comes after all others.
			if err := c.NC.Publish("the.last", nil); err != nil {
				t.Fatal(err)
			}
			want = append(want, "publish the.last")
			brokertest.Eventually(t, within, "the last is refused", func() bool { return slices.Contains(refused.all(), "publish the.last") })
			got := refused.all()
			for _, w := range want {
				if !slices.Contains(got, w) {
					t.Errorf("%s may %s, must be refused", user, w)
				}
			}
			for _, g := range got {
				if !slices.Contains(want, g) {
					t.Errorf("%s was refused: %s, must be let", user, g)
				}
			}
			if n := c.Refusals(); n != uint64(len(got)) {
				t.Errorf("got %d refusals counted, want %d", n, len(got))
			}
		})
	}
}

// Nobody gets in without a key that the server knows (SEC-116).
func TestStrangersAreTurnedAway(t *testing.T) {
	t.Parallel()
	in := start(t, "nats.conf")
	seed, _, err := broker.NewNkey()
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.nk")
	if err := os.WriteFile(wrong, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		cfg broker.Config
		in  bool
	}{
		"anonymous":        {broker.Config{URL: in.url}, false},
		"an unknown nkey":  {broker.Config{URL: in.url, Credentials: wrong}, false},
		"a service's nkey": {in.config("edge-api"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := broker.Connect(tc.cfg, slog.New(slog.DiscardHandler))
			if err == nil {
				c.Close()
			}
			if (err == nil) != tc.in {
				t.Errorf("got %v, want it let in: %t", err, tc.in)
			}
		})
	}
}
