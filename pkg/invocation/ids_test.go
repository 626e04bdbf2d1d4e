package invocation_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// hostile are strings that must never become part of a subject (SEC-73, SEC-107).
func hostile() []string {
	return []string{
		"", " ", ".", "*", ">", "a.b", "a b", "a\x00", "a\r\nPUB x 1\r\nx", "../../x", "é", "\u00e9", "a*", "a>", "$JS",
		"\xff", "\ufeffa", "a/b", "a%2e", "ключ", "a\t", "０", "\u200b", strings.Repeat("a", 5000),
	}
}

func TestIDForms(t *testing.T) {
	t.Parallel()
	const id = "0123456789abcdef01234567"
	for name, tc := range map[string]struct {
		valid func(string) bool
		in    string
		want  bool
	}{
		"an id of 24 lower-case hex digits":  {invocation.ValidID, id, true},
		"an id of 23":                        {invocation.ValidID, id[1:], false},
		"an id of 25":                        {invocation.ValidID, id + "0", false},
		"an id in upper case":                {invocation.ValidID, strings.ToUpper(id), false},
		"an id with a g":                     {invocation.ValidID, "g" + id[1:], false},
		"an id of 24 bytes in 12 letters":    {invocation.ValidID, strings.Repeat("é", 12), false},
		"an id with a line break":            {invocation.ValidID, id[1:] + "\n", false},
		"a slug of one character":            {invocation.ValidSlug, "a", true},
		"a slug of 40":                       {invocation.ValidSlug, strings.Repeat("a", 40), true},
		"a slug of 41":                       {invocation.ValidSlug, strings.Repeat("a", 41), false},
		"a slug of digits and hyphens":       {invocation.ValidSlug, "4-2-", true},
		"a slug in upper case":               {invocation.ValidSlug, "Ext", false},
		"a slug with an underscore":          {invocation.ValidSlug, "a_b", false},
		"a session of one character":         {invocation.ValidSession, "_", true},
		"a session of every kind":            {invocation.ValidSession, "aZ09_-", true},
		"a session of 64":                    {invocation.ValidSession, strings.Repeat("s", 64), true},
		"a session of 65":                    {invocation.ValidSession, strings.Repeat("s", 65), false},
		"a session with a dot":               {invocation.ValidSession, "a.b", false},
		"a capability":                       {invocation.ValidCapability, "my-ext.do-it-2", true},
		"a capability of one letter each":    {invocation.ValidCapability, "a.b", true},
		"a capability with a slug of 40":     {invocation.ValidCapability, strings.Repeat("a", 40) + ".b", true},
		"a capability with a slug of 41":     {invocation.ValidCapability, strings.Repeat("a", 41) + ".b", false},
		"a capability with a name of 64":     {invocation.ValidCapability, "a." + strings.Repeat("b", 64), true},
		"a capability with a name of 65":     {invocation.ValidCapability, "a." + strings.Repeat("b", 65), false},
		"a capability without a dot":         {invocation.ValidCapability, "add-time", false},
		"a capability with two dots":         {invocation.ValidCapability, "a.b.c", false},
		"a capability without a slug":        {invocation.ValidCapability, ".b", false},
		"a capability without a name":        {invocation.ValidCapability, "a.", false},
		"a name that begins with a hyphen":   {invocation.ValidCapability, "a.-b", false},
		"a name that ends with a hyphen":     {invocation.ValidCapability, "a.b-", false},
		"a name with two hyphens in a row":   {invocation.ValidCapability, "a.b--c", false},
		"a slug of hyphens in a capability":  {invocation.ValidCapability, "--.b", true},
		"a capability in upper case":         {invocation.ValidCapability, "a.B", false},
		"a capability with an underscore":    {invocation.ValidCapability, "a.b_c", false},
		"a capability with a line break":     {invocation.ValidCapability, "lock.add-time\n", false},
		"a pattern is no capability":         {invocation.ValidCapability, "a.*", false},
		"a capability with a wildcard alone": {invocation.ValidCapability, "*", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.valid(tc.in); got != tc.want {
				t.Errorf("got %t for %q, want %t", got, tc.in, tc.want)
			}
		})
	}
}

func TestHostileStringsAreNoIDs(t *testing.T) {
	t.Parallel()
	for _, s := range hostile() {
		for name, valid := range map[string]func(string) bool{
			"id": invocation.ValidID, "slug": invocation.ValidSlug, "session": invocation.ValidSession,
		} {
			if valid(s) {
				t.Errorf("%q is valid as %s", s, name)
			}
		}
		if s != "a.b" && invocation.ValidCapability(s) {
			t.Errorf("%q is valid as capability", s)
		}
	}
}

// Whatever is valid can be part of a subject: it has no dot but the one of a
// capability, no wildcard, no white space and nothing outside ASCII.
func TestValidNamesFitASubject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[a-zA-Z0-9_.*> \n-]{0,70}`), rapid.StringMatching(`[0-9a-f]{22,26}`),
		).Draw(t, "s")
		token := strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == "" && s != ""
		if (invocation.ValidID(s) || invocation.ValidSlug(s) || invocation.ValidSession(s)) && !token {
			t.Fatalf("%q is valid and no token of a subject", s)
		}
		if slug, name, _ := strings.Cut(s, "."); invocation.ValidCapability(s) &&
			(!invocation.ValidSlug(slug) || !invocation.ValidSlug(name[:min(40, len(name))]) || string(invocation.CapabilityID(s).Slug()) != slug) {
			t.Fatalf("%q is valid as capability", s)
		}
	})
}

func TestLockIDsCarryTheirPartition(t *testing.T) {
	t.Parallel()
	for p := range 256 {
		id := invocation.NewLockID(p)
		if !invocation.ValidID(string(id)) || id.Partition() != p {
			t.Errorf("got %q in partition %d, want %d", id, id.Partition(), p)
		}
	}
}

func TestMalformedLockIDsHavePartitionZero(t *testing.T) {
	t.Parallel()
	for _, id := range append(hostile(), "f", "zz0123456789abcdef012345") {
		if got := invocation.LockID(id).Partition(); got < 0 || got > 255 || !strings.HasPrefix(id, "a") && got != 0 {
			t.Errorf("got partition %d of %q, want 0", got, id)
		}
	}
}

func TestNewIDsAreFreshAndValid(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		ext, session := string(invocation.NewExtensionID()), string(invocation.NewSessionID())
		lock, key := string(invocation.NewLockID(3)), invocation.NewKey()
		if !invocation.ValidID(ext) || !invocation.ValidSession(session) || key == "" || len(key) > invocation.MaxKeyLength {
			t.Fatalf("got the malformed %q, %q, %q", ext, session, key)
		}
		for _, s := range []string{ext, session, lock, key} {
			if seen[s] {
				t.Fatalf("got %q twice", s)
			}
			seen[s] = true
		}
	}
}

// The key may hold any character; only the hash goes further (SEC-72, SEC-73).
func TestInvocationIDsTellCallsApart(t *testing.T) {
	t.Parallel()
	lock, other := invocation.NewLockID(0), invocation.NewLockID(0)
	keys := append(hostile(), "chat-6731b2c4e5:turn-12", "e\u0301", "50%", `"q"`, "a\x00b", "\x00a", "A")
	seen := make(map[invocation.ID]string)
	for _, key := range keys {
		for what, id := range map[string]invocation.ID{
			"call of a":              invocation.InvocationID(lock, "a", key),
			"call of b":              invocation.InvocationID(lock, "b", key),
			"call on another lock":   invocation.InvocationID(other, "a", key),
			"emission":               invocation.EmissionID(lock, "a", key),
			"emission on other lock": invocation.EmissionID(other, "a", key),
		} {
			what += " with " + key
			if !invocation.ValidID(string(id)) {
				t.Errorf("%q: got %q, want an id", what, id)
			}
			if was, taken := seen[id]; taken && was != what {
				t.Errorf("%q has the id of %q", what, was)
			}
			seen[id] = what
		}
	}
	// "é" as one code point and as two are different keys: nothing is normalised.
	if a, b := invocation.InvocationID(lock, "a", "\u00e9"), invocation.InvocationID(lock, "a", "e\u0301"); a == b {
		t.Error("two spellings of é are the same key")
	}
	if again := invocation.InvocationID(lock, "a", "k"); again != invocation.InvocationID(lock, "a", "k") {
		t.Error("the same call has two ids")
	}
}

// The id of a stored call is for ever: a change of the derivation would let a
// key that is 29 days old run again.
func TestDerivedIDsNeverChange(t *testing.T) {
	t.Parallel()
	const lock = invocation.LockID("00aabbccddeeff0011223344")
	for name, tc := range map[string]struct{ got, want invocation.ID }{
		"of a call":      {invocation.InvocationID(lock, "my-ext", "spin-1:assign"), "ad069e3c3aefc9df60577010"},
		"of an emission": {invocation.EmissionID(lock, "my-ext", "spin-1:assign"), "58ace492ed610a4ed19f0171"},
		"of an event":    {invocation.EventID(lock, 0x0102030405060708), "e2f3e85c0102030405060708"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %s, want %s", name, tc.got, tc.want)
		}
	}
}

func TestEventIDsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lock := invocation.NewLockID(rapid.IntRange(0, 255).Draw(t, "partition"))
		seq := invocation.Seq(rapid.Uint64().Draw(t, "seq"))
		id := invocation.EventID(lock, seq)
		if !invocation.ValidID(string(id)) {
			t.Fatalf("got %q, want an id", id)
		}
		if got, ours := invocation.EventSeq(lock, id); !ours || got != seq {
			t.Fatalf("got %d, %t, want %d", got, ours, seq)
		}
		if _, ours := invocation.EventSeq(invocation.NewLockID(0), id); ours {
			t.Fatalf("%s is an event of another lock too", id) // one in four billion
		}
	})
}

func TestEventSeqRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	lock := invocation.NewLockID(1)
	valid := string(invocation.EventID(lock, 42))
	for _, id := range append(hostile(), valid[:22], valid+"00", "zz"+valid[2:], string(invocation.NewExtensionID())) {
		if seq, ours := invocation.EventSeq(lock, invocation.ID(id)); ours {
			t.Errorf("got seq %d of %q, want no event", seq, id)
		}
	}
}
