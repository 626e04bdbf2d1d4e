package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/contracts/contracttest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/wire"
)

// fits checks that a wire form fits the contract's schema of this name, and
// returns it.
func fits(t *testing.T, name string, v any) string {
	t.Helper()
	raw, err := wire.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := contracttest.Compile(t, name).Validate(contracttest.Decode(t, raw)); err != nil {
		t.Errorf("got %s: %v", raw, err)
	}
	return string(raw)
}

func at() time.Time {
	return time.Date(2026, 11, 4, 13, 0, 0, 120_900_000, time.FixedZone("somewhere", 3600))
}

func pending() invocation.Invocation {
	return invocation.Invocation{
		ID: "0123456789abcdef01234567", Lock: "00aabbccddeeff0011223344", Command: "t.open", Capability: invocation.Command,
		Caller: invocation.Party{Slug: "caller", Session: "ses_secret"}, Input: json.RawMessage(`{"secret":1}`),
		Chain:  invocation.Root("0123456789abcdef01234567", invocation.Starter{Extension: "caller"}),
		Status: invocation.Pending, CreatedAt: at(),
	}
}

func TestInvocations(t *testing.T) {
	t.Parallel()
	const head = `{"invocationId":"0123456789abcdef01234567","commandId":"t.open","capability":"command",`
	const root = `"causationId":null,"correlationId":"0123456789abcdef01234567","depth":0,"causationInferred":false,"createdAt":"2026-11-04T12:00:00.120Z",`
	caused := pending()
	caused.Chain = invocation.Chain{Causation: "cccccccccccccccccccccccc", Correlation: "dddddddddddddddddddddddd", Depth: 8, Inferred: true}
	detailed := invocation.Rejects("c", "m")
	detailed.Failure.Details = json.RawMessage(`{"outcome":"not_applied"}`)
	for name, tc := range map[string]struct {
		inv  invocation.Invocation
		want string
	}{
		"pending":   {pending(), head + `"status":"pending","result":null,"error":null,` + root + `"settledAt":null}`},
		"completed": {pending().Settle(invocation.Completes(nil), at()), head + `"status":"completed","result":{},"error":null,` + root + `"settledAt":"2026-11-04T12:00:00.120Z"}`},
		"numbers as they are, text unescaped": {
			pending().Settle(invocation.Completes(json.RawMessage(`{"n":9007199254740993,"m":1.0,"x":"<&>"}`)), at()),
			head + `"status":"completed","result":{"n":9007199254740993,"m":1.0,"x":"<&>"},"error":null,` + root + `"settledAt":"2026-11-04T12:00:00.120Z"}`,
		},
		"rejected":     {pending().Settle(invocation.Rejects("c", ""), at()), head + `"status":"rejected","result":null,"error":{"code":"c","message":""},` + root + `"settledAt":"2026-11-04T12:00:00.120Z"}`},
		"with details": {pending().Settle(detailed, at()), head + `"status":"rejected","result":null,"error":{"code":"c","message":"m","details":{"outcome":"not_applied"}},` + root + `"settledAt":"2026-11-04T12:00:00.120Z"}`},
		"caused": {
			caused, head + `"status":"pending","result":null,"error":null,"causationId":"cccccccccccccccccccccccc","correlationId":"dddddddddddddddddddddddd","depth":8,"causationInferred":true,"createdAt":"2026-11-04T12:00:00.120Z","settledAt":null}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fits(t, "invocation", wire.NewInvocation(tc.inv)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	e := invocation.Event{
		ID: "0123456789abcdef01234567", Seq: 1<<53 - 1, Lock: "00aabbccddeeff0011223344", Type: "tasks.completed",
		Payload: json.RawMessage(`{"n":9007199254740993}`), Source: invocation.Source{Extension: "tasks", Actor: invocation.ActorSystem},
		Chain: invocation.Chain{Correlation: "0123456789abcdef01234567"}, CreatedAt: at(),
	}
	got := fits(t, "event", wire.NewEvent(e))
	want := `{"eventId":"0123456789abcdef01234567","seq":9007199254740991,"type":"tasks.completed","payload":{"n":9007199254740993},` +
		`"source":{"extension":"tasks","partnerExtensionId":null,"invocationId":null,"actor":"system"},` +
		`"causationId":null,"correlationId":"0123456789abcdef01234567","depth":0,"createdAt":"2026-11-04T12:00:00.120Z"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e.Source = invocation.Source{Extension: "my-ext", Partner: "aaaaaaaaaaaaaaaaaaaaaaaa", Invocation: "bbbbbbbbbbbbbbbbbbbbbbbb", Actor: invocation.ActorWearer}
	e.Chain = invocation.Chain{Causation: "bbbbbbbbbbbbbbbbbbbbbbbb", Correlation: "dddddddddddddddddddddddd", Depth: 9}
	got = fits(t, "event", wire.NewEvent(e))
	if !strings.Contains(got, `"source":{"extension":"my-ext","partnerExtensionId":"aaaaaaaaaaaaaaaaaaaaaaaa","invocationId":"bbbbbbbbbbbbbbbbbbbbbbbb","actor":"wearer"},"causationId":"bbbbbbbbbbbbbbbbbbbbbbbb"`) {
		t.Errorf("got %s", got)
	}
}

func TestHistoryLines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		line   invocation.HistoryLine
		of     invocation.Slug
		by     invocation.ID
		prefix string
		role   string
	}{
		"of an extension": {
			line: invocation.HistoryLine{Type: "time_changed", Extension: "my-ext", Actor: invocation.ActorExtension, Payload: json.RawMessage(`{"duration":60}`)},
			of:   "lock", by: "bbbbbbbbbbbbbbbbbbbbbbbb", prefix: "lock", role: "extension",
		},
		"in the wearer's name": {
			line: invocation.HistoryLine{Type: "task_assigned", Extension: "my-ext", Actor: invocation.ActorWearer}, of: "tasks", by: "bbbbbbbbbbbbbbbbbbbbbbbb", prefix: "tasks", role: "extension",
		},
		"of the keyholder":  {line: invocation.HistoryLine{Type: "lock_unlocked", Actor: invocation.ActorKeyholder}, of: "lock", prefix: "lock", role: "keyholder"},
		"of the platform":   {line: invocation.HistoryLine{Type: "pillory_ended", Actor: invocation.ActorSystem, Payload: json.RawMessage(`{}`)}, of: "pillory", prefix: "pillory", role: "system"},
		"of a partner":      {line: invocation.HistoryLine{Type: "extension_blocked", Extension: "my-ext", Actor: invocation.ActorExtension}, of: "my-ext", prefix: "lock", role: "extension"},
		"without an origin": {line: invocation.HistoryLine{Type: "extension_blocked", Extension: "my-ext", Actor: invocation.ActorExtension}, prefix: "lock", role: "extension"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry := ledger.Entry{Lock: "00aabbccddeeff0011223344", Seq: 7, Transition: ledger.Transition{
				History: []invocation.HistoryLine{tc.line}, Source: invocation.Source{Extension: tc.of, Invocation: tc.by}, At: at(),
			}}
			got := fits(t, "history-line", wire.NewHistoryLine(entry, 0))
			if strings.Contains(got, `"payload":null`) || strings.Contains(got, `"invocationId":null`) != (tc.by == "") ||
				strings.Contains(got, `"extension":null`) != (tc.line.Extension == "") || !strings.Contains(got, `"prefix":"`+tc.prefix+`","role":"`+tc.role+`"`) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestWebhooksAreNewAtEachAttempt(t *testing.T) {
	t.Parallel()
	a, b := wire.NewWebhook(wire.LockEventCreated, at(), 1), wire.NewWebhook(wire.LockEventCreated, at(), 1)
	if a.RequestID == b.RequestID || !invocation.ValidID(a.RequestID) || a.SentAt != "2026-11-04T12:00:00.120Z" || a.Event != "lock_event.created" {
		t.Errorf("got %+v and %+v", a, b)
	}
}

func TestTimeOrNull(t *testing.T) {
	t.Parallel()
	if got := wire.TimeOrNull(time.Time{}); got != nil {
		t.Errorf("got %s for the zero time, want null", *got)
	}
	if got := wire.TimeOrNull(at()); got == nil || *got != "2026-11-04T12:00:00.120Z" {
		t.Errorf("got %v", got)
	}
}

func ExampleNewInvocation() {
	inv := invocation.Invocation{
		ID: "0123456789abcdef01234567", Command: "wheel.spin", Capability: invocation.Command,
		Chain:  invocation.Root("0123456789abcdef01234567", invocation.Starter{}),
		Status: invocation.Pending, CreatedAt: time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC),
	}
	raw, err := wire.Encode(wire.NewInvocation(inv))
	fmt.Println(string(raw), err)
	// Output:
	// {"invocationId":"0123456789abcdef01234567","commandId":"wheel.spin","capability":"command","status":"pending","result":null,"error":null,"causationId":null,"correlationId":"0123456789abcdef01234567","depth":0,"causationInferred":false,"createdAt":"2026-11-04T12:00:00.000Z","settledAt":null} <nil>
}
