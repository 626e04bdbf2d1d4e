package partner

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/wire"
)

const (
	// How long a reader may take to take what was sent; it can resume.
	sendTimeout = 10 * time.Second
	// When a reader that lost the connection comes again, in milliseconds.
	reconnect = 2000
	// How much is held before it is sent.
	streamBuffer = 64 << 10
)

// An eventStream writes server-sent events (WHATWG HTML, 9.2).
type eventStream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
	// The last id that was written.
	id invocation.Seq
}

// newEventStream begins the answer of a stream that goes on after a cursor.
func newEventStream(w http.ResponseWriter, after invocation.Seq) (*eventStream, error) {
	s := &eventStream{w: w, rc: http.NewResponseController(w), id: after}
	if err := s.rc.SetReadDeadline(time.Time{}); err != nil { // the request was read; the answer has no end
		return nil, fmt.Errorf("begin a stream: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy that buffers would hold events back
	fmt.Fprintf(&s.buf, "retry: %d\nid: %d\n\n", reconnect, after)
	return s, nil
}

// send writes an event, of the kind message if kind is empty.
func (s *eventStream) send(kind string, id invocation.Seq, data any) error {
	text, err := wire.Encode(data)
	if err != nil {
		return err
	}
	if kind != "" {
		s.buf.WriteString("event: " + kind + "\n")
	}
	s.id = id
	s.buf.WriteString("id: " + strconv.FormatUint(uint64(id), 10) + "\ndata: ")
	s.buf.Write(text) // JSON on one line
	s.buf.WriteString("\n\n")
	if s.buf.Len() < streamBuffer {
		return nil
	}
	return s.flush()
}

// beat shows that the stream is alive, and how far it has come if what came was
// not selected: an event without data is not dispatched, and its id counts.
func (s *eventStream) beat(cursor invocation.Seq) {
	if cursor == s.id {
		s.buf.WriteString(":\n\n")
		return
	}
	s.id = cursor
	s.buf.WriteString("id: " + strconv.FormatUint(uint64(cursor), 10) + "\n\n")
}

// flush sends what was written.
func (s *eventStream) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	defer s.buf.Reset()
	if err := s.rc.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return fmt.Errorf("bound a write: %w", err)
	}
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	return s.rc.Flush()
}

// The streams that are open at a time, on this replica.
const (
	maxStreams        = 2000
	maxSessionStreams = 5
)

// streams counts those that are open.
type streams struct {
	mu    sync.Mutex
	all   int
	bySes map[invocation.SessionID]int
}

func newStreams() *streams { return &streams{bySes: make(map[invocation.SessionID]int)} }

// enter counts one more; the caller leaves once. It returns RateLimited over
// what a session may have, ServiceUnavailable over what the replica has room
// for.
func (s *streams) enter(id invocation.SessionID) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.bySes[id] >= maxSessionStreams:
		return nil, invocation.Refuse(invocation.RateLimited).With("bucket", "streams").After(sendTimeout)
	case s.all >= maxStreams:
		return nil, invocation.Refuse(invocation.ServiceUnavailable).After(sendTimeout)
	}
	s.all++
	s.bySes[id]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.bySes[id]--; s.bySes[id] == 0 {
			delete(s.bySes, id)
		}
	}, nil
}
