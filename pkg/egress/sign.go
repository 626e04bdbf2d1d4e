package egress

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"
)

// The headers of Standard Webhooks, in their canonical spelling.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// maxSignature is the length of the longest signature in the header, v1a's.
const maxSignature = len("v1a,") + (ed25519.SignatureSize+2)/3*4

// Sign returns the Standard Webhooks 1.0.0 headers for body, which must be
// sent to the byte. While a secret rotates, pass both, the newer first: the
// receiver accepts either (SEC-25). Secrets of both schemes may be mixed: a
// receiver passes over the signatures of a scheme that it doesn't know
// (SEC-26). An attempt that is repeated keeps its id and is signed anew with
// its own time (SEC-24).
//
// The id is one of ours, of letters, digits, hyphens and underscores: a dot in
// it would blur where the signed text's parts end (SEC-27). Without a secret
// that holds a key there is no signature header.
func Sign(id string, ts time.Time, body []byte, secrets ...Secret) http.Header {
	seconds := strconv.FormatInt(ts.Unix(), 10)
	h := http.Header{HeaderID: {id}, HeaderTimestamp: {seconds}}

	head := make([]byte, 0, 64)
	head = append(head, id...)
	head = append(head, '.')
	head = append(head, seconds...)
	head = append(head, '.')
	signatures := make([]byte, 0, len(secrets)*(maxSignature+1))
	for _, s := range secrets {
		if s.key == nil {
			continue
		}
		if len(signatures) > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = s.appendSignature(signatures, head, body)
	}
	if len(signatures) > 0 {
		h[HeaderSignature] = []string{string(signatures)}
	}
	return h
}

// appendSignature appends the signature over head and body, as it stands in the
// header.
func (s Secret) appendSignature(to, head, body []byte) []byte {
	to = append(to, s.scheme...)
	to = append(to, ',')
	if s.scheme == SchemeV1a {
		text := make([]byte, 0, len(head)+len(body)) // ed25519 reads it twice
		text = append(append(text, head...), body...)
		return base64.StdEncoding.AppendEncode(to, ed25519.Sign(s.key(), text))
	}
	mac := hmac.New(sha256.New, s.key())
	mac.Write(head)
	mac.Write(body)
	var sum [sha256.Size]byte
	return base64.StdEncoding.AppendEncode(to, mac.Sum(sum[:0]))
}
