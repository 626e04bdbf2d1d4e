package webhookworker

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestOnlyAMessagesOwnFaultsCount(t *testing.T) {
	t.Parallel()
	away := invocation.Refuse(invocation.ServiceUnavailable)
	for name, tc := range map[string]struct {
		err     error
		action  broker.Action
		after   time.Duration
		verdict string
		level   slog.Level
	}{
		"done":                          {nil, broker.Ack, 0, "ack", slog.LevelInfo},
		"the store is away":             {away, broker.HandBack, time.Second, "hand-back", slog.LevelDebug},
		"the store is away for longer":  {invocation.Refuse(invocation.ServiceUnavailable).After(2 * time.Second), broker.HandBack, 2 * time.Second, "hand-back", slog.LevelDebug},
		"the store is away, among more": {errors.Join(fmt.Errorf("lock: %w", away), errors.New("other")), broker.HandBack, time.Second, "hand-back", slog.LevelDebug},
		"no place left":                 {broker.Retry(broker.ErrLaneFull, 3*time.Second), broker.HandBack, 3 * time.Second, "hand-back", slog.LevelDebug},
		"what can't be read":            {errors.New("decode"), broker.Bury, 0, "failed", slog.LevelWarn},
		"what was given up":             {broker.Drop(errors.New("decode")), broker.Bury, 0, "failed", slog.LevelWarn},
		"a refusal that is no outage":   {invocation.Refuse(invocation.ResourceConflict), broker.Bury, 0, "failed", slog.LevelWarn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := patient(tc.err)
			if got := broker.Judge(err, broker.MaxStrikes); got.Action != tc.action || got.After != tc.after {
				t.Errorf("got %+v, want action %d after %s", got, tc.action, tc.after)
			}
			if verdict, level := deliverView().judge(err); verdict != tc.verdict || level != tc.level {
				t.Errorf("got verdict %s at %s, want %s at %s", verdict, level, tc.verdict, tc.level)
			}
		})
	}
}
