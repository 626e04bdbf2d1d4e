package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
)

func ExampleClient_Post() {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("target got", r.Header.Get("Webhook-Id"), r.Header.Get("Content-Type"))
		_, _ = io.WriteString(w, `{"status":"completed","result":{}}`)
	}))
	defer target.Close()

	laptop, _ := egress.ParsePolicy("127.0.0.0/8")
	client := egress.New(egress.Config{Policy: laptop})
	defer client.Close()

	body := []byte(`{"event":"extension.command_invoked"}`)
	resp, err := client.Post(context.Background(), egress.Request{
		URL:    target.URL + "/hook",
		Header: egress.Sign("65f0c0ffee65f0c0ffee65f0", time.Now(), body, egress.NewSecret()),
		Body:   body,
	})
	fmt.Println(resp.Status, string(resp.Body), err)

	// A client for production refuses the same target.
	_, err = egress.New(egress.Config{}).Post(context.Background(), egress.Request{URL: target.URL, Body: body})
	if failed, ok := errors.AsType[*egress.CallError](err); ok {
		fmt.Println(failed.Kind, "sent:", failed.Sent)
	}
	// Output:
	// target got 65f0c0ffee65f0c0ffee65f0 application/json
	// 200 {"status":"completed","result":{}} <nil>
	// url sent: false
}

// The values are those of the Standard Webhooks specification.
func ExampleSign() {
	secret, err := egress.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := egress.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`), secret)
	fmt.Println(h.Get("webhook-signature"))
	fmt.Println(secret)
	// Output:
	// v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
	// [redacted]
}

func ExamplePolicy_CheckURL() {
	_, err := egress.Policy{}.CheckURL("https://169.254.169.254/latest/meta-data/")
	fmt.Println(err)
	u, err := egress.Policy{}.CheckURL("https://hooks.example.com/latchwire")
	fmt.Println(u.Host, err)
	// Output:
	// the URL must name a host, not an address
	// hooks.example.com <nil>
}

func ExampleRetryAfter() {
	wait, ok := egress.RetryAfter(http.Header{"Retry-After": {"999999999"}}, time.Now())
	fmt.Println(wait, ok)
	// Output:
	// 24h0m0s true
}
