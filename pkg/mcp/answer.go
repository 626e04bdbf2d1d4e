package mcp

import (
	"bytes"
	"net/http"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// envelop returns a response: with a result, or with the error if there is one.
func envelop(id jsontext.Value, result []byte, failed *rpcError) []byte {
	b := make([]byte, 0, len(result)+len(id)+64)
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	if failed == nil {
		b = append(append(b, `,"result":`...), result...)
		return append(b, '}')
	}
	text, err := jsonv2.Marshal(failed)
	if err != nil {
		text = []byte(`{"code":-32603,"message":"Internal error"}`)
	}
	b = append(append(b, `,"error":`...), text...)
	return append(b, '}')
}

// refuse answers what never became a message of the protocol.
func refuse(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, envelop(nil, nil, invalidRequest(message)))
}

// write sends a response, as one event of a stream to a client that takes
// nothing else. Nobody is refused for what it accepts (MCP-06, S-04).
func write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if status != http.StatusOK || !onlyStreams(r.Header.Values("Accept")) {
		writeJSON(w, status, body)
		return
	}
	w.Header().Set("X-Accel-Buffering", "no")
	send(w, status, "text/event-stream", event(body))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	send(w, status, "application/json", body)
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone misses nothing that it could not ask for again
}

// event writes JSON as one server-sent event. White space between its tokens
// may hold line ends.
func event(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte("\r"), []byte(" "))
	body = bytes.ReplaceAll(body, []byte("\n"), []byte("\ndata: "))
	return append(append([]byte("event: message\ndata: "), body...), "\n\n"...)
}

// onlyStreams reports whether a client accepts text/event-stream and no JSON.
func onlyStreams(accept []string) bool {
	streams := false
	for _, list := range accept {
		for part := range strings.SplitSeq(list, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "text/event-stream", "text/*":
				streams = true
			case "application/json", "application/*", "*/*":
				return false
			}
		}
	}
	return streams
}
