package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Locks returns up to limit locks after an id, in the order of their ids, and
// whether there are more. It asks a whole partition for its subjects, so it is
// for operators and never part of a call.
func (l *Ledger) Locks(ctx context.Context, after invocation.LockID, limit int) (locks []Snapshot, more bool, err error) {
	for p := after.Partition(); p < l.cfg.Partitions; p++ {
		ids, err := l.lockIDs(ctx, p)
		if err != nil {
			return nil, false, err
		}
		for _, id := range ids {
			if cmp.Compare(id, after) <= 0 {
				continue
			}
			if len(locks) == limit {
				return locks, true, nil
			}
			s, err := l.Lock(ctx, id)
			if invocation.CodeOf(err) == invocation.ResourceNotFound {
				continue // purged in this moment
			}
			if err != nil {
				return nil, false, err
			}
			locks = append(locks, s)
		}
	}
	return locks, false, nil
}

// lockIDs returns the ids of a partition's locks in order.
func (l *Ledger) lockIDs(ctx context.Context, partition int) ([]invocation.LockID, error) {
	info, err := l.streams[lockStream(partition)].Info(ctx, jetstream.WithSubjectFilter("lock."+strconv.Itoa(partition)+".*"))
	if err != nil {
		return nil, unavailable(fmt.Errorf("list the locks of partition %d: %w", partition, err))
	}
	ids := make([]invocation.LockID, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		ids = append(ids, invocation.LockID(lastToken(subject)))
	}
	slices.Sort(ids)
	return ids, nil
}
