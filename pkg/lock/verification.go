package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Verification is the state of the extension.
type Verification struct {
	// PeerVerification says that visitors judge a picture, by Votes votes;
	// otherwise the keyholder does.
	PeerVerification bool  `json:"peerVerification"`
	Votes            int64 `json:"votes"`
	// Timeout is how many seconds a request stays open.
	Timeout int64    `json:"timeout"`
	Request *Picture `json:"request"`
}

// A Picture is a running request for one.
type Picture struct {
	Code        string     `json:"verificationCode"`
	RequestedAt time.Time  `json:"requestedAt"`
	EndsAt      time.Time  `json:"endsAt"`
	SubmittedAt *time.Time `json:"submittedAt"`
	// PeerID names the judgement by visitors; empty without one.
	PeerID string           `json:"peerVerificationId,omitempty"`
	Counts map[string]int64 `json:"voteCounts"`
}

// The verdicts on a picture.
const (
	verified = "verified"
	rejected = "rejected"
)

func installVerification(a *Apps, config json.RawMessage) []invocation.Problem {
	c := struct {
		PeerVerification bool  `json:"peerVerification"`
		Votes            int64 `json:"votes"`
		Timeout          int64 `json:"timeout"`
	}{Votes: 3, Timeout: day}
	problems := readConfig(config, &c)
	within(&problems, "votes", c.Votes, 1, 100)
	within(&problems, "timeout", c.Timeout, 60, 30*day)
	a.Verification = &Verification{PeerVerification: c.PeerVerification, Votes: c.Votes, Timeout: c.Timeout}
	return problems
}

func verificationCommands() map[invocation.CapabilityID]command {
	return map[invocation.CapabilityID]command{"verification-picture.request": {run: requestPicture, blocked: whenRequested}}
}

func whenRequested(s State, _ time.Time) Reason {
	if s.Apps.Verification.Request != nil {
		return VerificationAlreadyRequested
	}
	return ""
}

func (s State) withPicture(change func(*Picture)) State {
	v := *s.Apps.Verification
	p := *v.Request
	change(&p)
	v.Request = &p
	s.Apps.Verification = &v
	return s
}

func requestPicture(s State, a Act, now time.Time) (Change, *Refusal) {
	v := *s.Apps.Verification
	v.Request = &Picture{
		Code: s.derived("code", now)[:5], RequestedAt: now, EndsAt: now.Add(seconds(v.Timeout)), Counts: map[string]int64{},
	}
	s.Apps.Verification = &v
	c := a.does(s, "verification_requested", fmt.Sprintf(`{"endsAt":%q}`, invocation.FormatTime(v.Request.EndsAt)))
	c.Events = []invocation.Emission{emission("verification-picture.requested", "{}")}
	return c, nil
}

// derived returns an id of 24 hex digits that follows from the lock, the time
// and what it is for, so that an act that is computed again gets the same.
func (s State) derived(what string, now time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", what, s.ID, now.UnixMilli()))
	return hex.EncodeToString(sum[:12])
}

func verificationPlays() map[string]play {
	return map[string]play{
		"verification-picture.submit": {wearers(), submitPicture},
		"verification-picture.judge":  {keyholders(), judgePicture},
		"verification-picture.vote":   {visitors(), voteOnPicture},
	}
}

func submitPicture(s State, p Play, now time.Time) (Change, *Refusal) {
	v := s.Apps.Verification
	switch {
	case v.Request == nil:
		return Change{}, notRunning("no picture is requested")
	case v.Request.SubmittedAt != nil:
		return Change{}, &Refusal{Code: AlreadyDone, Message: "a picture was submitted already"}
	}
	s = s.withPicture(func(x *Picture) {
		x.SubmittedAt = &now
		if v.PeerVerification {
			x.PeerID = s.derived("peer", now)
		}
	})
	payload := encoded(struct {
		Code   string  `json:"verificationCode"`
		PeerID *string `json:"peerVerificationId"`
	}{v.Request.Code, orNull(s.Apps.Verification.Request.PeerID)})
	return p.did(s, "verification_submitted", payload, emission("verification-picture.submitted", payload)), nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// submitted returns the picture that can be judged.
func (s State) submitted() (*Picture, *Refusal) {
	r := s.Apps.Verification.Request
	if r == nil || r.SubmittedAt == nil {
		return nil, notRunning("no picture is submitted")
	}
	return r, nil
}

func judgePicture(s State, p Play, _ time.Time) (Change, *Refusal) {
	if _, refusal := s.submitted(); refusal != nil {
		return Change{}, refusal
	}
	status, refusal := verdictOf(p)
	if refusal != nil {
		return Change{}, refusal
	}
	s, payload, events := s.verdict(status)
	return p.did(s, "verification_judged", payload, events...), nil
}

// voteOnPicture counts a visitor's vote; the verdict is the majority's once there
// are enough.
func voteOnPicture(s State, p Play, _ time.Time) (Change, *Refusal) {
	picture, refusal := s.submitted()
	if refusal != nil {
		return Change{}, refusal
	}
	if picture.PeerID == "" {
		return Change{}, &Refusal{Code: NotYours, Message: "the keyholder judges this picture"}
	}
	status, refusal := verdictOf(p)
	if refusal != nil {
		return Change{}, refusal
	}
	s = s.withPicture(func(x *Picture) {
		x.Counts = maps.Clone(x.Counts)
		x.Counts[status]++
	})
	counts := s.Apps.Verification.Request.Counts
	if counts[verified]+counts[rejected] < s.Apps.Verification.Votes {
		return p.did(s, "verification_voted", fmt.Sprintf(`{"status":%q}`, status)), nil
	}
	s, payload, events := s.verdict(majority(counts))
	return p.did(s, "verification_judged", payload, events...), nil
}

func verdictOf(p Play) (string, *Refusal) {
	in, refusal := inputOf[struct {
		Status string `json:"status"`
	}](p.Input)
	if refusal == nil && in.Status != verified && in.Status != rejected {
		refusal = invalid("status", `"verified" or "rejected"`)
	}
	return in.Status, refusal
}

// majority decides by votes; as many against as for are not enough.
func majority(counts map[string]int64) string {
	if counts[verified] > counts[rejected] {
		return verified
	}
	return rejected
}

// verdict ends the request. A task that waits to be verified ends with it.
func (s State) verdict(status string) (State, string, []invocation.Emission) {
	r := s.Apps.Verification.Request
	payload := encoded(struct {
		Status string           `json:"status"`
		PeerID *string          `json:"peerVerificationId"`
		Counts map[string]int64 `json:"voteCounts"`
	}{status, orNull(r.PeerID), r.Counts})
	v := *s.Apps.Verification
	v.Request = nil
	s.Apps.Verification = &v
	events := []invocation.Emission{emission("verification-picture.verdict", payload)}
	if t := s.Apps.Tasks; t != nil && t.Assigned != nil && t.Assigned.VerificationRequired {
		var done invocation.Emission
		s, done = s.taskDone(status == verified)
		events = append(events, done)
	}
	return s, payload, events
}

// verificationTimers end a request whose time is over: by the votes so far, and
// rejected where there is no picture.
func (s State) verificationTimers() []timer {
	if s.Apps.Verification == nil || s.Apps.Verification.Request == nil {
		return nil
	}
	return []timer{{verification, s.Apps.Verification.Request.EndsAt, func(s State, _ time.Time) Change {
		s, payload, events := s.verdict(majority(s.Apps.Verification.Request.Counts))
		return byItself(s, "verification_timed_out", payload, append(events, CapabilitiesChanged())...)
	}}}
}
