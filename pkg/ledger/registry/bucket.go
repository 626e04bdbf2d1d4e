package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// How long a cache is trusted without contact to the watch. A revoked token
// must be refused everywhere within five seconds (contract section 2); nothing
// else is so urgent that a slow store should be asked for every call.
const (
	tokenFreshness = 5 * time.Second
	freshness      = time.Minute
)

// maxCached bounds the entries of one bucket's cache.
const maxCached = 50_000

// A stored value and the revision it has in its bucket.
type stored[T any] struct {
	value    T
	revision uint64
}

// bucket is one key-value bucket with its cache. The watch fills and empties
// the cache; a reader fills it only if nothing was changed while it read.
type bucket[T any] struct {
	name  string
	trust time.Duration // how long the cache is trusted without contact
	conn  *broker.Conn
	kv    jetstream.KeyValue
	log   *slog.Logger
	// What a value goes through on its way into the store and out of it.
	seal   func(key string, v T) (T, error)
	unseal func(key string, v *T)

	mu      sync.Mutex
	cache   map[string]stored[T]
	seen    uint64    // the newest revision that the watch has delivered
	contact time.Time // when the watch was last known to be up to date
}

func openBucket[T any](ctx context.Context, conn *broker.Conn, name string, log *slog.Logger) (*bucket[T], error) {
	kv, err := conn.JS.KeyValue(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", name, err)
	}
	return &bucket[T]{
		name: name, trust: freshness, conn: conn, kv: kv, log: log, cache: make(map[string]stored[T]),
		seal: func(_ string, v T) (T, error) { return v, nil }, unseal: func(string, *T) {},
	}, nil
}

// encode returns a value as it is stored.
func (b *bucket[T]) encode(key string, v T) ([]byte, error) {
	v, err := b.seal(key, v)
	if err != nil {
		return nil, fmt.Errorf("seal %s of %s: %w", key, b.name, err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s of %s: %w", key, b.name, err)
	}
	return data, nil
}

// decode reads a value as it is stored.
func (b *bucket[T]) decode(key string, data []byte) (v T, err error) {
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("decode %s of %s: %w", key, b.name, err)
	}
	b.unseal(key, &v)
	return v, nil
}

// get returns a value, from the cache while that is fresh. A key without a
// value is answered with found false.
func (b *bucket[T]) get(ctx context.Context, key string) (v stored[T], found bool, err error) {
	b.mu.Lock()
	v, found = b.cache[key]
	fresh := time.Since(b.contact) < b.trust
	seen := b.seen
	b.mu.Unlock()
	if found && fresh {
		return v, true, nil
	}
	v, found, err = b.read(ctx, key)
	if err != nil || !found {
		return v, found, err
	}
	b.fill(key, v, seen)
	return v, true, nil
}

// fill caches what was read, unless the watch has delivered anything since seen
// and has passed the value: it may be gone. A value that the watch has yet to
// pass is kept, or what the watch delivers next would seem the newest, and the
// next read would go back behind this one.
func (b *bucket[T]) fill(key string, v stored[T], seen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == seen || v.revision > b.seen {
		b.keep(key, v)
	}
}

// read asks the bucket's leader.
func (b *bucket[T]) read(ctx context.Context, key string) (stored[T], bool, error) {
	m, err := b.conn.Stored(ctx, "KV_"+b.name, broker.StoredRequest{LastBySubject: "$KV." + b.name + "." + key})
	if err != nil {
		return stored[T]{}, false, unavailable(err)
	}
	if m == nil || m.Header.Get("KV-Operation") != "" || m.Header.Get(jetstream.MarkerReasonHeader) != "" {
		return stored[T]{}, false, nil
	}
	v, err := b.decode(key, m.Data)
	if err != nil {
		return stored[T]{}, false, err
	}
	return stored[T]{v, m.Sequence}, true, nil
}

// keep caches an entry; the caller holds the mutex.
func (b *bucket[T]) keep(key string, v stored[T]) {
	if had, found := b.cache[key]; found && had.revision >= v.revision {
		return
	}
	if len(b.cache) >= maxCached {
		for k := range b.cache { // any tenth will do: the rest stays warm
			delete(b.cache, k)
			if len(b.cache) <= maxCached-maxCached/10 {
				break
			}
		}
	}
	b.cache[key] = v
}

// create stores a value under a new key, for ttl if that is not zero. It
// returns ResourceConflict if the key has one.
func (b *bucket[T]) create(ctx context.Context, key string, v T, ttl time.Duration) error {
	data, err := b.encode(key, v)
	if err != nil {
		return err
	}
	var opts []jetstream.KVCreateOpt
	if ttl > 0 {
		opts = append(opts, jetstream.KeyTTL(max(ttl, time.Second)))
	}
	rev, err := decided(ctx, func() (uint64, error) { return b.kv.Create(ctx, key, data, opts...) })
	if err != nil {
		return b.failed(err)
	}
	b.written(key, stored[T]{v, rev})
	return nil
}

// update replaces the value that has this revision and returns the revision of
// the new one. It returns ResourceConflict if somebody else has changed it.
func (b *bucket[T]) update(ctx context.Context, key string, v stored[T]) (uint64, error) {
	data, err := b.encode(key, v.value)
	if err != nil {
		return 0, err
	}
	rev, err := decided(ctx, func() (uint64, error) { return b.kv.Update(ctx, key, data, v.revision) })
	if err != nil {
		return 0, b.failed(err)
	}
	b.written(key, stored[T]{v.value, rev})
	return rev, nil
}

// decided writes until the answer is a verdict: that a write to the same key is
// being processed is none, though the client takes it for a conflict, and it
// comes also where there is no other write (jetstream section 6, pitfall 46).
func decided(ctx context.Context, write func() (uint64, error)) (uint64, error) {
	for try := 1; ; try++ {
		rev, err := write()
		api, ok := errors.AsType[*jetstream.APIError](err)
		if !ok || api.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequenceConstant {
			return rev, err
		}
		again := time.NewTimer(broker.Backoff(try, 2*time.Millisecond, 50*time.Millisecond))
		select {
		case <-ctx.Done():
			again.Stop()
			return 0, context.Cause(ctx)
		case <-again.C:
		}
	}
}

func (b *bucket[T]) failed(err error) error {
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return invocation.Refuse(invocation.ResourceConflict)
	}
	return unavailable(err)
}

// written lets this process read its own write at once, unless the watch has
// already passed it and may know of something newer.
func (b *bucket[T]) written(key string, v stored[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v.revision > b.seen {
		b.keep(key, v)
	}
}

// remove deletes a key. Deleting what is not there is no error.
func (b *bucket[T]) remove(ctx context.Context, key string) error {
	if err := b.kv.Delete(ctx, key); err != nil {
		return unavailable(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.cache, key)
	return nil
}

// list returns all values, for operators: it reads the whole bucket.
func (b *bucket[T]) list(ctx context.Context) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	w, err := b.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, unavailable(err)
	}
	defer func() { _ = w.Stop() }() // the reading is done
	all := []T{}
	for {
		select {
		case <-ctx.Done():
			return nil, unavailable(context.Cause(ctx))
		case e, open := <-w.Updates():
			if !open || e == nil { // nil marks the end of what was there
				return all, nil
			}
			v, err := b.decode(e.Key(), e.Value())
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
	}
}

func unavailable(err error) error {
	return invocation.Wrap(invocation.ServiceUnavailable, err).After(2 * time.Second)
}
