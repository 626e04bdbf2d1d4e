package platform

import (
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/wire"
)

// eventHeader names a webhook's event, so that a receiver can choose before it
// reads the body (contract section 7).
const eventHeader = "X-Chaster-Event"

// A Webhook is what an extension is to be sent.
type Webhook struct {
	// ID becomes the webhook-id header: the same at each attempt.
	ID string
	// Event is one of the names in package wire, Data what it is about.
	Event string
	Data  any
}

// Request returns the request that sends w to an extension at this time: a body
// with its own time and request id, signed with every live secret, the newest
// first, and with the extension's credentials. Calls and deliveries are all made
// here, so that they are signed alike (SEC-24, SEC-25, SEC-29). It is an error
// if one of the secrets can't be used: nothing is sent with fewer than there
// should be.
func (w Webhook) Request(to registry.Extension, now time.Time) (egress.Request, error) {
	body, err := wire.Encode(wire.NewWebhook(w.Event, now, w.Data))
	if err != nil {
		return egress.Request{}, fmt.Errorf("encode webhook %s: %w", w.ID, err)
	}
	live := to.Live(now)
	secrets := make([]egress.Secret, 0, len(live))
	for _, s := range live {
		if err := to.Opened(s.Secret); err != nil {
			return egress.Request{}, err
		}
		secret, err := egress.ParseSecret(s.Secret)
		if err != nil {
			return egress.Request{}, fmt.Errorf("signing secret %s of %s: %w", s.ID, to.Slug, err)
		}
		secrets = append(secrets, secret)
	}
	if err := to.Opened(to.BasicSecret); err != nil {
		return egress.Request{}, err
	}
	header := egress.Sign(w.ID, now, body, secrets...)
	header.Set(eventHeader, w.Event)
	return egress.Request{
		URL: to.WebhookURL, Header: header, Body: body,
		Credentials: egress.Credentials{User: to.BasicUser, Password: to.BasicSecret},
	}, nil
}
