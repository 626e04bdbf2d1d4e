package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestWhileAwayCountsNoOutageAsAStrike(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	away := fmt.Errorf("settle: %w", invocation.Wrap(invocation.ServiceUnavailable, boom))
	if got, want := broker.Judge(broker.WhileAway(away, time.Minute), broker.MaxStrikes), (broker.Verdict{Action: broker.HandBack, After: time.Minute}); got != want {
		t.Errorf("an outage: got %+v, want %+v", got, want)
	}
	for name, err := range map[string]error{"a failure": boom, "a refusal": invocation.Refuse(invocation.InvalidInput)} {
		if got := broker.Judge(broker.WhileAway(err, time.Minute), broker.MaxStrikes); got.Action != broker.Bury {
			t.Errorf("%s: got %+v, want it buried at the last strike", name, got)
		}
	}
	if err := broker.WhileAway(nil, time.Minute); err != nil {
		t.Errorf("no error: got %v", err)
	}
}
