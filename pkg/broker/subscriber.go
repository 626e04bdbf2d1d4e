package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Subscription says which durable consumer a Subscriber reads, and how.
type Subscription struct {
	Stream, Durable string
	// InFlight bounds the messages handed to handlers at a time; zero means 1024.
	InFlight int
	// Heartbeat is how often the server is told that a handler still runs. It
	// must be well below the consumer's AckWait; zero means 10 s.
	Heartbeat time.Duration
	// Bury copies a message that no retry can help to where it is kept. It is
	// called before the message is acknowledged and again if it fails.
	Bury func(ctx context.Context, d Delivery, why error) error
	// Arrived is called for each message in the order of arrival, before any
	// handler runs, Left when it was answered. Both may be nil.
	Arrived, Left func(Delivery)
}

// A Delivery is one message as the server delivered it.
type Delivery struct {
	Subject string
	Header  map[string][]string
	Data    []byte
	// Sequence is the message's place in its stream.
	Sequence uint64
	// Attempt counts the deliveries of this message, this one included.
	Attempt uint64
	// Stored is when the server stored the message, by its clock.
	Stored time.Time
}

// A Subscriber is a Watermill subscriber on one durable consumer, with many
// messages in flight. It acknowledges nothing by itself: the router made by
// [NewRouter] turns each handler's error into an ack, a hand-back or a burial.
type Subscriber struct {
	conn *Conn
	cfg  Subscription
	log  *slog.Logger

	slots    chan struct{} // one token for each message in flight
	once     sync.Once
	stopping chan struct{} // closed by Close: hand back what is still to come
	keeper   sync.WaitGroup
	beater   sync.WaitGroup

	mu       sync.Mutex
	inFlight map[*inFlight]struct{}
	strikes  map[uint64]int // failures by stream sequence, hand-backs not counted
	consume  jetstream.ConsumeContext
	out      chan *message.Message
	cancel   context.CancelFunc
}

// inFlight is one message in a handler's hands.
type inFlight struct {
	msg      jetstream.Msg
	delivery Delivery
	owner    *Subscriber
}

type inFlightKey struct{}

// maxStruck bounds the messages whose failures are counted at a time.
const maxStruck = 10_000

// NewSubscriber returns a subscriber on an existing durable consumer.
func NewSubscriber(c *Conn, cfg Subscription, log *slog.Logger) *Subscriber {
	cfg.InFlight = cmp.Or(cfg.InFlight, 1024)
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, 10*time.Second)
	return &Subscriber{
		conn: c, cfg: cfg, log: log,
		slots:    make(chan struct{}, cfg.InFlight),
		stopping: make(chan struct{}),
		inFlight: make(map[*inFlight]struct{}),
		strikes:  make(map[uint64]int),
	}
}

// DeliveryOf returns what is known about a message's delivery. It is zero for
// a message that came from elsewhere.
func DeliveryOf(m *message.Message) Delivery {
	if f, ok := m.Context().Value(inFlightKey{}).(*inFlight); ok {
		return f.delivery
	}
	return Delivery{}
}

// Subscribe starts to deliver. The topic is only a name in logs and traces:
// what is read was fixed by the Subscription. It serves one call.
func (s *Subscriber) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	out := make(chan *message.Message)
	s.mu.Lock()
	s.out, s.cancel = out, cancel
	s.mu.Unlock()
	cc, err := s.start(work)
	if err != nil {
		cancel()
		return nil, err
	}
	s.mu.Lock()
	s.consume = cc
	s.mu.Unlock()
	s.beater.Go(func() { s.beat(work) })
	s.keeper.Go(func() { s.keep(work, cc) })
	// The router may stop by its context alone.
	context.AfterFunc(ctx, func() { _ = s.Close() }) // it never fails
	return out, nil
}

// consumer finds the durable consumer.
func (s *Subscriber) consumer(ctx context.Context) (jetstream.Consumer, error) {
	c, err := s.conn.JS.Consumer(ctx, s.cfg.Stream, s.cfg.Durable)
	if err != nil {
		return nil, fmt.Errorf("consumer %s of %s: %w", s.cfg.Durable, s.cfg.Stream, err)
	}
	return c, nil
}

// start begins to consume. The short heartbeat is how soon a lost pull request
// is noticed, after a server went away without a word (jetstream section 6,
// pitfall 23).
func (s *Subscriber) start(ctx context.Context) (jetstream.ConsumeContext, error) {
	c, err := s.consumer(ctx)
	if err != nil {
		return nil, err
	}
	cc, err := c.Consume(func(jm jetstream.Msg) { s.deliver(ctx, jm) },
		jetstream.PullMaxMessages(min(s.cfg.InFlight, 512)),
		jetstream.PullHeartbeat(2*time.Second),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			if !errors.Is(err, nats.ErrConnectionClosed) {
				s.log.LogAttrs(ctx, slog.LevelWarn, "consuming was disturbed", slog.String("consumer", s.cfg.Durable), slog.Any("error", err))
			}
		}))
	if err != nil {
		return nil, fmt.Errorf("consume %s of %s: %w", s.cfg.Durable, s.cfg.Stream, err)
	}
	return cc, nil
}

// keep starts anew when the server ends the consuming, as it does when a
// consumer is deleted and made again. Nothing else would notice.
func (s *Subscriber) keep(ctx context.Context, cc jetstream.ConsumeContext) {
	for {
		select {
		case <-s.stopping:
			return
		case <-cc.Closed():
		}
		if cc = s.restart(ctx); cc == nil {
			return
		}
		s.mu.Lock()
		s.consume = cc
		s.mu.Unlock()
	}
}

// restart tries every second to begin anew. It returns nil when there is no
// more use in it.
func (s *Subscriber) restart(ctx context.Context) jetstream.ConsumeContext {
	retry := time.NewTicker(time.Second)
	defer retry.Stop()
	for {
		select {
		case <-s.stopping:
			return nil
		case <-retry.C:
		}
		if s.conn.NC.IsClosed() {
			return nil
		}
		cc, err := s.start(ctx)
		if err == nil {
			return cc
		}
		s.log.LogAttrs(ctx, slog.LevelError, "consuming ended", slog.String("consumer", s.cfg.Durable), slog.Any("error", err))
	}
}

// deliver runs in the consume callback, so it only hands over: the wait for a
// free slot is the back-pressure that stops further pulls.
func (s *Subscriber) deliver(ctx context.Context, jm jetstream.Msg) {
	select {
	case <-s.stopping:
		_ = jm.Nak() // the server redelivers it anyway if this is lost
		return
	default:
	}
	select {
	case s.slots <- struct{}{}:
	case <-s.stopping:
		_ = jm.Nak()
		return
	}
	f := &inFlight{msg: jm, delivery: deliveryOf(jm), owner: s}
	m := message.NewMessage("", jm.Data())
	for k, v := range jm.Headers() {
		if len(v) > 0 {
			m.Metadata[k] = v[0]
		}
	}
	m.SetContext(context.WithValue(ctx, inFlightKey{}, f))
	s.mu.Lock()
	s.inFlight[f] = struct{}{}
	s.mu.Unlock()
	if s.cfg.Arrived != nil {
		s.cfg.Arrived(f.delivery)
	}
	select {
	case s.out <- m:
	case <-s.stopping:
		s.finish(ctx, f, Retry(ErrStopping, 0))
	}
}

func deliveryOf(jm jetstream.Msg) Delivery {
	d := Delivery{Subject: jm.Subject(), Header: jm.Headers(), Data: jm.Data()}
	if md, err := jm.Metadata(); err == nil {
		d.Sequence, d.Attempt, d.Stored = md.Sequence.Stream, md.NumDelivered, md.Timestamp
	}
	return d
}

// finish does what the handler's error asks for and frees the slot.
func (s *Subscriber) finish(ctx context.Context, f *inFlight, err error) {
	defer func() { <-s.slots }()
	if s.cfg.Left != nil {
		defer s.cfg.Left(f.delivery)
	}
	v := Judge(err, s.strike(f, err))
	if v.Action == Bury {
		v = s.bury(ctx, f, err)
	}
	s.mu.Lock()
	delete(s.inFlight, f)
	if v.Action != HandBack {
		delete(s.strikes, f.delivery.Sequence)
	}
	s.mu.Unlock()
	// A lost answer is harmless: the message comes again after AckWait and
	// finds its work done.
	if v.Action == HandBack {
		_ = f.msg.NakWithDelay(v.After)
		return
	}
	_ = f.msg.Ack()
}

// strike counts a failure that is no hand-back and returns the count so far.
func (s *Subscriber) strike(f *inFlight, err error) int {
	if err == nil || isHandBack(err) {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.strikes) >= maxStruck {
		clear(s.strikes) // a message counts anew, and is buried all the same
	}
	s.strikes[f.delivery.Sequence]++
	return s.strikes[f.delivery.Sequence]
}

func (s *Subscriber) bury(ctx context.Context, f *inFlight, why error) Verdict {
	s.log.LogAttrs(ctx, slog.LevelError, "message buried",
		slog.String("subject", f.delivery.Subject), slog.Uint64("sequence", f.delivery.Sequence), slog.Any("error", why))
	if s.cfg.Bury == nil {
		return Verdict{Action: Ack}
	}
	if err := s.cfg.Bury(ctx, f.delivery, why); err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "message not buried", slog.Any("error", err))
		return Verdict{Action: HandBack, After: Backoff(MaxStrikes, time.Second, 30*time.Second)}
	}
	return Verdict{Action: Ack}
}

// beat tells the server in time that the handlers still run.
func (s *Subscriber) beat(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, f := range s.held() {
				_ = f.msg.InProgress() // only stops a useless redelivery
			}
		}
	}
}

func (s *Subscriber) held() []*inFlight {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*inFlight, 0, len(s.inFlight))
	for f := range s.inFlight {
		all = append(all, f)
	}
	return all
}

// abort cancels what the handlers hold.
func (s *Subscriber) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// Close stops taking messages, hands back at once those that no handler has
// yet, and waits for the handlers that run.
func (s *Subscriber) Close() error {
	s.once.Do(func() {
		close(s.stopping)
		s.keeper.Wait()
		s.mu.Lock()
		cc := s.consume
		s.mu.Unlock()
		if cc == nil {
			return
		}
		if s.conn.NC.IsConnected() {
			cc.Drain()
		} else {
			cc.Stop() // what is buffered cannot be handed back, and comes again
		}
		<-cc.Closed()
		for range s.cfg.InFlight { // every slot free: no handler is left
			s.slots <- struct{}{}
		}
		s.abort()
		s.beater.Wait()
		close(s.out)
	})
	return nil
}
