// Package fanout derives everything that follows from a lock's transition: a
// link in the chain's index for each event, a delivery of each event to every
// other extension that subscribed to it, and a delivery of each history line
// to every partner extension on the lock (contract section 8).
//
// It is asked again for a transition whenever nobody knows whether it was done
// with, and repeats all of it. That does no harm: the queue and the index take
// the same delivery and the same link once within two minutes, and afterwards
// a receiver gets an event twice, which at least once allows.
//
// # Order
//
// Of each lock one transition at a time is worked on, as a rule in the order
// of the log, so its deliveries usually stand on their queue in that order.
// That is no promise: a transition that has to be tried again comes after later
// ones, several workers share a partition, and an endpoint gets several POSTs
// at a time. A receiver that needs an order has it in the events' seq.
package fanout
