package platformtest

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server/ats"
	"go.uber.org/goleak"
)

// Main runs a package's tests and fails if one leaves a goroutine behind. With
// it tests may start servers inside a bubble of package synctest beside others
// outside: the one clock that all servers of a process share is kept out of the
// bubbles.
func Main(m *testing.M) { goleak.VerifyTestMain(outside{m}) }

type outside struct{ m *testing.M }

// Run runs the tests while the clock is held.
func (o outside) Run() int {
	ats.Register()
	defer ats.Unregister()
	return o.m.Run()
}
