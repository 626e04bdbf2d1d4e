// Package ledger keeps the facts in JetStream, which is queue and store at
// once; there is no other database. It is the only package that builds
// subjects, and only validated ids and hashes become part of one.
//
// # What lies where
//
// Everything of one lock lies in one of a fixed number of partitions, told by
// the lock's id:
//
//	INV_p       inv.p.req.<id>  the request: record, duplicate guard and work item in one write
//	            inv.p.st.<id>   the claim, then the settlement that replaces it
//	            inv.p.em.<id>   the key of an emitted event
//	LOCK_p      lock.p.<lock>   the lock's log: state, events and history, one transition a message
//	DELIVERY_p  dlv.p.…         webhook deliveries to make; tmr.p.… those to make later
//	CHAIN       chain.<id>      what belongs to a correlation id
//	SENT        sent.…          events delivered to an extension: what may be named as a cause
//	LIMITS      lim.…           counters of limits, in memory
//	DEAD        dead.…          deliveries and messages that were given up
//
// Extensions, manifests, sessions and tokens are in package
// [github.com/latchwire/latchwire/pkg/ledger/registry].
//
// # What holds
//
// A call is recorded by one create-only write. A worker calls a target only
// after a positive answer to its claim, and settles against the sequence of
// that claim, so of two settlements the first wins and a worker that was
// overtaken notices. A lock's last message is its state, and changing it is a
// compare-and-set on that message's sequence, so a command's change, its
// events and its history are one atomic write.
//
// A direct read may be served by a replica that lags. It decides only hits:
// after a conflict, and before anything is called absent, the leader is asked.
//
// All methods may be called concurrently. They return [invocation.Error] with
// ServiceUnavailable when JetStream is out of reach; what then became of a
// write is unknown, and repeating the call finds out.
package ledger
