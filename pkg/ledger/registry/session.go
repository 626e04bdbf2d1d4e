package registry

import (
	"context"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Session is one extension on one lock. Its id is what the extension's
// back end holds.
type Session struct {
	ID          invocation.SessionID `json:"id"`
	Lock        invocation.LockID    `json:"lock"`
	Slug        invocation.Slug      `json:"slug"`
	InstalledAt time.Time            `json:"installedAt"`
}

// Session returns a session, or SessionNotFound.
func (r *Registry) Session(ctx context.Context, id invocation.SessionID) (Session, error) {
	if !invocation.ValidSession(string(id)) {
		return Session{}, invocation.Refuse(invocation.SessionNotFound)
	}
	v, found, err := r.sessions.get(ctx, string(id))
	if err != nil {
		return Session{}, err
	}
	if !found {
		return Session{}, invocation.Refuse(invocation.SessionNotFound)
	}
	return v.value, nil
}

// CreateSession stores a session.
func (r *Registry) CreateSession(ctx context.Context, s Session) error {
	return r.sessions.create(ctx, string(s.ID), s, 0)
}

// DeleteSession removes a session: from then on it is unknown.
func (r *Registry) DeleteSession(ctx context.Context, id invocation.SessionID) error {
	return r.sessions.remove(ctx, string(id))
}
