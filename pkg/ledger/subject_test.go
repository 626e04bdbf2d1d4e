package ledger

import (
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Whatever an id holds, a subject has the parts that it was asked for, no
// wildcard of its own, nothing that breaks the protocol's lines, and a length
// that the server takes: a longer one would close the connection for good
// (SEC-107, SEC-108).
func FuzzSubjects(f *testing.F) {
	const id = "65f0c0ffee65f0c0ffee65f0"
	f.Add(id, "wheel-of-fortune", id)
	for _, s := range []string{"", ".", "a.b", "*", ">", "inv.req.>", " ", "a b", "a\r\nPUB x 0\r\n", "\x00", "é", "\xff", "!", strings.Repeat("a", 5_000)} {
		f.Add(s, s, s)
		f.Add(id, "dice", s)
		f.Add(s, "dice", id)
	}
	f.Fuzz(func(t *testing.T, lockID, slug, id string) {
		lock, ext, event := invocation.LockID(lockID), invocation.Slug(slug), invocation.ID(id)
		d := Delivery{ID: id, Extension: ext, Lock: lock}
		block := Block{Bucket: invocation.BucketMCPLock, Extension: ext, Lock: lock}
		for _, tc := range []struct {
			subject string
			parts   int
			end     string // the wildcards that it ends with
		}{
			{requestSubject(lock, event), 4, ""},
			{stateSubject(lock, event), 4, ""},
			{emissionSubject(lock, event), 4, ""},
			{strings.Replace(guardSubject(lock, event), ".*.", ".x.", 1), 4, ""},
			{movedSubject(lock), 3, ""},
			{lockSubject(lock), 3, ""},
			{dueSubject(lock), 3, ""},
			{timerSubject(lock), 4, ""},
			{chainSubject(event), 2, ""},
			{sentSubject(ext, lock, event), 4, ""},
			{lastSentSubject(ext, lock), 4, ".*"},
			{limitSubject(block.Bucket, id, -1), 4, ""},
			{blockSubject(block), 4, ""},
			{deliverySubject(d), 5, ""},
			{scheduleSubject(d), 5, ""},
			{keptSubject(d), 5, ""},
			{keptSubjects(ext), 4, ".>"},
			{endpointCheckSubject(ext), 3, ""},
			{endpointTimerSubject(ext), 3, ""},
			{operationSubject(Operation{ID: event, Extension: ext}), 4, ""},
			{deadDeliverySubject(slug, id), 4, ""},
			{deadMessageSubject(id, 1), 4, ""},
			{wakeSubject(event), 2, ""},
		} {
			exact, ended := strings.CutSuffix(tc.subject, tc.end)
			if !ended || strings.Count(tc.subject, ".") != tc.parts-1 || strings.ContainsAny(exact, "*>") || len(tc.subject) > 512 {
				t.Fatalf("got %.600q, want %d parts that end in %q", tc.subject, tc.parts, tc.end)
			}
			for part := range strings.SplitSeq(exact, ".") {
				if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r > '~' }) {
					t.Fatalf("got the part %q in %q", part, tc.subject)
				}
			}
		}
		if want := "dead.delivery.*.*"; slug == "" && deadDeliveries(ext) != want {
			t.Fatalf("got %q, want %q", deadDeliveries(ext), want)
		}
		if got := deadDeliveries(ext); slug != "" && got != join("dead", "delivery", slug)+".*" {
			t.Fatalf("got %q", got)
		}
	})
}

// Parts that hold what they may are taken as they are, and two that may not
// never meet.
func TestPartsOfSubjects(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "65f0c0ffee", "wheel-of-fortune", "INV_0", strings.Repeat("a", 128)} {
		if got := token(s); got != s {
			t.Errorf("got %q for %q", got, s)
		}
	}
	seen := make(map[string]string)
	for _, s := range []string{"", ".", "*", ">", "a.b", "!", token("."), strings.Repeat("a", 129)} {
		got := token(s)
		if other, found := seen[got]; found || got == s {
			t.Errorf("got %q for %q and %q", got, s, other)
		}
		seen[got] = s
	}
}
