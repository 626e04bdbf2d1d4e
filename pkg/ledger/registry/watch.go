package registry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// watch keeps the cache fresh until ctx is done, starting anew when the watch
// breaks. While it has no contact, readers ask the leader.
func (b *bucket[T]) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := b.follow(ctx); err != nil && ctx.Err() == nil {
			b.log.LogAttrs(ctx, slog.LevelWarn, "a registry watch broke", slog.String("bucket", b.name), slog.Any("error", err))
			retry := time.NewTimer(time.Second)
			select {
			case <-ctx.Done():
			case <-retry.C:
			}
			retry.Stop()
		}
	}
	return nil
}

func (b *bucket[T]) follow(ctx context.Context) error {
	w, err := b.kv.WatchAll(ctx, jetstream.UpdatesOnly())
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer func() { _ = w.Stop() }() // it ends with the connection otherwise
	if err := b.begin(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var asked time.Time // when the leader said that newest is its last revision
	var newest uint64
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-w.Updates():
			if !open {
				return fmt.Errorf("the watch of %s ended", b.name)
			}
			if e != nil {
				b.apply(e)
			}
		case <-tick.C:
			now := time.Now()
			if last, err := b.lastRevision(ctx); err == nil {
				asked, newest = now, last
			}
			if b.behind() { // it lost something and will not notice by itself
				return fmt.Errorf("the watch of %s has fallen behind", b.name)
			}
		}
		b.inContact(asked, newest)
	}
}

// begin empties the cache: what was changed before the watch stood is unknown.
func (b *bucket[T]) begin(ctx context.Context) error {
	now := time.Now()
	newest, err := b.lastRevision(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.cache)
	b.seen, b.contact = max(b.seen, newest), now
	return nil
}

func (b *bucket[T]) lastRevision(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := b.conn.JS.Stream(ctx, "KV_"+b.name)
	if err != nil {
		return 0, fmt.Errorf("read the last revision of %s: %w", b.name, err)
	}
	return s.CachedInfo().State.LastSeq, nil
}

// inContact notes that the watch has delivered everything that the leader had
// at the time asked.
func (b *bucket[T]) inContact(asked time.Time, newest uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen >= newest && asked.After(b.contact) {
		b.contact = asked
	}
}

// behind reports whether the watch has been without contact for so long that
// nobody uses the cache.
func (b *bucket[T]) behind() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.contact) > 2*b.trust
}

func (b *bucket[T]) apply(e jetstream.KeyValueEntry) {
	v := stored[T]{revision: e.Revision()}
	gone := e.Operation() != jetstream.KeyValuePut
	if !gone {
		var err error
		v.value, err = b.decode(e.Key(), e.Value())
		gone = err != nil // the reader says what is wrong
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = max(b.seen, e.Revision())
	if gone {
		delete(b.cache, e.Key())
		return
	}
	b.keep(e.Key(), v)
}
