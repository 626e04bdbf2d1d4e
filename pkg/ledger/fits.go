package ledger

import (
	"errors"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Where a message lies says little of who wrote it: a service that may ask
// JetStream for anything can have the answer delivered to any stream, whatever it
// may publish (SEC-111). So whatever a consumer or a reader takes has to be of its
// own kind, name what its subject names, and hold ids wherever a subject is built
// from it.

// errMisfit says that a message is not what its subject says.
var errMisfit = errors.New("the message does not fit its subject or is of another version")

func (p partyRecord) fits() bool { return invocation.ValidSlug(string(p.Slug)) }

func (c chainRecord) fits() bool {
	return optionalID(c.Causation) && optionalID(c.Correlation) && c.Depth >= 0
}

func optionalID(id invocation.ID) bool { return id == "" || invocation.ValidID(string(id)) }

// fits reports whether a request may stand on a subject.
func (r requestRecord) fits(subject string) bool {
	return r.Version == recordVersion && invocation.ValidID(string(r.ID)) && invocation.ValidID(string(r.Lock)) &&
		requestSubject(r.Lock, r.ID) == subject && r.Caller.fits() && r.Target.fits() && r.Chain.fits()
}

// fits reports whether a state may stand on a subject: a claim names nothing, a
// settlement its invocation.
func (s stateRecord) fits(subject string) bool {
	return s.Request == nil || stateSubject(s.Request.Lock, s.Request.ID) == subject
}

// fits reports whether a transition may be one of a lock. Where the log was lost,
// what somebody still does is recorded without the lock's state.
func (r transitionRecord) fits(lockID invocation.LockID) bool {
	stateless := r.State.ID == "" && r.Source.Actor != ""
	return (stateless || r.State.ID == lockID) && r.Chain.fits() && optionalID(r.Applied)
}

func (q questionRecord) fits() bool {
	return q.Version == recordVersion && invocation.ValidID(string(q.Lock)) && q.Caller.fits() && q.Target.fits()
}

// names reports whether a delivery can be written to subjects.
func (d Delivery) names() bool {
	return invocation.ValidSlug(string(d.Extension)) && invocation.ValidID(string(d.Lock)) && invocation.ValidID(d.ID) && d.Chain.fits()
}

// replyFits reports whether a subject is one where a replica awaits the
// settlement of this invocation: a request has its dispatcher publish nowhere
// else.
func replyFits(reply string, id invocation.ID) bool {
	rest, wake := strings.CutPrefix(reply, "wake.")
	replica, own := strings.CutSuffix(rest, "."+string(id))
	return wake && own && replica != "" && !strings.ContainsAny(replica, ".*> \t\r\n")
}
