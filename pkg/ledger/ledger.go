package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Ledger reads and writes the facts.
type Ledger struct {
	conn    *broker.Conn
	js      jetstream.JetStream
	cfg     Config
	log     *slog.Logger
	clock   *clock
	waiters *waiters
	locks   *keyLocks
	full    *overLimits
	decoded *snapshots
	notes   *notes
	scarce  []atomic.Bool               // the partitions that are nearly full
	streams map[string]jetstream.Stream // opened once; never changed afterwards
}

// Open verifies that the topology is there and returns a ledger on it. Run
// must be running for [Ledger.Now] to follow the server's clock.
func Open(ctx context.Context, conn *broker.Conn, cfg Config, log *slog.Logger) (*Ledger, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := restoreCounters(ctx, conn.JS, cfg); err != nil {
		return nil, fmt.Errorf("restore the counters of limits: %w", err)
	}
	if err := Topology(cfg).Verify(ctx, conn.JS); err != nil {
		return nil, fmt.Errorf("the topology is not set up (latchwire setup does it): %w", err)
	}
	// With partitions unknown here, their locks would not exist.
	switch _, err := conn.JS.Stream(ctx, invStream(cfg.Partitions)); {
	case err == nil:
		return nil, fmt.Errorf("the topology has more partitions than the %d configured", cfg.Partitions)
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, fmt.Errorf("count the partitions: %w", err)
	}
	l := &Ledger{
		conn: conn, js: conn.JS, cfg: cfg, log: log,
		clock: &clock{local: time.Now}, locks: newKeyLocks(), full: newOverLimits(), decoded: newSnapshots(), notes: newNotes(),
		waiters: newWaiters(), scarce: make([]atomic.Bool, cfg.Partitions),
	}
	if err := l.openStreams(ctx); err != nil {
		return nil, err
	}
	if err := l.measure(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// openStreams asks for each stream once, so that no read needs to later.
func (l *Ledger) openStreams(ctx context.Context) error {
	l.streams = make(map[string]jetstream.Stream)
	for _, s := range Topology(l.cfg).Streams {
		stream, err := l.js.Stream(ctx, s.Name)
		if err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
		l.streams[s.Name] = stream
	}
	return nil
}

// Run keeps the server's clock measured, and an eye on the room that is left,
// until ctx is done.
func (l *Ledger) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { l.every(ctx, clockPeriod, l.measure) })
	if l.cfg.MaxBytes > 0 {
		running.Go(func() { l.every(ctx, roomPeriod, l.lookAtRoom) })
	}
	running.Wait()
	return nil
}

func (l *Ledger) measure(ctx context.Context) error {
	if err := l.clock.measure(ctx, l.js); err != nil {
		return fmt.Errorf("read the server's clock: %w", err)
	}
	return nil
}

// every runs work again and again until ctx is done, and logs what fails.
func (l *Ledger) every(ctx context.Context, period time.Duration, work func(context.Context) error) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := work(ctx); err != nil && ctx.Err() == nil {
				l.log.LogAttrs(ctx, slog.LevelWarn, "upkeep of the ledger failed", slog.Any("error", err))
			}
		}
	}
}

// Partitions returns how many partitions new locks are spread over.
func (l *Ledger) Partitions() int { return l.cfg.Partitions }

// Now returns the time by the server's clock, which decides windows and
// deadlines whatever this machine's clock says (SEC-90).
func (l *Ledger) Now() time.Time { return l.clock.now() }

// The server's answers that decide something (jetstream section 6).
const (
	wrongLastSequence = jetstream.JSErrCodeStreamWrongLastSequence         // a verdict: somebody else wrote
	publishInProcess  = jetstream.JSErrCodeStreamWrongLastSequenceConstant // no verdict: ask again

	clusterNotAvailable jetstream.ErrorCode = 10008 // an election, as is the next
	clusterNotLeader    jetstream.ErrorCode = 10009
)

// errConflict says that the subject was not at the expected sequence.
var errConflict = errors.New("the subject has moved on")

// errPerhapsOurs is errConflict after a try without an answer, which may be the
// very one that was stored: the caller reads what is there before it concludes
// that somebody else wrote.
var errPerhapsOurs = fmt.Errorf("%w, perhaps by this very write", errConflict)

// put publishes until the server gives an answer that decides, or the patience
// is used up. It returns errConflict or errPerhapsOurs for a failed expectation.
func (l *Ledger) put(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Patience)
	defer cancel()
	conflict := errConflict
	for try := 1; ; try++ {
		ack, err := l.publish(ctx, m, opts)
		if err == nil {
			return ack.Sequence, nil
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			return 0, invocation.Wrap(invocation.PayloadTooLarge, err)
		}
		wait := broker.Backoff(try, 20*time.Millisecond, time.Second)
		if api, ok := errors.AsType[*jetstream.APIError](err); ok {
			switch api.ErrorCode { //nolint:exhaustive // the server's codes are no closed set
			case wrongLastSequence:
				return 0, conflict
			case publishInProcess:
				wait = broker.Backoff(1, 2*time.Millisecond, time.Second)
			case clusterNotAvailable, clusterNotLeader:
			default:
				return 0, unavailable(err)
			}
		} else {
			conflict = errPerhapsOurs
		}
		if err := pause(ctx, wait); err != nil {
			return 0, unavailable(fmt.Errorf("%w; last: %w", err, context.Cause(ctx)))
		}
	}
}

// publish is one try: an answer that got lost costs a part of the patience only.
func (l *Ledger) publish(ctx context.Context, m *nats.Msg, opts []jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Patience/4)
	defer cancel()
	return l.js.PublishMsg(ctx, m, opts...)
}

// unavailable hides why JetStream gave no answer.
func unavailable(err error) error {
	return invocation.Wrap(invocation.ServiceUnavailable, err).After(2 * time.Second)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
