package dispatcher

import (
	"context"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/dispatcher/internal/dispatch"
	"github.com/latchwire/latchwire/services/dispatcher/internal/target"
)

type handlerFunc = message.HandlerFunc

// describe tells telemetry which chain a request belongs to.
func describe(m *message.Message) telemetry.Delivery {
	d := broker.DeliveryOf(m)
	out := telemetry.Delivery{Count: d.Attempt, Queued: time.Since(d.Stored)}
	if req, err := dispatch.RequestOf(m); err == nil {
		out.Chain = platform.ChainOf(req.Invocation)
	}
	return out
}

// judge names what becomes of a message, and how loud that is.
func judge(err error) (string, slog.Level) {
	switch {
	case err == nil:
		return "ack", slog.LevelInfo
	case broker.Judge(err, 0).Action == broker.HandBack && dispatch.Expected(err):
		return "hand-back", slog.LevelDebug
	default:
		return "retry", slog.LevelWarn
	}
}

// invocationPost sends a call to a target under a span and measures it.
func invocationPost(p *platform.Platform) target.Post {
	return func(ctx context.Context, r egress.Request, inv invocation.Invocation) (egress.Response, error) {
		return post(ctx, p, r, telemetry.Call{Purpose: telemetry.PurposeInvocation, ExtensionID: string(inv.Target.Partner)})
	}
}

// questionPost sends a question to a target under a span and measures it.
func questionPost(p *platform.Platform) target.PostQuestion {
	return func(ctx context.Context, r egress.Request, q invocation.Question) (egress.Response, error) {
		return post(ctx, p, r, telemetry.Call{Purpose: telemetry.PurposeOptions, ExtensionID: string(q.Target.Partner)})
	}
}

func post(ctx context.Context, p *platform.Platform, r egress.Request, call telemetry.Call) (egress.Response, error) {
	begin := time.Now()
	resp, err := p.Post(ctx, r, call)
	p.Telemetry.Metrics().Attempted(ctx, telemetry.Attempt{
		Purpose: call.Purpose, Status: resp.Status, Err: err, Took: time.Since(begin),
	})
	return resp, err
}

// observed counts what settles.
type observed struct{ p *platform.Platform }

func (o observed) wrap(t dispatch.Targets) dispatch.Targets {
	t.Settled = func(ctx context.Context, inv invocation.Invocation, began time.Time) {
		s := telemetry.Settlement{Source: source(inv.Via), Status: string(inv.Status), Took: inv.SettledAt.Sub(inv.CreatedAt)}
		if inv.Error != nil {
			s.ErrorCode = inv.Error.Code
		}
		if !began.IsZero() {
			s.Queued = began.Sub(inv.CreatedAt)
		}
		telemetry.NoteOutcome(ctx, string(inv.Status))
		o.p.Telemetry.Metrics().Settled(ctx, s)
	}
	return t
}

func source(via invocation.Door) string {
	if via == invocation.MCP {
		return telemetry.SourceMCP
	}
	return telemetry.SourceEdge
}
