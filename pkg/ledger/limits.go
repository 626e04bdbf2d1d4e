package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Charge is one call to be counted in a bucket.
type Charge struct {
	Bucket invocation.Bucket
	// Key tells whose bucket it is; it must be valid in a subject: an id, a
	// slug, or two of them joined by "-".
	Key string
}

// Charge counts a call in every bucket, or in none: where one refuses, what
// the others took is given back. It returns RateLimited with the bucket and
// the time until its window ends. The counters live in the server and their
// new value comes back with the count, so they are exact over all replicas
// (contract section 9); windows are fixed and by the server's clock.
func (l *Ledger) Charge(ctx context.Context, charges ...Charge) error {
	return l.counting(ctx, func() error { return l.charge(ctx, charges) })
}

// counting does what needs the counters, and once more if they had to be made
// again for it.
func (l *Ledger) counting(ctx context.Context, do func() error) error {
	err := do()
	if errors.Is(err, jetstream.ErrNoStreamResponse) && restoreCounters(ctx, l.js, l.cfg) == nil {
		return do()
	}
	return err
}

// restoreCounters makes the stream of the counters again where it is gone: it
// is in memory, so a server that is started anew without a replica beside it
// does not have it any more. Its counts are lost, and windows begin at zero. On
// a server that was never set up it does nothing.
func restoreCounters(ctx context.Context, js jetstream.JetStream, c Config) error {
	if _, err := js.Stream(ctx, sentStream); err != nil {
		return ignore(err, jetstream.ErrStreamNotFound)
	}
	streams := Topology(c).Streams
	counters := streams[slices.IndexFunc(streams, func(s jetstream.StreamConfig) bool { return s.Name == limitsStream })]
	_, err := js.CreateStream(ctx, counters)
	return ignore(err, jetstream.ErrStreamNameAlreadyInUse) // with a setting that an operator changed
}

// ignore returns err unless it is the one that counts for nothing.
func ignore(err, nothing error) error {
	if errors.Is(err, nothing) {
		return nil
	}
	return err
}

func (l *Ledger) charge(ctx context.Context, charges []Charge) error {
	now := l.Now()
	for _, c := range charges {
		if l.full.has(c, now) {
			return l.refusal(c, now)
		}
	}
	futures := make([]jetstream.PubAckFuture, len(charges))
	for i, c := range charges {
		f, err := l.js.PublishMsgAsync(l.increment(c, now, 1), jetstream.WithStallWait(5*time.Second))
		if err != nil {
			return unavailable(err)
		}
		futures[i] = f
	}
	var refused error
	var taken []Charge
	var lost error
	for i, f := range futures {
		total, err := counted(ctx, f)
		switch {
		case err != nil:
			lost = unavailable(err)
		case total > l.cfg.Limits.Of(charges[i].Bucket).Max:
			l.full.add(charges[i], now, l.left(charges[i], now))
			taken = append(taken, charges[i])
			if refused == nil {
				refused = l.refusal(charges[i], now)
			}
		default:
			taken = append(taken, charges[i])
		}
	}
	if lost == nil && refused == nil {
		return nil
	}
	l.giveBack(now, taken)
	if lost != nil {
		return lost
	}
	return refused
}

// Move counts a call in other buckets than those that it was counted in, whether
// or not they are full. It does not wait: a count that is lost changes a window
// by one.
func (l *Ledger) Move(from, to []Charge) {
	now := l.Now()
	l.giveBack(now, from)
	for _, c := range to {
		if _, err := l.js.PublishMsgAsync(l.increment(c, now, 1)); err != nil {
			l.log.Warn("a call was not counted", slog.String("bucket", string(c.Bucket)))
		}
	}
}

// giveBack undoes counts without waiting for it: one that is lost makes the
// window stricter by one, never laxer.
func (l *Ledger) giveBack(now time.Time, charges []Charge) {
	for _, c := range charges {
		if _, err := l.js.PublishMsgAsync(l.increment(c, now, -1)); err != nil {
			l.log.Warn("a count was not given back", slog.String("bucket", string(c.Bucket)))
		}
	}
}

func (l *Ledger) window(c Charge, now time.Time) int64 {
	return now.UnixNano() / int64(l.cfg.Limits.Of(c.Bucket).Window)
}

func (l *Ledger) increment(c Charge, now time.Time, by int) *nats.Msg {
	m := nats.NewMsg(limitSubject(c.Bucket, c.Key, l.window(c, now)))
	m.Header["Nats-Incr"] = []string{fmt.Sprintf("%+d", by)}
	return m
}

func (l *Ledger) refusal(c Charge, now time.Time) error {
	return invocation.Refuse(invocation.RateLimited).With("bucket", string(c.Bucket)).After(l.left(c, now))
}

// left returns the time until the bucket's window ends.
func (l *Ledger) left(c Charge, now time.Time) time.Duration {
	window := l.cfg.Limits.Of(c.Bucket).Window
	return window - time.Duration(now.UnixNano()%int64(window))
}

// counted waits for a counter's answer and returns its new value.
func counted(ctx context.Context, f jetstream.PubAckFuture) (int, error) {
	select {
	case ack := <-f.Ok():
		n, err := strconv.Atoi(ack.Value)
		if err != nil {
			return 0, fmt.Errorf("read a counter: %w", err)
		}
		return n, nil
	case err := <-f.Err():
		return 0, err
	case <-ctx.Done():
		return 0, errors.Join(errors.New("waiting for a counter"), context.Cause(ctx))
	}
}

// overLimits remembers which buckets are full, so that the refusals of a storm
// cost the server nothing. It does so for a moment only: a bucket seems full
// also by a count that is about to be given back.
type overLimits struct {
	mu   sync.Mutex
	full map[Charge]time.Time // until when the bucket is taken for full
}

// fullFor is how long a bucket that was seen full is not asked again.
const fullFor = time.Second

func newOverLimits() *overLimits { return &overLimits{full: make(map[Charge]time.Time)} }

func (o *overLimits) has(c Charge, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return now.Before(o.full[c])
}

// add takes a bucket for full, at most until its window ends.
func (o *overLimits) add(c Charge, now time.Time, left time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.full) >= 10_000 {
		clear(o.full) // forgetting costs a count each, no more
	}
	o.full[c] = now.Add(min(left, fullFor))
}
