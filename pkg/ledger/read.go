package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
)

// peek returns the newest message of a subject from any replica. Nil means
// only that this replica has none.
func (l *Ledger) peek(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	s, found := l.streams[stream]
	if !found { // of a partition that there is not
		return nil, nil
	}
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if err == nil {
		return m, nil
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return nil, unavailable(err)
}

// newest returns the newest message of a subject, which may hold wildcards, as
// the leader knows it, or nil if there is none.
func (l *Ledger) newest(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	if l.cfg.Replicas == 1 { // the only replica is the leader, and a direct read is the cheaper
		return l.peek(ctx, stream, subject)
	}
	return l.askLeader(ctx, stream, broker.StoredRequest{LastBySubject: subject})
}

// at returns the message with this sequence, or nil if there is none.
func (l *Ledger) at(ctx context.Context, stream string, seq uint64) (*jetstream.RawStreamMsg, error) {
	s, found := l.streams[stream]
	if !found {
		return nil, nil
	}
	m, err := s.GetMsg(ctx, seq)
	if err == nil {
		return m, nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, unavailable(err)
	}
	if l.cfg.Replicas == 1 {
		return nil, nil
	}
	return l.askLeader(ctx, stream, broker.StoredRequest{Sequence: seq})
}

// askLeader reads from the stream's leader and goes on asking while there is none.
func (l *Ledger) askLeader(ctx context.Context, stream string, ask broker.StoredRequest) (*jetstream.RawStreamMsg, error) {
	if _, found := l.streams[stream]; !found {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Patience)
	defer cancel()
	for try := 1; ; try++ {
		m, err := l.conn.Stored(ctx, stream, ask)
		if err == nil {
			return m, nil
		}
		if pause(ctx, broker.Backoff(try, 20*time.Millisecond, time.Second)) != nil {
			return nil, unavailable(err)
		}
	}
}
