// Package outbox is how the handlers of this service reach the queue of
// deliveries and the receivers: under spans of the delivery's chain, whose
// context travels along, and measured. It keeps all that out of their way.
package outbox
