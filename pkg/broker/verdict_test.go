package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		err     error
		strikes int
		want    broker.Action
		after   [2]time.Duration // bounds, both inclusive
	}{
		"no error is an ack":                       {nil, 0, broker.Ack, [2]time.Duration{}},
		"an ack also after strikes":                {nil, 4, broker.Ack, [2]time.Duration{}},
		"retry names its delay":                    {broker.Retry(boom, time.Minute), 0, broker.HandBack, [2]time.Duration{time.Minute, time.Minute}},
		"retry without delay":                      {broker.Retry(boom, 0), 0, broker.HandBack, [2]time.Duration{}},
		"a wrapped retry is one":                   {fmt.Errorf("more: %w", broker.Retry(boom, time.Second)), 0, broker.HandBack, [2]time.Duration{time.Second, time.Second}},
		"retry never becomes poison":               {broker.Retry(boom, time.Second), 99, broker.HandBack, [2]time.Duration{time.Second, time.Second}},
		"drop is buried at once":                   {broker.Drop(boom), 1, broker.Bury, [2]time.Duration{}},
		"a wrapped drop is one":                    {fmt.Errorf("more: %w", broker.Drop(boom)), 1, broker.Bury, [2]time.Duration{}},
		"drop wins over retry":                     {errors.Join(broker.Retry(boom, 0), broker.Drop(boom)), 1, broker.Bury, [2]time.Duration{}},
		"the first strike waits about a second":    {boom, 1, broker.HandBack, [2]time.Duration{time.Second, 1250 * time.Millisecond}},
		"the fourth strike waits about eight":      {boom, 4, broker.HandBack, [2]time.Duration{8 * time.Second, 10 * time.Second}},
		"the fifth strike is buried":               {boom, 5, broker.Bury, [2]time.Duration{}},
		"an error without a strike is handed back": {boom, 0, broker.HandBack, [2]time.Duration{time.Second, 1250 * time.Millisecond}},
		"retry of nothing is still a retry":        {broker.Retry(nil, time.Second), 1, broker.HandBack, [2]time.Duration{time.Second, time.Second}},
		"drop of nothing is still a drop":          {broker.Drop(nil), 1, broker.Bury, [2]time.Duration{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := broker.Judge(tc.err, tc.strikes)
			if got.Action != tc.want || got.After < tc.after[0] || got.After > tc.after[1] {
				t.Errorf("got %+v, want %v after %v to %v", got, tc.want, tc.after[0], tc.after[1])
			}
			if tc.err != nil && tc.err.Error() == "" {
				t.Error("the error says nothing")
			}
		})
	}
}

func TestMarkedErrorsKeepTheirCause(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, err := range []error{broker.Retry(boom, 0), broker.Drop(boom)} {
		if !errors.Is(err, boom) || err.Error() != "boom" {
			t.Errorf("got %v, want boom", err)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		try  int
		want time.Duration
	}{
		"try 0 counts as the first":    {0, time.Second},
		"the first":                    {1, time.Second},
		"the third":                    {3, 4 * time.Second},
		"bounded":                      {9, 30 * time.Second},
		"a thousand does not overflow": {1000, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 100 {
				got := broker.Backoff(tc.try, time.Second, 30*time.Second)
				if got < tc.want || got > tc.want+tc.want/4 {
					t.Fatalf("got %v, want %v and up to a quarter more", got, tc.want)
				}
			}
		})
	}
}
