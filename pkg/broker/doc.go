// Package broker moves messages: it connects to NATS or embeds it, applies and
// verifies a topology given as data, and runs Watermill handlers on JetStream
// consumers.
//
// A handler does one piece of work and returns an error; the error decides the
// message's fate. Nil acknowledges it, [Retry] hands it back for later, [Drop]
// gives it up to the dead letters, and any other error is retried with a
// growing delay. Handlers never touch an ack:
//
//	router, err := broker.NewRouter(log, 0)
//	router.Handle("dispatch", sub, func(m *message.Message) error {
//		d := broker.DeliveryOf(m)
//		if !ready(d.Subject) {
//			return broker.Retry(errNotReady, time.Second)
//		}
//		return work(m.Context(), m.Payload)
//	})
//
// Messages are delivered at least once. Many are in flight at a time; while a
// handler runs, the server is told so in time (in-progress acks), but nothing
// may rest on that: an ack is no lock. What must happen once is guarded by a
// claim (package ledger).
//
// Only this package and ledger know NATS. The topology is data here and is
// filled in by ledger, the only package that builds subjects.
package broker
