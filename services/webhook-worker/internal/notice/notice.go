package notice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/announce"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/outbox"
)

// InFlight is how many operational webhooks are sent at a time.
const InFlight = 64

// A Teller tells. Its methods may be called concurrently.
type Teller struct {
	platform *platform.Platform
	box      *outbox.Box
	waits    []time.Duration // before the attempts after the first
}

// New returns a teller whose operational webhooks are tried again after waits.
func New(p *platform.Platform, box *outbox.Box, waits []time.Duration) *Teller {
	return &Teller{platform: p, box: box, waits: waits}
}

// Tell tells what is untold of an endpoint. When it returns nil, every lock
// knows, the operational webhook is queued, and the notice is crossed off.
func (t *Teller) Tell(ctx context.Context, e registry.Extension) error {
	n, at := e.Endpoint.Untold, e.Endpoint.UntoldAt
	what := fmt.Sprintf("%s\x00%s\x00%d", n, e.Slug, at.UnixMilli())
	line := strings.ReplaceAll(string(n), ".", "_")
	news := announce.News{Slug: e.Slug, ID: what, Again: true, Step: announce.EndpointChanged(line, string(e.Endpoint.Suspended))}
	if err := news.Tell(ctx, t.platform); err != nil {
		return err
	}
	if e.OperationalURL != "" {
		sum := sha256.Sum256([]byte(what))
		o := ledger.Operation{
			ID: invocation.ID(hex.EncodeToString(sum[:12])), Extension: e.Slug, Kind: string(n), Reason: string(e.Endpoint.Suspended), At: at.UnixMilli(),
		}
		if !e.Endpoint.FailingSince.IsZero() {
			o.Since = e.Endpoint.FailingSince.UnixMilli()
		}
		if err := t.platform.Ledger.Tell(ctx, o); err != nil {
			return err
		}
	}
	_, err := t.platform.Registry.UpdateExtension(ctx, e.Slug, func(e *registry.Extension) error {
		e.Told(n, at)
		return nil
	})
	if invocation.CodeOf(err) == invocation.ExtensionNotFound {
		return nil
	}
	return err
}

// operationData is what an operational webhook is about.
type operationData struct {
	Extension    wire.Extension `json:"extension"`
	Reason       *string        `json:"reason"`
	FailingSince *string        `json:"failingSince"`
	At           string         `json:"at"`
}

var errRefused = errors.New("the operational webhook did not take it")

// Handle sends one operational webhook. It is handed back until it is taken or
// its attempts are used up.
func (t *Teller) Handle(ctx context.Context, m broker.Delivery) error {
	o, err := ledger.ParseOperation(m)
	if err != nil {
		return err
	}
	e, err := t.platform.Registry.Extension(ctx, o.Extension)
	if invocation.CodeOf(err) == invocation.ExtensionNotFound || err == nil && e.OperationalURL == "" {
		return nil
	}
	if err != nil {
		return err
	}
	data := operationData{Extension: wire.Extension{Slug: e.Slug}, Reason: wire.OrNull(o.Reason), At: invocation.FormatTime(time.UnixMilli(o.At))}
	if o.Since != 0 {
		since := invocation.FormatTime(time.UnixMilli(o.Since))
		data.FailingSince = &since
	}
	r, err := platform.Webhook{ID: string(o.ID), Event: o.Kind, Data: data}.Request(e, t.platform.Ledger.Now())
	if err != nil {
		return err
	}
	r.URL = e.OperationalURL
	resp, err := t.box.Post(ctx, r, e.ID, int(m.Attempt)) //nolint:gosec // a few attempts
	if err == nil && resp.Status >= http.StatusOK && resp.Status < http.StatusMultipleChoices {
		telemetry.NoteOutcome(ctx, telemetry.OutcomeDelivered)
		return nil
	}
	if i := int(m.Attempt) - 1; i < len(t.waits) { //nolint:gosec // a few attempts
		return broker.Retry(errors.Join(errRefused, err), t.waits[i])
	}
	return broker.Drop(errors.Join(errRefused, err))
}
