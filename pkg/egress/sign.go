package egress

import (
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

// signatureSize is the length of one signature in the header.
const signatureSize = len("v1,") + (sha256.Size+2)/3*4

// Sign returns the Standard Webhooks 1.0.0 headers for body, which must be
// sent to the byte. While a secret rotates, pass both, the newer first: the
// receiver accepts either (SEC-25). An attempt that is repeated keeps its id
// and is signed anew with its own time (SEC-24).
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
	signatures := make([]byte, 0, len(secrets)*(signatureSize+1))
	for _, s := range secrets {
		if s.key == nil {
			continue
		}
		if len(signatures) > 0 {
			signatures = append(signatures, ' ')
		}
		mac := hmac.New(sha256.New, s.key())
		mac.Write(head)
		mac.Write(body)
		var sum [sha256.Size]byte
		signatures = append(signatures, "v1,"...)
		signatures = base64.StdEncoding.AppendEncode(signatures, mac.Sum(sum[:0]))
	}
	if len(signatures) > 0 {
		h[HeaderSignature] = []string{string(signatures)}
	}
	return h
}
