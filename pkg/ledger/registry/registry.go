package registry

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
)

// A Registry reads and writes extensions, manifests, sessions and tokens. All
// methods may be called concurrently. They return [invocation.Error]: the
// codes each names, and ServiceUnavailable when the store is out of reach.
type Registry struct {
	extensions *bucket[Extension]
	manifests  *bucket[Manifest]
	sessions   *bucket[Session]
	tokens     *bucket[Token]
}

// Open opens the buckets, which the topology has made. Run must be running for
// the caches to be used; until then every read asks the leader. The secrets of
// extensions are stored under the keys, or in the clear when there are none.
func Open(ctx context.Context, conn *broker.Conn, keys sealed.Keys, log *slog.Logger) (*Registry, error) {
	var r Registry
	var errs [4]error
	r.extensions, errs[0] = openBucket[Extension](ctx, conn, "extensions", log)
	r.manifests, errs[1] = openBucket[Manifest](ctx, conn, "manifests", log)
	r.sessions, errs[2] = openBucket[Session](ctx, conn, "sessions", log)
	r.tokens, errs[3] = openBucket[Token](ctx, conn, "tokens", log)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	r.tokens.trust = tokenFreshness
	r.extensions.seal = func(slug string, e Extension) (Extension, error) { return seal(keys, invocation.Slug(slug), e) }
	r.extensions.unseal = func(slug string, e *Extension) { unseal(keys, invocation.Slug(slug), e) }
	return &r, nil
}

// Run keeps the caches fresh until ctx is done.
func (r *Registry) Run(ctx context.Context) error {
	watches := []func(context.Context) error{r.extensions.watch, r.manifests.watch, r.sessions.watch, r.tokens.watch}
	errs := make([]error, len(watches))
	var wg sync.WaitGroup
	for i, watch := range watches {
		wg.Go(func() { errs[i] = watch(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
