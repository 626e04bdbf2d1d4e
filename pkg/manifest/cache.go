package manifest

import (
	"cmp"
	"container/list"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// DefaultCacheSize is how many compiled manifests a [Cache] keeps where nothing
// else is said. A common one takes some 100 KB.
const DefaultCacheSize = 256

// A Cache keeps compiled manifests by slug and revision, the least recently
// used ones leaving first. A revision never changes (SEC-56), so nothing in the
// cache gets old. It may be used by several goroutines; several of them that
// ask for the same manifest compile it once. Get one from [NewCache].
type Cache struct {
	size int

	mu      sync.Mutex
	entries map[cacheKey]*list.Element // of *cacheEntry
	recent  *list.List                 // the most recently used first
}

type cacheKey struct {
	slug     invocation.Slug
	revision int
}

type cacheEntry struct {
	key cacheKey

	mu       sync.Mutex // held while loading
	compiled *Compiled  // nil until loaded
}

// NewCache returns an empty cache of at most size manifests, or of
// [DefaultCacheSize] if size is zero.
func NewCache(size int) *Cache {
	return &Cache{size: max(cmp.Or(size, DefaultCacheSize), 1), entries: make(map[cacheKey]*list.Element), recent: list.New()}
}

// Get returns the compiled manifest of one revision. Where it is missing, load
// reads the stored document; nobody else loads the same one meanwhile. A failure
// is returned and not kept: whoever waited tries again with a load of its own.
func (c *Cache) Get(slug invocation.Slug, revision int, load func() (json.RawMessage, error)) (*Compiled, error) {
	e := c.entry(cacheKey{slug: slug, revision: revision})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.compiled != nil {
		return e.compiled, nil
	}
	compiled, err := loaded(load)
	if err != nil {
		return nil, fmt.Errorf("manifest %s revision %d: %w", slug, revision, err)
	}
	e.compiled = compiled
	return compiled, nil
}

// Len returns how many manifests have a place in the cache.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

func loaded(load func() (json.RawMessage, error)) (*Compiled, error) {
	raw, err := load()
	if err != nil {
		return nil, err
	}
	doc, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	return Compile(doc)
}

// entry returns the entry of a key as the most recently used one, and makes room
// for it.
func (c *Cache) entry(key cacheKey) *cacheEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.entries[key]; ok {
		c.recent.MoveToFront(at)
		return at.Value.(*cacheEntry) //nolint:errcheck // the list holds nothing else
	}
	e := &cacheEntry{key: key}
	c.entries[key] = c.recent.PushFront(e)
	if c.recent.Len() > c.size {
		last := c.recent.Back()
		c.recent.Remove(last)
		delete(c.entries, last.Value.(*cacheEntry).key) //nolint:errcheck // the list holds nothing else
	}
	return e
}
