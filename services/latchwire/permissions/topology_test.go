package permissions

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/ledger"
)

// nats-server takes the files as they are, and what they promise holds: JetStream
// whose writes are on disk, the messages' size that the embedded server has,
// loopback for monitoring, and for clients unless there is TLS (SEC-116).
func TestTheServerTakesTheFiles(t *testing.T) {
	t.Parallel()
	certs := newAuthority(t).issue(t, "tls", "127.0.0.1")
	dir := prepare(t, "/etc/nats/tls", certs)
	for file, host := range map[string]string{"nats.conf": "127.0.0.1", "nats-tls.conf": "0.0.0.0"} {
		opts := options(t, dir, file)
		if !opts.JetStream || !opts.SyncAlways || opts.MaxPayload != 1<<20 || opts.NoAuthUser != "" || opts.HTTPHost != "127.0.0.1" || opts.HTTPPort == 0 {
			t.Errorf("%s: got JetStream %t, sync always %t, payload %d, no_auth_user %q, monitoring at %s:%d",
				file, opts.JetStream, opts.SyncAlways, opts.MaxPayload, opts.NoAuthUser, opts.HTTPHost, opts.HTTPPort)
		}
		if opts.Host != host || (opts.TLSConfig != nil) != (host == "0.0.0.0") || opts.AllowNonTLS {
			t.Errorf("%s: got clients at %s, TLS %t", file, opts.Host, opts.TLSConfig != nil)
		}
		if len(opts.Nkeys) != len(users) || len(opts.Users) > 0 {
			t.Errorf("%s: got %d nkeys and %d users with passwords, want %d and none", file, len(opts.Nkeys), len(opts.Users), len(users))
		}
	}
}

// permissions returns what the file lets each user do.
func permissions(tb testing.TB) map[string]*server.Permissions {
	tb.Helper()
	dir := prepare(tb)
	keys, err := os.ReadFile(filepath.Join(dir, "nkeys.conf"))
	if err != nil {
		tb.Fatal(err)
	}
	byKey := make(map[string]string)
	for _, line := range regexp.MustCompile(`NKEY_(\w+): "(\w+)"`).FindAllStringSubmatch(string(keys), -1) {
		byKey[line[2]] = strings.ReplaceAll(strings.ToLower(line[1]), "_", "-")
	}
	of := make(map[string]*server.Permissions)
	for _, u := range options(tb, dir, "nats.conf").Nkeys {
		if u.Permissions == nil || u.Permissions.Publish == nil || u.Permissions.Subscribe == nil {
			tb.Fatalf("%s may do anything", byKey[u.Nkey])
		}
		of[byKey[u.Nkey]] = u.Permissions
	}
	for _, user := range users {
		if of[user] == nil {
			tb.Fatalf("%s is no user", user)
		}
	}
	return of
}

// The permissions and the topology are in step: whatever a stream takes some
// service may publish, no service may publish what no stream takes, and no
// stream or consumer is named that there is not.
func TestPermissionsFitTheTopology(t *testing.T) {
	t.Parallel()
	topology := ledger.Topology(ledger.Config{})
	streams := taken(topology)
	consumers := make(map[string]bool) // whether somebody reads them
	for _, c := range topology.Consumers {
		consumers[c.Stream+" "+c.Config.Durable] = false
	}
	var all []string // that a service may publish, but for JetStream
	for user, p := range permissions(t) {
		for _, subject := range slices.Concat(p.Publish.Allow, p.Publish.Deny) {
			if !strings.HasPrefix(subject, "$JS.") {
				all = append(all, subject)
				continue
			}
			stream, consumer := named(subject)
			if stream != "*" && streams[stream] == nil {
				t.Errorf("%s: %s names no stream of the topology", user, subject)
			}
			if consumer == "*" || consumer == "" {
				continue
			}
			known := false
			for name, read := range consumers {
				if s, c, _ := strings.Cut(name, " "); c != consumer || stream != "*" && stream != s {
					continue
				}
				known = true
				if strings.HasPrefix(subject, "$JS.API.CONSUMER.MSG.NEXT.") {
					if read {
						t.Errorf("%s: %s is read by another service too", user, name)
					}
					consumers[name] = true
				}
			}
			if !known {
				t.Errorf("%s: %s names no consumer of the topology", user, subject)
			}
		}
	}
	for name, read := range consumers {
		if !read {
			t.Errorf("nobody may read %s", name)
		}
	}
	everybody := make([]string, 0)
	for stream, subjects := range streams {
		everybody = append(everybody, subjects...)
		for _, s := range subjects {
			if serverOnly := strings.HasPrefix(s, "due."); !serverOnly && !slices.ContainsFunc(all, func(p string) bool { return meet(p, s) }) {
				t.Errorf("%s takes %s, which nobody may publish", stream, s)
			}
		}
	}
	for _, p := range all {
		if core := slices.Contains([]string{"ask.options", "wake.*.*", "settled.*"}, p); !core && !slices.ContainsFunc(everybody, func(s string) bool { return meet(p, s) }) {
			t.Errorf("%s may be published, and no stream takes it", p)
		}
	}
}

// taken returns the subjects of each stream, those of the buckets included.
func taken(topology broker.Topology) map[string][]string {
	streams := make(map[string][]string)
	for _, s := range topology.Streams {
		streams[s.Name] = s.Subjects
	}
	for _, kv := range topology.KeyValues {
		streams["KV_"+kv.Bucket] = []string{"$KV." + kv.Bucket + ".>"}
	}
	return streams
}

// named returns the stream and the consumer that a subject of JetStream names;
// * where it names all, and nothing where it has no place for one.
func named(subject string) (stream, consumer string) {
	for prefix, place := range map[string]int{
		"$JS.ACK.": 2, "$JS.FC.": 2, "$JS.API.DIRECT.GET.": 4, "$JS.API.STREAM.INFO.": 4, "$JS.API.STREAM.CREATE.": 4, "$JS.API.STREAM.MSG.": 5,
		"$JS.API.CONSUMER.MSG.NEXT.": 5, "$JS.API.CONSUMER.INFO.": 4, "$JS.API.CONSUMER.CREATE.": 4, "$JS.API.CONSUMER.DELETE.": 4,
	} {
		if !strings.HasPrefix(subject, prefix) {
			continue
		}
		tokens := append(strings.Split(subject, "."), "")
		if strings.Contains(prefix, "CONSUMER") || strings.Contains(prefix, "ACK") {
			consumer = tokens[place+1]
		}
		return tokens[place], consumer
	}
	return "*", "" // all of JetStream, which only setup has
}

// meet reports whether some subject fits both patterns.
func meet(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		switch {
		case x[i] == ">" || y[i] == ">":
			return true
		case x[i] != y[i] && x[i] != "*" && y[i] != "*":
			return false
		}
	}
	return len(x) == len(y)
}
