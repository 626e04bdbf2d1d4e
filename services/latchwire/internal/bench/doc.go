// Package bench measures what the pipeline costs, as ratios to a floor measured
// in the same run: the same HTTP hops and the same NATS writes and reads with
// nothing else. Machines differ and are shared; ratios hold.
//
// The floor of one call: an HTTP request in; two counters; the lock's state and
// the last delivered event read; the request written under its guard; taken
// from the queue by a plain consumer; claimed; posted to an echo target over
// HTTP; settled; the caller woken; the answer out. No checks, no events, no
// telemetry, no Watermill.
//
// The floor of one delivery: a stored message pulled by a plain consumer, signed,
// posted over HTTP, acknowledged. The pipeline reads the event from its lock's
// log, stores a delivery for each endpoint, notes that it is being sent before
// it is posted, and notes in its chain how it went.
//
// Clients, target and server share the process in both, so the CPU is that of
// everything.
package bench
