package registry

import "time"

// A Suspension says why an endpoint is not sent anything any more.
type Suspension string

// The reasons of a suspension. The empty one means that there is none.
const (
	// SuspendedGone means that the endpoint answered 410 (contract section 8).
	SuspendedGone Suspension = "gone"
	// SuspendedFailing means that it has failed for days.
	SuspendedFailing Suspension = "failing"
)

// A Notice is what the owner of an endpoint is to be told.
type Notice string

// The notices, named as the operational webhooks are.
const (
	NoticeDisabled  Notice = "endpoint.disabled"
	NoticeRecovered Notice = "endpoint.recovered"
)

// An Endpoint is how an extension's webhook fares with what is delivered to it.
// Its zero value is an endpoint that answers. It is the same for all replicas,
// and stored only when it changes.
type Endpoint struct {
	// FailingSince is when the first of the failures in a row was.
	FailingSince time.Time `json:"failingSince,omitzero"`
	// ProbeAt is when one delivery tries the endpoint again; nothing else is
	// sent before that succeeds. Zero means that everything is sent.
	ProbeAt time.Time `json:"probeAt,omitzero"`
	// Probes counts those that failed.
	Probes int `json:"probes,omitempty"`
	// CatchingUp says that what was kept back is being let go, and that what
	// comes is kept behind it.
	CatchingUp  bool       `json:"catchingUp,omitempty"`
	Suspended   Suspension `json:"suspended,omitempty"`
	SuspendedAt time.Time  `json:"suspendedAt,omitzero"`
	// Resumed says that the endpoint was suspended and has not answered since.
	Resumed bool `json:"resumed,omitempty"`
	// Untold is what is still to be told, and UntoldAt since when, which tells
	// one notice from the next.
	Untold   Notice    `json:"untold,omitempty"`
	UntoldAt time.Time `json:"untoldAt,omitzero"`
}

// Listens reports whether an extension's endpoint is in use: neither an operator
// nor the platform has disabled it.
func (e Extension) Listens() bool { return !e.Disabled && e.Endpoint.Suspended == "" }

// Waits reports whether deliveries are kept back, to go out when the endpoint
// answers again.
func (e Endpoint) Waits() bool { return e.Suspended != "" || !e.ProbeAt.IsZero() }

// Hold keeps deliveries back until a probe at the time given, or later if that
// is what an earlier call asked for, succeeds.
func (e *Extension) Hold(failingSince, probeAt time.Time) {
	if e.Endpoint.Suspended != "" {
		return
	}
	if e.Endpoint.FailingSince.IsZero() {
		e.Endpoint.FailingSince = failingSince
	}
	if e.Endpoint.ProbeAt.Before(probeAt) {
		e.Endpoint.ProbeAt = probeAt
	}
	e.Endpoint.CatchingUp = false
}

// Release ends a hold without a probe: nothing is kept back that could be one.
// That the endpoint failed is held against it until it takes something.
func (e *Extension) Release() {
	if e.Endpoint.Suspended == "" && !e.Endpoint.ProbeAt.IsZero() {
		e.Endpoint.ProbeAt, e.Endpoint.Probes, e.Endpoint.CatchingUp = time.Time{}, 0, true
	}
}

// ProbeFailed sets the next probe.
func (e *Extension) ProbeFailed(at, next time.Time) {
	if e.Endpoint.FailingSince.IsZero() {
		e.Endpoint.FailingSince = at
	}
	e.Endpoint.Probes++
	e.Endpoint.ProbeAt = next
}

// Suspend disables the endpoint until somebody enables it, and has its owner
// told. The extension can still call.
func (e *Extension) Suspend(why Suspension, now time.Time) {
	if !e.Listens() {
		return
	}
	e.Endpoint = Endpoint{
		FailingSince: e.Endpoint.FailingSince, Suspended: why, SuspendedAt: now, Untold: NoticeDisabled, UntoldAt: now,
	}
}

// Recover lets everything be sent again, first what was kept back.
func (e *Extension) Recover(now time.Time) {
	if e.Endpoint.Suspended != "" {
		return
	}
	resumed := e.Endpoint.Resumed
	e.Endpoint = Endpoint{CatchingUp: e.Endpoint.CatchingUp || !e.Endpoint.ProbeAt.IsZero()}
	if resumed {
		e.Endpoint.Untold, e.Endpoint.UntoldAt = NoticeRecovered, now
	}
}

// CaughtUp lets what comes be sent at once: nothing is kept back before it.
func (e *Extension) CaughtUp() { e.Endpoint.CatchingUp = false }

// Told notes that a notice was told.
func (e *Extension) Told(n Notice, at time.Time) {
	if e.Endpoint.Untold == n && e.Endpoint.UntoldAt.Equal(at) {
		e.Endpoint.Untold, e.Endpoint.UntoldAt = "", time.Time{}
	}
}

// Enable takes the extension into use again. An endpoint that was suspended is
// probed before anything else is sent to it.
func (e *Extension) Enable(now time.Time) {
	if e.Endpoint.Suspended != "" {
		e.Endpoint = Endpoint{ProbeAt: now, Resumed: true}
	}
	e.Disabled = false
}

// Disable takes the extension out of use, by an operator. What happens meanwhile
// is not kept for it; what was kept back before waits.
func (e *Extension) Disable() { e.Disabled = true }

// Move sets another webhook, of which nothing is known yet.
func (e *Extension) Move(url string, now time.Time) {
	if e.WebhookURL == url {
		return
	}
	e.WebhookURL = url
	if e.Endpoint.Waits() && e.Endpoint.Suspended == "" {
		e.Endpoint.FailingSince, e.Endpoint.Probes, e.Endpoint.ProbeAt = time.Time{}, 0, now
	}
}
