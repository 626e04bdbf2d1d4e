package bench

import (
	"io"
	"net"
	"net/http"
	"time"
)

// A target is an HTTP server on loopback that stands in for an extension.
type target struct {
	url    string
	server *http.Server
}

func startTarget(h http.HandlerFunc) (*target, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it lasts as long as the run
	if err != nil {
		return nil, err
	}
	t := &target{url: "http://" + ln.Addr().String() + "/", server: &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}}
	go func() { _ = t.server.Serve(ln) }() // close ends it
	return t, nil
}

func (t *target) close() { _ = t.server.Close() }

// echo completes every call at once.
func echo(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the body is of no interest
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"status":"completed","result":{}}`)
}

// hang answers nothing until the caller gives up.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
