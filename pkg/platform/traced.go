package platform

import (
	"context"
	"net/url"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/telemetry"
)

// InChain returns a context for work on an invocation: its spans and log lines
// belong to its chain.
func InChain(ctx context.Context, inv invocation.Invocation) context.Context {
	return telemetry.WithChain(ctx, ChainOf(inv))
}

// ChainOf returns what telemetry knows of an invocation's chain.
func ChainOf(inv invocation.Invocation) telemetry.Chain {
	return telemetry.Chain{CorrelationID: string(inv.Chain.Correlation), Depth: inv.Chain.Depth, InvocationID: string(inv.ID)}
}

// Record is the ledger's Record under a span of the invocation's chain, whose
// context travels with the request.
func (p *Platform) Record(ctx context.Context, r ledger.Request) (invocation.Invocation, bool, error) {
	ctx, span := p.Telemetry.Publish(InChain(ctx, r.Invocation), "inv.p.req")
	r.Trace = make(map[string][]string, 1)
	telemetry.Inject(ctx, r.Trace)
	stored, created, err := p.Ledger.Record(ctx, r)
	span.End(err)
	return stored, created, err
}

// An Invoker runs a call: [intake.Intake.Invoke].
type Invoker = func(context.Context, intake.Call) (intake.Answer, error)

// Counted counts every call by how its admission ended; source is
// [telemetry.SourceEdge] or [telemetry.SourceMCP].
func (p *Platform) Counted(source string, next Invoker) Invoker {
	m := p.Telemetry.Metrics()
	return func(ctx context.Context, c intake.Call) (intake.Answer, error) {
		a, err := next(ctx, c)
		switch {
		case err != nil:
			m.Accepted(ctx, source, telemetry.ResultRejected, string(invocation.CodeOf(err)))
		case a.Replayed:
			m.Accepted(ctx, source, telemetry.ResultDuplicate, "")
		default:
			m.Accepted(ctx, source, telemetry.ResultAccepted, "")
		}
		return a, err
	}
}

// Ask is the ledger's Ask under a span, whose context travels with the question.
func (p *Platform) Ask(ctx context.Context, q invocation.Question) (invocation.Options, error) {
	ctx, span := p.Telemetry.Publish(ctx, "ask.options")
	headers := make(map[string][]string, 1)
	telemetry.Inject(ctx, headers)
	options, err := p.Ledger.Ask(ctx, q, headers)
	span.End(err)
	return options, err
}

// Post sends a request to a third party under a span of its own, with a
// traceparent and nothing else of the trace.
func (p *Platform) Post(ctx context.Context, r egress.Request, call telemetry.Call) (egress.Response, error) {
	to, err := url.Parse(r.URL)
	if err != nil {
		to = &url.URL{} // the client refuses it and says so
	}
	ctx, span := p.Telemetry.Client(ctx, "POST", to, call)
	telemetry.InjectPartner(ctx, r.Header)
	resp, err := p.Egress.Post(ctx, r)
	span.EndHTTP(resp.Status, err)
	return resp, err
}
