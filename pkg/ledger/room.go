package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

const (
	// How often the sizes of streams are read (design section 8).
	roomPeriod = 2 * time.Second
	// The part of a stream, in percent, that is kept for what
	// already admitted calls still have to write: claims, settlements, events.
	roomKept = 20
)

// Room refuses with ServiceUnavailable where the lock's partition is nearly
// full, so that nothing new is admitted there that may find no place to settle
// (design section 8). It costs nothing: sizes are read beside the calls.
func (l *Ledger) Room(lock invocation.LockID) error {
	if p := lock.Partition(); p < len(l.scarce) && l.scarce[p].Load() {
		return invocation.Refuse(invocation.ServiceUnavailable).After(5 * roomPeriod)
	}
	return nil
}

// look reads the sizes of the bounded streams.
func (l *Ledger) lookAtRoom(ctx context.Context) error {
	for p := range l.scarce {
		scarce := false
		for _, name := range []string{invStream(p), lockStream(p)} {
			info, err := l.streams[name].Info(ctx)
			if err != nil {
				return fmt.Errorf("read the size of %s: %w", name, err)
			}
			scarce = scarce || nearlyFull(info.State.Bytes, info.Config.MaxBytes)
		}
		if l.scarce[p].Swap(scarce) != scarce {
			l.log.LogAttrs(ctx, slog.LevelWarn, "the room of a partition has changed", slog.Int("partition", p), slog.Bool("nearly_full", scarce))
		}
	}
	return nil
}

// nearlyFull decides whether a stream has only the kept room left.
func nearlyFull(bytes uint64, bound int64) bool {
	return bound > 0 && bytes >= uint64(bound)/100*(100-roomKept)
}
