package edgeapi

import (
	"context"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/edge-api/internal/partner"
)

// counted counts every call by how its admission ended.
func counted(m *telemetry.Metrics, next partner.Invoker) partner.Invoker {
	return func(ctx context.Context, c intake.Call) (intake.Answer, error) {
		a, err := next(ctx, c)
		switch {
		case err != nil:
			m.Accepted(ctx, telemetry.SourceEdge, telemetry.ResultRejected, string(invocation.CodeOf(err)))
		case a.Replayed:
			m.Accepted(ctx, telemetry.SourceEdge, telemetry.ResultDuplicate, "")
		default:
			m.Accepted(ctx, telemetry.SourceEdge, telemetry.ResultAccepted, "")
		}
		return a, err
	}
}
