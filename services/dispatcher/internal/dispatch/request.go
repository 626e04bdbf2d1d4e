package dispatch

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/ledger"
)

type requestKey struct{}

type parsed struct {
	request ledger.Request
	err     error
}

// Parse is the middleware that reads the request in a message once, for all
// that come after it.
func Parse(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		var p parsed
		p.request, p.err = RequestOf(m)
		m.SetContext(context.WithValue(m.Context(), requestKey{}, p))
		return next(m)
	}
}

// RequestOf returns the request in a message. Its error says why the message is
// none.
func RequestOf(m *message.Message) (ledger.Request, error) {
	if p, ok := m.Context().Value(requestKey{}).(parsed); ok {
		return p.request, p.err
	}
	return ledger.ParseRequest(broker.DeliveryOf(m))
}
