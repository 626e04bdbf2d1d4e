package sealed_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
)

// text returns a key, made of one byte.
func text(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, sealed.KeySize))
}

func parse(tb testing.TB, keys ...string) sealed.Keys {
	tb.Helper()
	k, err := sealed.ParseKeys(strings.Join(keys, ","))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func seal(tb testing.TB, k sealed.Keys, secret string) string {
	tb.Helper()
	stored, err := k.Seal("dice", "password", secret)
	if err != nil {
		tb.Fatal(err)
	}
	return stored
}

func TestSealedTextsOpen(t *testing.T) {
	t.Parallel()
	k := parse(t, text(1))
	for _, secret := range []string{"p", "é 😀", "sealed1.deadbeef.AAAA", strings.Repeat("x", 4096), "a\x00b"} {
		one, two := seal(t, k, secret), seal(t, k, secret)
		if one == two {
			t.Error("got the same text twice: the nonce is not fresh")
		}
		if !sealed.Is(one) || !strings.HasPrefix(one, "sealed1."+k.IDs()[0]+".") || len(secret) > 1 && strings.Contains(one, secret) {
			t.Errorf("got %q", one)
		}
		for _, stored := range []string{one, two} {
			if got, err := k.Open("dice", "password", stored); err != nil || got != secret {
				t.Errorf("got %q, %v; want %q", got, err, secret)
			}
		}
	}
	if got := seal(t, k, ""); got != "" {
		t.Errorf("got %q for no secret, want none", got)
	}
}

// What was stored before there were keys is read, and without keys nothing
// changes.
func TestTextsInTheClear(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]sealed.Keys{"with keys": parse(t, text(1)), "without": {}} {
		for _, plain := range []string{"", "whsec_x", "sealed", "p.q.r"} {
			if got, err := k.Open("dice", "password", plain); err != nil || got != plain {
				t.Errorf("%s: got %q, %v; want %q", name, got, err, plain)
			}
		}
	}
	if got := seal(t, sealed.Keys{}, "plain"); got != "plain" {
		t.Errorf("got %q without keys", got)
	}
	if got, err := (sealed.Keys{}).Seal("dice", "password", "sealed1.secret"); err == nil || got != "" || strings.Contains(err.Error(), ".secret") {
		t.Errorf("got %q, %v for a secret that would not be read back", got, err)
	}
}

func TestTextsThatDoNotOpen(t *testing.T) {
	t.Parallel()
	k, other := parse(t, text(1)), parse(t, text(2))
	stored := seal(t, k, "CANARY")
	head, encoded := stored[:len("sealed1.")+9], stored[len("sealed1.")+9:]
	box, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(i int) string {
		changed := bytes.Clone(box)
		changed[i] ^= 1
		return head + base64.StdEncoding.EncodeToString(changed)
	}
	for name, tc := range map[string]struct {
		keys        sealed.Keys
		slug        invocation.Slug
		field, text string
		want        string
	}{
		"an unknown key":              {other, "dice", "password", stored, k.IDs()[0]},
		"no key at all":               {sealed.Keys{}, "dice", "password", stored, k.IDs()[0]},
		"another extension":           {k, "wheel", "password", stored, "belongs elsewhere"},
		"another field":               {k, "dice", "secret", stored, "belongs elsewhere"},
		"the parts shifted":           {k, "dic", "e\x00password", stored, "belongs elsewhere"},
		"the first byte of the nonce": {k, "dice", "password", flipped(0), "changed"},
		"a byte of the secret":        {k, "dice", "password", flipped(12), "changed"},
		"the last byte of the tag":    {k, "dice", "password", flipped(len(box) - 1), "changed"},
		"cut short":                   {k, "dice", "password", head + base64.StdEncoding.EncodeToString(box[:len(box)-1]), "changed"},
		"nothing but the head":        {k, "dice", "password", head, "changed"},
		"another key's name":          {parse(t, text(1), text(2)), "dice", "password", "sealed1." + other.IDs()[0] + "." + encoded, "changed"},
		"no base64":                   {k, "dice", "password", head + "CANARY!", "no sealed text"},
		"no key's name":               {k, "dice", "password", "sealed1." + encoded, "no sealed text"},
		"a long name":                 {k, "dice", "password", "sealed1.CANARYCANARY." + encoded, "no sealed text"},
		"a name that is none":         {k, "dice", "password", "sealed1.CANARY!!." + encoded, "no sealed text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.keys.Open(tc.slug, tc.field, tc.text)
			if err == nil || got != "" || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %q, %v; want %q", got, err, tc.want)
			}
			if strings.Contains(err.Error(), "CANARY") || strings.Contains(err.Error(), encoded[:8]) {
				t.Errorf("got %q, which quotes what is stored", err)
			}
		})
	}
}

// The first key seals, all open: a key is introduced in front and leaves when
// nothing is sealed with it.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	old, both, fresh := parse(t, text(1)), parse(t, text(2), text(1)), parse(t, text(2))
	before := seal(t, old, "p")
	if got, err := both.Open("dice", "password", before); err != nil || got != "p" {
		t.Errorf("got %q, %v from a text of before", got, err)
	}
	after := seal(t, both, "p")
	if got, err := fresh.Open("dice", "password", after); err != nil || got != "p" {
		t.Errorf("got %q, %v from a text of after: the first key has not sealed it", got, err)
	}
	if _, err := old.Open("dice", "password", after); err == nil || !strings.Contains(err.Error(), fresh.IDs()[0]) {
		t.Errorf("got %v, want the missing key named", err)
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	of := func(n int) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("CANARY"), 20)[:n]) }
	for name, tc := range map[string]struct {
		text string
		want int // keys; zero if it is refused
	}{
		"one":                  {text(1), 1},
		"two":                  {text(1) + "," + text(2), 2},
		"two lines of a file":  {text(1) + "\n" + text(2) + "\r\n", 2},
		"blanks and commas":    {" , " + text(1) + " ,\t" + text(2) + ",", 2},
		"none":                 {"", 0},
		"nothing but a comma":  {" ,\n", 0},
		"one twice":            {text(1) + "," + text(1), 0},
		"31 bytes":             {of(31), 0},
		"33 bytes":             {of(33), 0},
		"no padding":           {strings.TrimRight(of(32), "="), 0},
		"hexadecimal":          {strings.Repeat("ab", 32), 0},
		"a wrong one at last":  {text(1) + "," + of(16), 0},
		"more than a rotation": {manyKeys(17), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, err := sealed.ParseKeys(tc.text)
			if (err == nil) != (tc.want > 0) || len(k.IDs()) != tc.want || k.IsZero() != (tc.want == 0) {
				t.Fatalf("got %d keys, %v; want %d", len(k.IDs()), err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), of(31)[:8]) || strings.Contains(err.Error(), text(1)[:8])) {
				t.Errorf("got %q, which quotes a key", err)
			}
		})
	}
}

func manyKeys(n byte) string {
	var all []string
	for b := range n {
		all = append(all, text(b))
	}
	return strings.Join(all, ",")
}

func TestKeysDoNotPrint(t *testing.T) {
	t.Parallel()
	k := parse(t, base64.StdEncoding.EncodeToString([]byte("CANARY-CANARY-CANARY-CANARY-CANA")))
	type inside struct {
		Keys   sealed.Keys
		hidden sealed.Keys
	}
	holder := inside{k, k}
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", slog.Any("keys", k), slog.Any("holder", holder), slog.Any("pointer", &holder))
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", k, holder, &holder)
	}
	out.WriteString(k.String() + strings.Join(k.IDs(), ""))
	for _, shown := range []string{"CANARY", "Q0FOQVJZ", "43414e415259", "67 65 78 65"} {
		if strings.Contains(out.String(), shown) {
			t.Errorf("SEC-117: got %q in:\n%s", shown, out.String())
		}
	}
}

func FuzzOpen(f *testing.F) {
	k := parse(f, text(1))
	f.Add("sealed1.." + text(3))
	f.Add("sealed1." + k.IDs()[0] + "." + text(3))
	f.Add("plain")
	f.Fuzz(func(t *testing.T, stored string) {
		got, err := k.Open("dice", "password", stored)
		if sealed.Is(stored) == (err == nil) || err == nil && got != stored {
			t.Errorf("got %q, %v for %q", got, err, stored)
		}
	})
}

func ExampleKeys_Seal() {
	keys, err := sealed.ParseKeys("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=")
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := keys.Seal("dice", "token of a server", "s3cret")
	if err != nil {
		fmt.Println(err)
		return
	}
	secret, err := keys.Open("dice", "token of a server", stored)
	fmt.Println(stored[:17], secret, err)
	_, err = keys.Open("wheel", "token of a server", stored)
	fmt.Println(err)
	// Output:
	// sealed1.00b2a722. s3cret <nil>
	// token of a server of wheel does not open with the key 00b2a722: it was changed or belongs elsewhere
}
