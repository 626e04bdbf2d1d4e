package registry_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
)

// keyText returns a key for secrets, made of one byte.
func keyText(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, sealed.KeySize))
}

func keysOf(t *testing.T, texts ...string) sealed.Keys {
	t.Helper()
	if len(texts) == 0 {
		return sealed.Keys{}
	}
	k, err := sealed.ParseKeys(strings.Join(texts, ","))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A vault is a server on which registries with different keys work.
type vault struct {
	conn *broker.Conn
}

func newVault(t *testing.T) vault {
	t.Helper()
	c := brokertest.Start(t)
	if err := ledger.Topology(small()).Apply(t.Context(), c.JS); err != nil {
		t.Fatal(err)
	}
	return vault{c}
}

// with opens a registry that has these keys.
func (v vault) with(t *testing.T, keys ...string) *registry.Registry {
	t.Helper()
	r, err := registry.Open(t.Context(), v.conn, keysOf(t, keys...), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// record returns an extension as it is stored.
func (v vault) record(t *testing.T, slug string) (text string, fields registry.Extension) {
	t.Helper()
	kv, err := v.conn.JS.KeyValue(t.Context(), "extensions")
	if err != nil {
		t.Fatal(err)
	}
	e, err := kv.Get(t.Context(), slug)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(e.Value(), &fields); err != nil {
		t.Fatal(err)
	}
	return string(e.Value()), fields
}

// overwrite puts a record behind the registry's back.
func (v vault) overwrite(t *testing.T, slug string, e registry.Extension) {
	t.Helper()
	kv, err := v.conn.JS.KeyValue(t.Context(), "extensions")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), slug, []byte(toJSON(t, e))); err != nil {
		t.Fatal(err)
	}
}

const (
	plainPassword = "CANARY-password"
	plainSecret   = "whsec_CANARYCANARYCANARYCANARYCANARYCANARY"
	plainKey      = "whsk_CANARYCANARYCANARYCANARYCANARYCANARY"
)

func withSecrets(slug invocation.Slug) registry.Extension {
	return registry.Extension{Slug: slug, BasicUser: "u", BasicSecret: plainPassword, Secrets: []registry.SigningSecret{
		{ID: "1", Secret: plainSecret}, {ID: "2", Scheme: "v1a", Secret: plainKey},
	}}
}

func create(t *testing.T, r *registry.Registry, e registry.Extension) {
	t.Helper()
	if err := r.CreateExtension(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func newest(t *testing.T, r *registry.Registry, slug invocation.Slug) registry.Extension {
	t.Helper()
	e, err := r.Newest(t.Context(), slug)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// touch writes an extension without changing anything of its secrets.
func touch(t *testing.T, r *registry.Registry) {
	t.Helper()
	_, err := r.UpdateExtension(t.Context(), "a", func(e *registry.Extension) error { e.DisplayName += "."; return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// wantSecrets fails unless all secrets are those that were stored.
func wantSecrets(t *testing.T, e registry.Extension) {
	t.Helper()
	if e.BasicSecret != plainPassword || len(e.Secrets) != 2 || e.Secrets[0].Secret != plainSecret || e.Secrets[1].Secret != plainKey {
		t.Errorf("got %+v, want the secrets as they were stored", e)
	}
	for _, s := range []string{e.BasicSecret, e.Secrets[0].Secret, e.Secrets[1].Secret} {
		if err := e.Opened(s); err != nil {
			t.Error(err)
		}
	}
}

// With a key nothing of a secret is in the bucket, and every way of reading
// gives it back, the cache that the watch fills included (SEC-28).
func TestSecretsAreStoredSealed(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	r := v.with(t, keyText(1))
	run(t, r)
	create(t, r, withSecrets("a"))
	touch(t, r)
	e := newest(t, r, "a")
	if _, err := r.PublishManifest(t.Context(), e, registry.Manifest{Document: json.RawMessage(`{}`), At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, bucket := range []string{"extensions", "manifests"} {
		s, err := v.conn.JS.Stream(t.Context(), "KV_"+bucket)
		if err != nil {
			t.Fatal(err)
		}
		for seq := s.CachedInfo().State.FirstSeq; seq <= s.CachedInfo().State.LastSeq; seq++ {
			m, err := s.GetMsg(t.Context(), seq)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(m.Data, []byte("CANARY")) {
				t.Errorf("SEC-28: a secret is in %s: %s", bucket, m.Data)
			}
		}
	}
	id := keysOf(t, keyText(1)).IDs()[0]
	raw, _ := v.record(t, "a")
	if n := strings.Count(raw, `"sealed1.`+id+"."); n != 3 {
		t.Errorf("got %d sealed texts, want 3: %s", n, raw)
	}
	wantSecrets(t, newest(t, r, "a"))
	got, err := r.Extension(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	wantSecrets(t, got)
	got, err = r.Extension(t.Context(), "a") // from the cache by now
	if err != nil {
		t.Fatal(err)
	}
	wantSecrets(t, got)
	all, err := r.Extensions(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("got %+v, %v", all, err)
	}
	wantSecrets(t, all[0])
}

// A key can be introduced: what is in the clear is read, and sealed when it is
// next written.
func TestPlainSecretsAreSealedWhenWritten(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	create(t, v.with(t), withSecrets("a"))
	if raw, _ := v.record(t, "a"); strings.Count(raw, "CANARY") == 0 || strings.Contains(raw, "sealed1.") {
		t.Errorf("got %s without a key, want plain text", raw)
	}
	r := v.with(t, keyText(1))
	wantSecrets(t, newest(t, r, "a"))
	if raw, _ := v.record(t, "a"); !strings.Contains(raw, "CANARY") {
		t.Error("reading has changed the record")
	}
	if n, err := r.Reseal(t.Context()); err != nil || n != 1 {
		t.Errorf("got %d, %v; want it stored anew", n, err)
	}
	if raw, _ := v.record(t, "a"); strings.Contains(raw, "CANARY") {
		t.Errorf("got %s after a write, want nothing in the clear", raw)
	}
	wantSecrets(t, newest(t, r, "a"))
}

// Keys rotate: the new one in front, every record stored anew, the old one gone.
func TestSecretsKeysRotate(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	create(t, v.with(t, keyText(1)), withSecrets("a"))
	both := v.with(t, keyText(2), keyText(1))
	wantSecrets(t, newest(t, both, "a"))
	for _, want := range []int{1, 0} {
		if n, err := both.Reseal(t.Context()); err != nil || n != want {
			t.Errorf("got %d, %v; want %d extensions stored anew", n, err, want)
		}
	}
	wantSecrets(t, newest(t, v.with(t, keyText(2)), "a"))
	wantUnopened(t, both)
	wantUnopened(t, v.with(t, keyText(1)), "a")
	e := newest(t, v.with(t, keyText(1)), "a")
	id := keysOf(t, keyText(2)).IDs()[0]
	if err := e.Opened(e.BasicSecret); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("got %v, want the missing key %s named", err, id)
	}
}

// wantUnopened fails unless the secrets of these extensions, and no others, don't
// open.
func wantUnopened(t *testing.T, r *registry.Registry, want ...invocation.Slug) {
	t.Helper()
	if got, err := r.Unopened(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// A key that is missing costs the extension its secrets and nobody else
// anything; and what a service without it writes does not lose them.
func TestAMissingKeyCostsOneExtension(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	create(t, v.with(t, keyText(1)), withSecrets("a"))
	create(t, v.with(t, keyText(2)), withSecrets("b"))
	id := keysOf(t, keyText(1)).IDs()[0]
	for name, r := range map[string]*registry.Registry{"another key": v.with(t, keyText(2)), "no key": v.with(t)} {
		e := newest(t, r, "a")
		for _, s := range []string{e.BasicSecret, e.Secrets[0].Secret, e.Secrets[1].Secret} {
			err := e.Opened(s)
			if err == nil || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), " a ") || strings.Contains(err.Error(), s[20:]) {
				t.Errorf("%s: got %v, want the key and the extension named and nothing stored quoted", name, err)
			}
			if strings.Contains(s, "CANARY") {
				t.Errorf("%s: got %q", name, s)
			}
		}
		if e.BasicUser != "u" || e.Secrets[1].Scheme != "v1a" {
			t.Errorf("%s: got %+v, want the rest to be read", name, e)
		}
		touch(t, r)
		all, err := r.Extensions(t.Context())
		if err != nil || len(all) != 2 {
			t.Errorf("%s: got %d extensions, %v; want both listed", name, len(all), err)
		}
	}
	wantSecrets(t, newest(t, v.with(t, keyText(2)), "b"))
	wantSecrets(t, newest(t, v.with(t, keyText(1)), "a"))
	// A secret that replaces one that does not open is sealed like any other.
	_, err := v.with(t, keyText(2)).UpdateExtension(t.Context(), "a", func(e *registry.Extension) error {
		e.BasicSecret, e.Secrets = plainPassword, withSecrets("a").Secrets
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantSecrets(t, newest(t, v.with(t, keyText(2)), "a"))
}

// Whoever can write to the bucket can't have one extension's secret used for
// another, nor for another purpose, nor change it.
func TestSealedSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	r := v.with(t, keyText(1))
	for _, slug := range []invocation.Slug{"a", "b"} {
		create(t, r, withSecrets(slug))
	}
	_, a := v.record(t, "a")
	_, b := v.record(t, "b")
	for name, change := range map[string]func(*registry.Extension){
		"a password of another":       func(e *registry.Extension) { e.BasicSecret = b.BasicSecret },
		"a signing secret of another": func(e *registry.Extension) { e.BasicSecret = ""; e.Secrets[0] = b.Secrets[0] },
		"a secret as the password":    func(e *registry.Extension) { e.BasicSecret = e.Secrets[0].Secret },
		"a secret as another":         func(e *registry.Extension) { e.Secrets[0].Secret = e.Secrets[1].Secret },
		"the whole record of another": func(e *registry.Extension) { *e = b },
		"a password changed":          func(e *registry.Extension) { e.BasicSecret = e.BasicSecret[:30] + "AAAA" + e.BasicSecret[34:] },
	} {
		changed := a
		changed.Secrets = append([]registry.SigningSecret(nil), a.Secrets...)
		change(&changed)
		v.overwrite(t, "a", changed)
		e := newest(t, r, "a")
		basic, first := e.Opened(e.BasicSecret), e.Opened(e.Secrets[0].Secret)
		if basic == nil && first == nil {
			t.Errorf("%s: it opens", name)
		}
		for _, err := range []error{basic, first} {
			if err != nil && (!strings.Contains(err.Error(), "does not open") || strings.Contains(err.Error(), "CANARY")) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
	v.overwrite(t, "a", a)
	wantSecrets(t, newest(t, r, "a"))
}

// Without keys, a secret that would read as a sealed one is refused.
func TestASecretMustNotLookSealed(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	e := registry.Extension{Slug: "a", BasicSecret: "sealed1.CANARY"}
	err := v.with(t).CreateExtension(t.Context(), e)
	wantCode(t, err, invocation.InvalidInput)
	if err != nil && strings.Contains(err.Error(), "CANARY") {
		t.Errorf("got %q, which quotes the secret", err)
	}
	r := v.with(t, keyText(1))
	create(t, r, e)
	if got := newest(t, r, "a"); got.BasicSecret != e.BasicSecret {
		t.Errorf("got %q, want it back", got.BasicSecret)
	}
}
