package intake

import (
	"context"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// A Caller is an authenticated extension on one lock.
type Caller struct {
	Extension registry.Extension
	Session   registry.Session
}

// Party returns the caller as one side of an invocation.
func (c Caller) Party() invocation.Party { return c.Extension.Party(c.Session.ID) }

// Developer returns the extension that a developer token belongs to, from the
// value of an Authorization header. It returns Unauthorized for what is no
// token, and Forbidden for one of another kind or of a disabled extension
// (contract sections 2 and 9).
func (in *Intake) Developer(ctx context.Context, authorization string) (registry.Extension, error) {
	e, _, err := in.Owner(ctx, authorization)
	return e, err
}

// Owner is [Intake.Developer], with the token.
func (in *Intake) Owner(ctx context.Context, authorization string) (registry.Extension, registry.Token, error) {
	t, err := in.token(ctx, authorization, registry.DeveloperToken)
	if err != nil {
		return registry.Extension{}, registry.Token{}, err
	}
	e, err := in.registry.Extension(ctx, t.Extension)
	if invocation.CodeOf(err) == invocation.ExtensionNotFound {
		err = invocation.Refuse(invocation.Unauthorized)
	}
	if err == nil && e.Disabled {
		err = invocation.Refusef(invocation.Forbidden, "the extension is disabled")
	}
	if err != nil {
		return registry.Extension{}, registry.Token{}, err
	}
	return e, t, nil
}

// Admin returns the admin token of an Authorization header. It returns
// Unauthorized for what is no token and Forbidden for one of another kind.
func (in *Intake) Admin(ctx context.Context, authorization string) (registry.Token, error) {
	return in.token(ctx, authorization, registry.AdminToken)
}

func (in *Intake) token(ctx context.Context, authorization string, kind registry.TokenKind) (registry.Token, error) {
	scheme, secret, found := strings.Cut(authorization, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return registry.Token{}, invocation.Refuse(invocation.Unauthorized)
	}
	t, err := in.registry.Token(ctx, secret, in.ledger.Now())
	if err != nil {
		return registry.Token{}, err
	}
	if t.Kind != kind {
		return registry.Token{}, invocation.Refuse(invocation.Forbidden)
	}
	return t, nil
}

// Caller returns the extension of a developer token on one of its sessions. A
// session that is another extension's, unknown or malformed is the same
// SessionNotFound (contract section 2, SEC-66).
func (in *Intake) Caller(ctx context.Context, authorization string, session invocation.SessionID) (Caller, error) {
	e, err := in.Developer(ctx, authorization)
	if err != nil {
		return Caller{}, err
	}
	s, err := in.registry.Session(ctx, session)
	if err != nil {
		return Caller{}, err
	}
	if s.Slug != e.Slug {
		return Caller{}, invocation.Refuse(invocation.SessionNotFound)
	}
	return Caller{Extension: e, Session: s}, nil
}

// A Viewer is for whom capabilities are shown: an extension's back end, or the
// person who looks at its page.
type Viewer struct {
	Session registry.Session
	// As is extension, wearer or keyholder.
	As invocation.Actor
}

// MainPage returns the viewer of a main page token on its session. A token of
// another session is SessionNotFound, an expired or unknown one Unauthorized,
// one of another kind Forbidden (contract sections 2 and 9).
func (in *Intake) MainPage(ctx context.Context, secret string, session invocation.SessionID) (Viewer, error) {
	t, err := in.registry.Token(ctx, secret, in.ledger.Now())
	if err != nil {
		return Viewer{}, err
	}
	if t.Kind != registry.MainToken {
		return Viewer{}, invocation.Refuse(invocation.Forbidden)
	}
	if t.Session != session {
		return Viewer{}, invocation.Refuse(invocation.SessionNotFound)
	}
	s, err := in.registry.Session(ctx, session)
	if err != nil {
		return Viewer{}, err
	}
	as := invocation.ActorWearer
	if t.Role == registry.RoleKeyholder {
		as = invocation.ActorKeyholder
	}
	return Viewer{Session: s, As: as}, nil
}
