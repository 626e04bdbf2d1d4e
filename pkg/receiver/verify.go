package receiver

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The headers that a webhook is signed with (Standard Webhooks 1.0.0).
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// Tolerance is how far a webhook's timestamp may lie from now, in both
// directions.
const Tolerance = 5 * time.Minute

// maxSignatures bounds the work that a stranger's header makes: an honest one
// has a signature for each live secret.
const maxSignatures = 16

// Why [Keys.Verify] refuses a webhook.
var (
	// ErrHeaders says that a header is absent, stands twice or can't be read.
	ErrHeaders = errors.New("the webhook-id, webhook-timestamp or webhook-signature header is missing or malformed")
	// ErrTimestamp says that the webhook was signed too long ago, or that one
	// of the two clocks is wrong.
	ErrTimestamp = errors.New("the webhook-timestamp lies more than five minutes from now")
	// ErrSignature says that no key made any of the signatures for this body.
	ErrSignature = errors.New("no signature fits the body and the keys")
)

// Verify checks that one of the keys signed a request with these headers and
// this body, which must be as it came, to the byte, and that it was signed
// close to now. It returns the webhook-id, by which repetitions are told. The
// error is [ErrHeaders], [ErrTimestamp] or [ErrSignature]. Signatures are
// compared in constant time.
func (k Keys) Verify(h http.Header, body []byte, now time.Time) (id string, err error) {
	id, timestamp := single(h, headerID), single(h, headerTimestamp)
	signatures := signaturesOf(h)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	// A dot in the id would blur where the parts of the signed text end.
	if err != nil || id == "" || strings.Contains(id, ".") || len(signatures) == 0 {
		return "", ErrHeaders
	}
	const tolerance = int64(Tolerance / time.Second)
	if seconds < now.Unix()-tolerance || seconds > now.Unix()+tolerance {
		return "", ErrTimestamp
	}
	if !k.signed(slices.Concat([]byte(id+"."+timestamp+"."), body), signatures) {
		return "", ErrSignature
	}
	return id, nil
}

// signed reports whether one of the keys made one of the signatures.
func (k Keys) signed(text []byte, signatures []signature) bool {
	if k.all == nil {
		return false
	}
	return slices.ContainsFunc(k.all(), func(one key) bool { return one.signed(text, signatures) })
}

func (k key) signed(text []byte, signatures []signature) bool {
	fits := func(sum []byte) bool { return ed25519.Verify(k.bytes, text, sum) }
	if k.scheme == schemeHMAC {
		mac := hmac.New(sha256.New, k.bytes)
		mac.Write(text)
		want := mac.Sum(nil)
		fits = func(sum []byte) bool { return hmac.Equal(sum, want) }
	}
	return slices.ContainsFunc(signatures, func(s signature) bool { return s.scheme == k.scheme && fits(s.sum) })
}

type signature struct {
	scheme string
	sum    []byte
}

// signaturesOf reads the signatures of a header, such as "v1,… v1,… v1a,…".
// Those of other schemes and those that can't be read are left out.
func signaturesOf(h http.Header) []signature {
	var all []signature
	for field := range strings.FieldsSeq(single(h, headerSignature)) {
		scheme, encoded, _ := strings.Cut(field, ",")
		if scheme != schemeHMAC && scheme != schemeEd25519 {
			continue
		}
		sum, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		if all = append(all, signature{scheme, sum}); len(all) == maxSignatures {
			break
		}
	}
	return all
}

// single returns a header that must stand exactly once, or nothing: of two
// nobody could tell which one counts.
func single(h http.Header, name string) string {
	if v := h.Values(name); len(v) == 1 {
		return v[0]
	}
	return ""
}
