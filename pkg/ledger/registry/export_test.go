package registry

import "context"

// LooksIssued reports whether a text has the checksum of an issued token, as a
// scanner for leaked secrets would ask.
func LooksIssued(text string) bool {
	cut := len(text) - checksumLength
	return cut > 0 && checksum(text[:cut]) == text[cut:]
}

// BeginTokenRead reads a token from the leader as a cache miss does, and
// returns what ends the read.
func (r *Registry) BeginTokenRead(ctx context.Context, secret string) (finish func(), err error) {
	r.tokens.mu.Lock()
	seen := r.tokens.seen
	r.tokens.mu.Unlock()
	v, _, err := r.tokens.read(ctx, hash(secret))
	return func() { r.tokens.fill(hash(secret), v, seen) }, err
}
