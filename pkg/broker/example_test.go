package broker_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
)

// What a handler returns decides what becomes of its message.
func ExampleJudge() {
	busy := errors.New("all slots are taken")
	fmt.Println(broker.Judge(nil, 0).Action == broker.Ack)
	fmt.Println(broker.Judge(broker.Retry(busy, 2*time.Second), 0).After)
	fmt.Println(broker.Judge(broker.Drop(busy), 1).Action == broker.Bury)
	fmt.Println(broker.Judge(busy, broker.MaxStrikes).Action == broker.Bury)
	// Output:
	// true
	// 2s
	// true
	// true
}
