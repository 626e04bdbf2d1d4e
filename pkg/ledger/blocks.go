package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Block keeps an extension that went over a limit from calling on a lock for
// a while (contract section 9). One that was never imposed has no Until.
type Block struct {
	Bucket    invocation.Bucket
	Extension invocation.Slug
	Lock      invocation.LockID
	Until     time.Time // of the last block, which may be over

	after uint64 // the lock's last transition before the block
	told  bool   // the history line stands
	seq   uint64
}

// Left returns how long the block still holds.
func (b Block) Left(now time.Time) time.Duration { return max(0, b.Until.Sub(now)) }

type blockRecord struct {
	Version int    `json:"v"`
	Until   int64  `json:"until"` // milliseconds
	After   uint64 `json:"ls"`
	Told    bool   `json:"told,omitzero"`
}

// After returns a charge in the block's bucket as it is counted now: when a
// block ends, a window begins that is empty (design section 3).
func (l *Ledger) After(b Block, c Charge) Charge {
	if !b.Until.IsZero() && l.window(c, b.Until) == l.window(c, l.Now()) {
		c.Key += "-" + strconv.FormatInt(b.Until.UnixMilli(), 10)
	}
	return c
}

// LastBlock reads the last block of an extension on a lock by a bucket.
func (l *Ledger) LastBlock(ctx context.Context, b Block) (Block, error) {
	m, err := l.newest(ctx, blocksStream, blockSubject(b))
	if err != nil || m == nil {
		return b, err
	}
	var rec blockRecord
	if err := decode(m.Data, &rec); err != nil {
		return b, err
	}
	b.Until, b.after, b.told, b.seq = fromMillis(rec.Until), rec.After, rec.Told, m.Sequence
	return b, nil
}

// Block blocks an extension on a lock, unless the block as it was read still
// holds, and returns the block that holds now. Its history line stands when
// Block returns, once, whoever else blocks at the same time; one whose maker
// died in between is written by the next who is refused.
func (l *Ledger) Block(ctx context.Context, b Block, lasts time.Duration) (Block, error) {
	if b.Left(l.Now()) == 0 {
		var err error
		if b, err = l.impose(ctx, b, lasts); err != nil {
			return b, err
		}
	}
	return b, l.tell(ctx, b)
}

func (l *Ledger) impose(ctx context.Context, b Block, lasts time.Duration) (Block, error) {
	snap, err := l.Lock(ctx, b.Lock)
	if err != nil {
		return b, err
	}
	last, err := l.LastBlock(ctx, b)
	if err != nil || last.Left(l.Now()) > 0 {
		return last, err
	}
	b.Until, b.after, b.told = l.Now().Add(lasts).Truncate(time.Millisecond), snap.Seq, false
	b.seq, err = l.putBlock(ctx, b, last.seq)
	if errors.Is(err, errConflict) {
		return l.LastBlock(ctx, b) // somebody else has blocked it just now
	}
	return b, err
}

func (l *Ledger) putBlock(ctx context.Context, b Block, expected uint64) (uint64, error) {
	data, err := encode(blockRecord{Version: recordVersion, Until: b.Until.UnixMilli(), After: b.after, Told: b.told})
	if err != nil {
		return 0, err
	}
	ttl := (b.Left(l.Now()) + l.cfg.Limits.Of(b.Bucket).Window + time.Second).Truncate(time.Second)
	return l.put(ctx, &nats.Msg{Subject: blockSubject(b), Data: data},
		jetstream.WithExpectLastSequencePerSubject(expected), jetstream.WithMsgTTL(ttl))
}

// tell writes the history line of a block, unless it stands already.
func (l *Ledger) tell(ctx context.Context, b Block) error {
	if b.told {
		return nil
	}
	_, err := l.Change(ctx, Change{Lock: b.Lock, Once: b.id(), After: b.after, Decide: func(s Snapshot) (Transition, error) {
		payload := fmt.Sprintf(`{"bucket":%q,"until":%q}`, b.Bucket, invocation.FormatTime(b.Until))
		return Transition{State: s.State, At: l.Now(), History: []invocation.HistoryLine{
			{Type: "extension_blocked", Extension: b.Extension, Actor: invocation.ActorExtension, Payload: []byte(payload)},
		}}, nil
	}})
	if err != nil {
		return err
	}
	b.told = true
	_, err = l.putBlock(ctx, b, b.seq)
	return ignore(err, errConflict) // another one has told it
}

// id is the same for all who tell of one block, and no invocation's.
func (b Block) id() invocation.ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "block\x00%s\x00%s\x00%s\x00%d", b.Bucket, b.Extension, b.Lock, b.Until.UnixMilli()))
	return invocation.ID(hex.EncodeToString(sum[:12]))
}
