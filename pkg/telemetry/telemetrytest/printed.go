package telemetrytest

import (
	"bytes"
	"sync"
)

// Printed keeps what a process prints or logs. Its zero value is empty, and its
// methods may be called concurrently.
type Printed struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write keeps the bytes; it never fails.
func (p *Printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

// String returns what came so far.
func (p *Printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}
