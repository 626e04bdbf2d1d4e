package invocation

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// An ID names one invocation or one lock event: 24 lower-case hex digits
// (contract section 1). One type serves both because a cause may be either.
type ID string

// A LockID names one lock: 24 lower-case hex digits, of which the first two
// are the partition its facts live in (design section 3).
type LockID string

// An ExtensionID is a partner extension's id: 24 lower-case hex digits, the
// contract's partnerExtensionId. Built-in extensions have none.
type ExtensionID string

// A Slug names an extension for ever: 1 to 40 of a-z, 0-9 and "-".
type Slug string

// A SessionID names one extension on one lock. It is opaque: 1 to 64 of
// A-Z, a-z, 0-9, "_" and "-" (contract section 1).
type SessionID string

// A CapabilityID names a command, a query or an event type: "slug.name".
type CapabilityID string

// A Seq is an event's place in its lock's log: strictly increasing, assigned
// when the event is committed (contract section 8).
type Seq uint64

// SeqsPerTransition is how many events one transition of a lock may hold: the
// seq of an event is its transition's stream sequence times this, plus its
// position (design section 3).
const SeqsPerTransition = 16

// idBytes is the length of an id before it is written in hex.
const idBytes = 12

// ValidID reports whether s has the form of an id: 24 lower-case hex digits.
func ValidID(s string) bool { return len(s) == 2*idBytes && only(s, isHex) }

// ValidSlug reports whether s has the form of a slug.
func ValidSlug(s string) bool { return len(s) >= 1 && len(s) <= 40 && only(s, isSlug) }

// ValidSession reports whether s has the form of a session id.
func ValidSession(s string) bool { return len(s) >= 1 && len(s) <= 64 && only(s, isOpaque) }

// ValidCapability reports whether s has the form of a capability id, as
// contract section 5 writes it: ^[a-z0-9-]{1,40}\.[a-z0-9]+(-[a-z0-9]+)*$.
func ValidCapability(s string) bool {
	slug, name, found := strings.Cut(s, ".")
	if !found || !ValidSlug(slug) || len(name) > 64 {
		return false
	}
	for part := range strings.SplitSeq(name, "-") {
		if part == "" || !only(part, isLowerAlnum) {
			return false
		}
	}
	return true
}

// Slug returns the extension that declares the capability.
func (id CapabilityID) Slug() Slug {
	slug, _, _ := strings.Cut(string(id), ".")
	return Slug(slug)
}

// NewLockID returns a fresh id for a lock whose facts live in the partition,
// which is at most 255.
func NewLockID(partition int) LockID {
	var b [idBytes]byte
	rand.Read(b[:])
	b[0] = byte(partition)
	return LockID(hex.EncodeToString(b[:]))
}

// Partition returns the partition that the lock's facts live in.
// A malformed id has partition 0.
func (id LockID) Partition() int {
	b, err := hex.DecodeString(string(id[:min(2, len(id))]))
	if err != nil || len(b) == 0 {
		return 0
	}
	return int(b[0])
}

// NewExtensionID returns a fresh extension id.
func NewExtensionID() ExtensionID { return ExtensionID(randomHex(idBytes)) }

// NewSessionID returns a fresh session id of 128 random bits.
func NewSessionID() SessionID { return SessionID("ses_" + randomHex(16)) }

// NewKey returns a fresh idempotency key, for calls that may come without one
// (contract section 6: "MCP without a key").
func NewKey() string { return randomHex(16) }

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// InvocationID derives the id of the call that caller makes on the lock under
// an idempotency key. The same three always give the same id, which is what
// makes recording a call twice impossible; the key itself, which may hold any
// character, goes no further (contract section 6, SEC-72, SEC-73).
func InvocationID(lock LockID, caller Slug, key string) ID {
	return hashID("invocation", string(lock), string(caller), key)
}

// EmissionID derives an id for an event emitted under an idempotency key, in
// a domain of its own: a key of a call never meets a key of an emission.
func EmissionID(lock LockID, emitter Slug, key string) ID {
	return hashID("emission", string(lock), string(emitter), key)
}

func hashID(parts ...string) ID {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return ID(hex.EncodeToString(sum[:idBytes]))
}

// EventID returns the id of the event at seq in the lock's log: four bytes
// that tell the lock, eight that tell the place, so that an event is found by
// its id alone (design section 3).
func EventID(lock LockID, seq Seq) ID {
	var b [idBytes]byte
	mark := lockMark(lock)
	copy(b[:4], mark[:])
	binary.BigEndian.PutUint64(b[4:], uint64(seq))
	return ID(hex.EncodeToString(b[:]))
}

// EventSeq returns the place that id would have in the lock's log, and whether
// it can be the id of one of the lock's events at all.
func EventSeq(lock LockID, id ID) (Seq, bool) {
	b, err := hex.DecodeString(string(id))
	if err != nil || len(b) != idBytes {
		return 0, false
	}
	if mark := lockMark(lock); string(b[:4]) != string(mark[:]) {
		return 0, false
	}
	return Seq(binary.BigEndian.Uint64(b[4:])), true
}

func lockMark(lock LockID) [4]byte {
	sum := sha256.Sum256([]byte(lock))
	return [4]byte(sum[:4])
}

func only(s string, in func(byte) bool) bool {
	for i := range len(s) {
		if !in(s[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool        { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
func isLowerAlnum(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' }
func isSlug(c byte) bool       { return isLowerAlnum(c) || c == '-' }
func isOpaque(c byte) bool     { return isSlug(c) || c >= 'A' && c <= 'Z' || c == '_' }
