package invocation_test

import (
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestLimitsAreTheContracts(t *testing.T) {
	t.Parallel()
	const minutes = 5 * time.Minute
	limits := invocation.Limits{}.WithDefaults()
	for bucket, want := range map[invocation.Bucket]invocation.Limit{
		invocation.BucketExtension:    {Max: 600, Window: minutes},
		invocation.BucketLock:         {Max: 1200, Window: minutes},
		invocation.BucketEvents:       {Max: 120, Window: minutes},
		invocation.BucketMCPExtension: {Max: 600, Window: minutes},
		invocation.BucketMCPLock:      {Max: 1200, Window: minutes},
		invocation.BucketMCPRequests:  {Max: 1200, Window: time.Minute},
		invocation.BucketOptions:      {Max: 300, Window: minutes},
		"another":                     {},
	} {
		if got := limits.Of(bucket); got != want {
			t.Errorf("%s: got %+v, want %+v", bucket, got, want)
		}
	}
}

func TestLimitsKeepWhatIsSet(t *testing.T) {
	t.Parallel()
	got := invocation.Limits{
		Extension: invocation.Limit{Max: 1}, Lock: invocation.Limit{Window: time.Second}, Events: invocation.Limit{Max: 2, Window: time.Hour},
	}.WithDefaults()
	want := invocation.Limits{}.WithDefaults()
	want.Extension.Max, want.Lock.Window, want.Events = 1, time.Second, invocation.Limit{Max: 2, Window: time.Hour}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if again := got.WithDefaults(); again != got {
		t.Errorf("got %+v after filling twice, want %+v", again, got)
	}
}

// The contract's figures, once more and by hand.
func TestFiguresAreTheContracts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want any }{
		"depth":             {invocation.MaxDepth, 8},
		"nesting":           {invocation.MaxNesting, 64},
		"key":               {invocation.MaxKeyLength, 200},
		"body":              {invocation.MaxBody, 262144},
		"payload":           {invocation.MaxPayload, 16384},
		"events":            {invocation.MaxEvents, 16},
		"events of a step":  {invocation.SeqsPerTransition, 16},
		"failure code":      {invocation.MaxFailureCode, 64},
		"failure text":      {invocation.MaxFailureText, 500},
		"inference":         {invocation.InferenceWindow, 10 * time.Second},
		"causation":         {invocation.CausationWindow, 168 * time.Hour},
		"retention":         {invocation.Retention, 720 * time.Hour},
		"emission key":      {invocation.EmissionKeyTTL, 24 * time.Hour},
		"answer":            {invocation.AnswerWait, 12 * time.Second},
		"call":              {invocation.CallTimeout, 10 * time.Second},
		"dispatch deadline": {invocation.DispatchDeadline, 15 * time.Minute},
		"dispatch grace":    {invocation.DispatchGrace, 30 * time.Second},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %v, want %v", name, tc.got, tc.want)
		}
	}
}
