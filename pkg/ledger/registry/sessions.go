package registry

import (
	"cmp"
	"context"
	"slices"
)

// Sessions returns the sessions that match, oldest first. It reads the whole
// bucket, so it is for what happens seldom.
func (r *Registry) Sessions(ctx context.Context, match func(Session) bool) ([]Session, error) {
	all, err := r.sessions.list(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s Session) bool { return !match(s) })
	slices.SortFunc(all, func(a, b Session) int {
		return cmp.Or(a.InstalledAt.Compare(b.InstalledAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}
