package platformtest

import (
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
)

// Settle settles every request that is recorded, as decide says, the way a
// dispatcher does, until the test ends. Decide is never called twice for one
// call; where it returns the zero outcome, the call stays pending.
func Settle(tb testing.TB, p *platform.Platform, decide func(invocation.Invocation) invocation.Outcome) {
	tb.Helper()
	router, err := broker.NewRouter(p.Log, time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range p.Ledger.Partitions() {
		sub := broker.NewSubscriber(p.Conn, broker.Subscription{Stream: ledger.InvocationStream(i), Durable: ledger.DispatchConsumer}, p.Log)
		router.Handle(ledger.InvocationStream(i), sub, func(m *message.Message) error {
			req, err := ledger.ParseRequest(broker.DeliveryOf(m))
			if err != nil {
				return err
			}
			standing, err := p.Ledger.Claim(m.Context(), req.Invocation, p.Ledger.Now().Add(time.Minute), 0)
			if err != nil || !standing.Mine {
				return errors.Join(err, errors.New("the request came twice"))
			}
			o := decide(req.Invocation)
			if o.Status == "" {
				return nil
			}
			inv := req.Invocation.Settle(o, p.Ledger.Now())
			if err := p.Ledger.Settle(m.Context(), standing.Claim, inv, nil); err != nil {
				return err
			}
			return p.Ledger.Wake(inv, req.Reply)
		})
	}
	Run(tb, service.Part{Name: "settling", Run: router.Run})
	<-router.Running()
}
