package dispatcher

import (
	"context"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/dispatcher/internal/dispatch"
)

// NewCalling is New with a function in place of partners' webhooks.
func NewCalling(p *platform.Platform, cfg Config, call func(context.Context, invocation.Invocation) invocation.Outcome) (service.Part, error) {
	return newPart(p, cfg, dispatch.Targets{Webhook: call})
}
