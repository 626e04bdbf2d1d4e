package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Subjects are built here and nowhere else. Every part is an id, a slug, a hash
// or a number, which the doors have checked; should one be anything else, it
// becomes a part that names nothing (SEC-107, SEC-108).

func invStream(p int) string      { return "INV_" + strconv.Itoa(p) }
func lockStream(p int) string     { return "LOCK_" + strconv.Itoa(p) }
func deliveryStream(p int) string { return "DELIVERY_" + strconv.Itoa(p) }

const (
	chainStream  = "CHAIN"
	sentStream   = "SENT"
	limitsStream = "LIMITS"
	blocksStream = "BLOCKS"
	deadStream   = "DEAD"
	auditStream  = "AUDIT"

	endpointStream = "ENDPOINTS"
)

// The durable consumers.
const (
	DispatchConsumer = "dispatch"
	FanOutConsumer   = "fanout"
	DeliverConsumer  = "deliver"
	TimerConsumer    = "timers"

	// EndpointConsumer and OperationConsumer read [EndpointStream].
	EndpointConsumer  = "endpoints"
	OperationConsumer = "operations"
)

// EndpointStream is where endpoints are looked after.
const EndpointStream = endpointStream

// join makes a subject of its parts, none of which is a wildcard.
func join(parts ...string) string {
	for i, part := range parts {
		parts[i] = token(part)
	}
	return strings.Join(parts, ".")
}

const (
	tokenChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	maxToken   = 128 // half as much again as the longest of ours
	stray      = "!" // begins what stands for a text that can't be a part; no id holds it
)

// token returns s if it can be a part of a subject, and otherwise its hash: no
// dot, no wildcard, no white space and no endless line reaches the server.
func token(s string) string {
	if s != "" && len(s) <= maxToken && strings.Trim(s, tokenChars) == "" {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return stray + hex.EncodeToString(sum[:12])
}

func requestName(partition int, id invocation.ID) string {
	return join("inv", strconv.Itoa(partition), "req", string(id))
}

func stateName(partition int, id invocation.ID) string {
	return join("inv", strconv.Itoa(partition), "st", string(id))
}

func requestSubject(lock invocation.LockID, id invocation.ID) string {
	return requestName(lock.Partition(), id)
}

func stateSubject(lock invocation.LockID, id invocation.ID) string {
	return stateName(lock.Partition(), id)
}

// guardSubject matches the request and the state of one invocation.
func guardSubject(lock invocation.LockID, id invocation.ID) string {
	return join("inv", strconv.Itoa(lock.Partition())) + ".*." + token(string(id))
}

func emissionSubject(lock invocation.LockID, id invocation.ID) string {
	return join("inv", strconv.Itoa(lock.Partition()), "em", string(id))
}

func movedSubject(lock invocation.LockID) string {
	return join("moved", strconv.Itoa(lock.Partition()), string(lock))
}

func lockSubject(lock invocation.LockID) string {
	return join("lock", strconv.Itoa(lock.Partition()), string(lock))
}

func chainSubject(correlation invocation.ID) string { return join("chain", string(correlation)) }

func sentSubject(ext invocation.Slug, lock invocation.LockID, event invocation.ID) string {
	return join("sent", string(ext), string(lock), string(event))
}

// lastSentSubject matches every event sent to an extension on a lock.
func lastSentSubject(ext invocation.Slug, lock invocation.LockID) string {
	return join("sent", string(ext), string(lock)) + ".*"
}

func limitSubject(b invocation.Bucket, key string, window int64) string {
	return join("lim", string(b), key, strconv.FormatInt(window, 10))
}

func blockSubject(b Block) string {
	return join("blk", string(b.Bucket), string(b.Extension), string(b.Lock))
}

func deliverySubject(d Delivery) string { return deliveryName("dlv", d) }

func scheduleSubject(d Delivery) string { return deliveryName("tmr", d) }

// dueSubject is where a lock's next timer arrives when its time has come.
func dueSubject(lock invocation.LockID) string {
	return join("due", strconv.Itoa(lock.Partition()), string(lock))
}

func timerSubject(lock invocation.LockID) string {
	return join("tmr", strconv.Itoa(lock.Partition()), "lock", string(lock))
}

func deliveryName(kind string, d Delivery) string {
	return join(kind, strconv.Itoa(d.Lock.Partition()), string(d.Extension), string(d.Lock), d.ID)
}

// keptSubject is where a delivery waits for its endpoint.
func keptSubject(d Delivery) string {
	return join("ep", "kept", string(d.Extension), string(d.Lock), d.ID)
}

// keptSubjects matches everything that waits for an endpoint.
func keptSubjects(ext invocation.Slug) string { return join("ep", "kept", string(ext)) + ".>" }

func endpointCheckSubject(ext invocation.Slug) string { return join("ep", "check", string(ext)) }

func endpointTimerSubject(ext invocation.Slug) string { return join("ep", "timer", string(ext)) }

func operationSubject(o Operation) string {
	return join("ep", "tell", string(o.Extension), string(o.ID))
}

func deadDeliverySubject(ext, delivery string) string {
	return join("dead", "delivery", ext, delivery)
}

// deadDeliveries matches an extension's dead deliveries, or with an empty slug
// all of them.
func deadDeliveries(ext invocation.Slug) string {
	if ext == "" {
		return "dead.delivery.*.*"
	}
	return join("dead", "delivery", string(ext)) + ".*"
}

// deadMessageSubjects matches every message that was buried.
const deadMessageSubjects = "dead.message.*.*"

func deadMessageSubject(stream string, seq uint64) string {
	return join("dead", "message", stream, strconv.FormatUint(seq, 10))
}

func auditSubject(id invocation.ID) string { return join("audit", string(id)) }

const auditSubjects = "audit.*"

// wakeSubject is where the settlement of an invocation is told to whoever waits.
func wakeSubject(id invocation.ID) string { return join("settled", string(id)) }

// lastToken returns what follows the last dot of a subject.
func lastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }
