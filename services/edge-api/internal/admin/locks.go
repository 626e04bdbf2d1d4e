package admin

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// A lockAnswer is a lock as operators see it.
type lockAnswer struct {
	ID                   invocation.LockID `json:"id"`
	Status               lock.Status       `json:"status"`
	Wearer               lock.Person       `json:"wearer"`
	Keyholder            *lock.Person      `json:"keyholder"`
	StartDate            string            `json:"startDate"`
	EndDate              string            `json:"endDate"`
	MaxDate              *string           `json:"maxDate"`
	FrozenAt             *string           `json:"frozenAt"`
	DisplayRemainingTime bool              `json:"displayRemainingTime"`
	Extensions           []installed       `json:"extensions"`
	CreatedAt            string            `json:"createdAt"`
	FinishedAt           *string           `json:"finishedAt"`
}

type installed struct {
	Slug        invocation.Slug      `json:"slug"`
	SessionID   invocation.SessionID `json:"sessionId"`
	InstalledAt string               `json:"installedAt"`
}

func newLock(s lock.State) lockAnswer {
	out := lockAnswer{
		ID: s.ID, Status: s.Status, Wearer: s.Wearer, Keyholder: s.Keyholder,
		StartDate: invocation.FormatTime(s.StartDate), EndDate: invocation.FormatTime(s.EndDate),
		MaxDate: optional(s.MaxDate), FrozenAt: optional(s.FrozenAt), DisplayRemainingTime: s.DisplayRemainingTime,
		CreatedAt: invocation.FormatTime(s.CreatedAt), FinishedAt: optional(s.FinishedAt),
	}
	for _, x := range s.Extensions {
		out.Extensions = append(out.Extensions, installed{x.Slug, x.Session, invocation.FormatTime(x.InstalledAt)})
	}
	return out
}

func optional(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return wire.TimeOrNull(*t)
}

func (a *API) listLocks(w http.ResponseWriter, r *http.Request) error {
	p, err := readPlace(r)
	if err != nil {
		return err
	}
	locks, more, err := a.ledger.Locks(r.Context(), invocation.LockID(p.after), p.limit)
	if err != nil {
		return err
	}
	out := through(whole(locks), func(s ledger.Snapshot) lockAnswer { return newLock(s.State) })
	if more {
		out.Next = cursor(string(locks[len(locks)-1].State.ID))
	}
	return wire.Answer(w, http.StatusOK, out)
}

func (a *API) getLock(w http.ResponseWriter, r *http.Request) error {
	s, err := a.lock(r)
	return ok(w, http.StatusOK, newLock(s.State), err)
}

// lock returns the lock that the path names. An id that has not the form of one
// names nothing.
func (a *API) lock(r *http.Request) (ledger.Snapshot, error) {
	id := invocation.LockID(r.PathValue("lockId"))
	if !invocation.ValidID(string(id)) {
		return ledger.Snapshot{}, invocation.Refuse(invocation.ResourceNotFound)
	}
	return a.ledger.Lock(r.Context(), id)
}

func (a *API) createLock(w http.ResponseWriter, r *http.Request) error {
	f, err := door.Object(w, r, "")
	if err != nil {
		return err
	}
	spec, err := specOf(f)
	if err != nil {
		return err
	}
	spec.ID = invocation.NewLockID(rand.IntN(a.ledger.Partitions()))
	e, err := a.change(r.Context(), ledger.Snapshot{State: lock.State{ID: spec.ID}}, func(_ lock.State, now time.Time) (lock.Change, error) {
		return lock.New(spec, now)
	})
	return ok(w, http.StatusCreated, newLock(e.State), err)
}

// specOf reads what a new lock is made of. What its dates are worth is judged
// by [lock.New].
func specOf(f *door.Fields) (lock.Spec, error) {
	f.Require("wearer", "endDate")
	spec := lock.Spec{DisplayRemainingTime: true}
	if wearer := personOf(f, "wearer"); wearer != nil {
		spec.Wearer = *wearer
	}
	if !f.Null("keyholder") {
		spec.Keyholder = personOf(f, "keyholder")
	}
	spec.EndDate, _ = f.Time("endDate")
	if !f.Null("maxDate") {
		if latest, found := f.Time("maxDate"); found {
			spec.MaxDate = &latest
		}
	}
	if shown, found := f.Bool("displayRemainingTime"); found {
		spec.DisplayRemainingTime = shown
	}
	return spec, f.Err()
}

func personOf(f *door.Fields, name string) *lock.Person {
	n, found := f.Nested(name, "id", "name")
	if !found {
		return nil
	}
	var p lock.Person
	p.ID, _ = n.Text("id")
	p.Name, _ = n.Text("name")
	n.Within("name", p.Name, 1, lock.MaxName)
	return &p
}

func (a *API) finishLock(w http.ResponseWriter, r *http.Request) error {
	s, err := a.lock(r)
	if err != nil {
		return err
	}
	e, err := a.change(r.Context(), s, lock.Finish)
	return ok(w, http.StatusOK, newLock(e.State), err)
}

// change makes a transition of a lock that an operator asked for. It is the
// platform's own act and begins a chain. From may be a state that was just
// read; with its sequence zero the lock is made.
func (a *API) change(ctx context.Context, from ledger.Snapshot, decide func(lock.State, time.Time) (lock.Change, error)) (ledger.Entry, error) {
	return a.ledger.Change(ctx, ledger.Change{
		Lock: from.State.ID,
		From: from,
		Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
			now := a.ledger.Now()
			c, err := decide(s.State, now)
			if err != nil {
				return ledger.Transition{}, err
			}
			return ledger.Transition{
				State: c.State, Events: c.Events, History: c.History, At: now,
				Source: invocation.Source{Extension: lock.Self, Actor: invocation.ActorSystem},
			}, nil
		},
	})
}
