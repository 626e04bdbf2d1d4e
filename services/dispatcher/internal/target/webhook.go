package target

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/latchwire/latchwire/pkg/catalog"
	"github.com/latchwire/latchwire/pkg/crashpoint"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/wire"
)

// Post sends the request of an invocation: [egress.Client.Post], perhaps wrapped.
type Post func(context.Context, egress.Request, invocation.Invocation) (egress.Response, error)

// Webhook calls targets by their webhook. It may be used concurrently.
type Webhook struct {
	registry *registry.Registry
	catalog  *catalog.Catalog
	post     Post
}

// NewWebhook returns a caller of webhooks.
func NewWebhook(r *registry.Registry, c *catalog.Catalog, post Post) *Webhook {
	return &Webhook{registry: r, catalog: c, post: post}
}

// Call sends the invocation to its target's webhook, once, and reads the answer.
func (w *Webhook) Call(ctx context.Context, inv invocation.Invocation) invocation.Outcome {
	ext, err := w.registry.Extension(ctx, inv.Target.Slug)
	if err != nil || !ext.Listens() { // disabled since the call was admitted
		return invocation.Fails(invocation.TargetUnreachable)
	}
	offered, err := w.catalog.At(ctx, inv.Target.Slug, inv.Revision)
	if err != nil {
		return invocation.Fails(invocation.TargetUnreachable)
	}
	req, err := request(ext, inv, time.Now())
	if err != nil {
		return invocation.Fails(invocation.TargetUnreachable)
	}
	resp, err := w.post(ctx, req, inv)
	crashpoint.Here(crashpoint.AfterPost)
	if err != nil {
		return unanswered(ctx, err)
	}
	return Read(resp.Status, resp.Body, inv.Command, offered)
}

// unanswered judges a call without a usable answer: what surely never left has
// failed, of everything else nobody knows.
func unanswered(ctx context.Context, err error) invocation.Outcome {
	call, ok := errors.AsType[*egress.CallError](err)
	switch {
	case !ok:
		return invocation.LeavesUnknown(invocation.DispatchInterrupted)
	case !call.Sent && ctx.Err() != nil && call.Kind == egress.KindCanceled:
		return invocation.LeavesUnknown(invocation.DispatchInterrupted) // not the target's fault
	case !call.Sent:
		return invocation.Fails(invocation.TargetUnreachable)
	}
	switch call.Kind {
	case egress.KindSwitch, egress.KindEncoding, egress.KindTooLarge, egress.KindMalformed:
		return invocation.LeavesUnknown(invocation.InvalidResponse)
	case egress.KindCanceled:
		return invocation.LeavesUnknown(invocation.DispatchInterrupted)
	case egress.KindTimeout, egress.KindLost:
	case egress.KindURL, egress.KindRequest, egress.KindForbidden, egress.KindDNS, egress.KindConnect, egress.KindTLS:
		// None of these occurs once a byte has left; if one did, it proved nothing.
	}
	return invocation.LeavesUnknown(invocation.TargetTimeout)
}

// invoked is the data of the webhook (contract section 7).
type invoked struct {
	SessionID  invocation.SessionID `json:"sessionId"`
	Extension  wire.Extension       `json:"extension"`
	LockID     invocation.LockID    `json:"lockId"`
	Invocation call                 `json:"invocation"`
}

type call struct {
	InvocationID  invocation.ID           `json:"invocationId"`
	CommandID     invocation.CapabilityID `json:"commandId"`
	Capability    invocation.Kind         `json:"capability"`
	Revision      int                     `json:"revision"`
	Input         json.RawMessage         `json:"input"`
	Actor         invocation.Actor        `json:"actor"`
	Caller        caller                  `json:"caller"`
	CausationID   *invocation.ID          `json:"causationId"`
	CorrelationID invocation.ID           `json:"correlationId"`
	Depth         int                     `json:"depth"`
	CreatedAt     string                  `json:"createdAt"`
}

type caller struct {
	Slug               invocation.Slug        `json:"slug"`
	PartnerExtensionID invocation.ExtensionID `json:"partnerExtensionId"`
}

// request makes the POST. The idempotency key is not part of it, least of all as
// a header (S-29).
func request(ext registry.Extension, inv invocation.Invocation, now time.Time) (egress.Request, error) {
	event := wire.CommandInvoked
	if inv.Capability == invocation.Query {
		event = wire.QueryInvoked
	}
	return platform.Webhook{ID: string(inv.ID), Event: event, Data: invoked{
		SessionID: inv.Target.Session, Extension: wire.Extension{Slug: inv.Target.Slug}, LockID: inv.Lock,
		Invocation: call{
			InvocationID: inv.ID, CommandID: inv.Command, Capability: inv.Capability, Revision: inv.Revision,
			Input: inv.Input, Actor: inv.Actor, Caller: caller{inv.Caller.Slug, inv.Caller.Partner},
			CausationID: wire.OrNull(inv.Chain.Causation), CorrelationID: inv.Chain.Correlation, Depth: inv.Chain.Depth,
			CreatedAt: invocation.FormatTime(inv.CreatedAt),
		},
	}}.Request(ext, now)
}
