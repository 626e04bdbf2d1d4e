package receiver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
)

// newReceiver is a complete receiver. The same stands in contracts/RECEIVER.md.
func newReceiver(secrets string) (*receiver.Handler, error) {
	keys, err := receiver.ParseKeys(secrets)
	var seen receiver.Seen
	return &receiver.Handler{
		Keys: keys,
		Commands: func(_ context.Context, c *receiver.Command) (receiver.Answer, error) {
			if c.CommandID != "probe.echo" {
				return receiver.Answer{}, &receiver.Rejection{Code: "unknown-command", Message: "I don't know it."}
			}
			return receiver.Answer{Result: map[string]int{"left": 3}}, nil
		},
		Events: func(_ context.Context, e *receiver.LockEvent) error {
			return seen.Once(e.ID, func() error {
				_, err := fmt.Println(e.Type, string(e.Payload))
				return err
			})
		},
	}, err
}

func Example() {
	secret := egress.NewSecret()
	handler, err := newReceiver(secret.Reveal())
	if err != nil {
		fmt.Println(err)
		return
	}
	send := func(id, body string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header = egress.Sign(id, time.Now(), []byte(body), secret)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(strings.TrimSpace(fmt.Sprintln(w.Code, w.Body)))
	}
	event := `{"event":"lock_event.created","data":{"lockEvent":{"type":"tasks.completed","payload":{"points":2}}}}`
	send("6731b2c4e5f0a1b2c3d4e5f6", event)
	send("6731b2c4e5f0a1b2c3d4e5f6", event)
	send("6731b2d0e5f0a1b2c3d4e5f7", `{"event":"extension.command_invoked","data":{"invocation":{"commandId":"probe.echo","input":{}}}}`)
	// Output:
	// tasks.completed {"points":2}
	// 204
	// 204
	// 200 {"status":"completed","result":{"left":3},"events":[]}
}
