// Package webhookworker is the webhook worker: it derives what follows from
// the locks' logs and delivers it to the extensions' webhooks, at least once,
// each endpoint on its own.
//
// It is the handlers of one router, on durable consumers:
//
//	fan out    LOCK_p        events and history lines become deliveries
//	deliver    DELIVERY_p    a delivery becomes a POST, and perhaps a later one
//	announce   KV_manifests  a new manifest becomes an event on each lock
//
// A handler may be asked for the same message again, by this process or
// another, and does its work so that this harms nothing; what each of them
// guarantees stands with its package. A message that no retry can help is kept
// among the dead messages. Any number of replicas share the work.
package webhookworker
