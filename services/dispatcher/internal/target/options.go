package target

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/wire"
)

// errNoOptions says that a target's answer is no list of options.
var errNoOptions = errors.New("the answer is no list of options")

// The lengths of an option's texts, in code points. Longer ones are cut.
const (
	maxLabel       = 200
	maxDescription = 1000
	maxValue       = 4 << 10 // bytes
)

// PostQuestion sends the request of a question: [egress.Client.Post], perhaps
// wrapped.
type PostQuestion func(context.Context, egress.Request, invocation.Question) (egress.Response, error)

// Options asks targets by their webhook for the choices of a field.
type Options struct {
	registry *registry.Registry
	post     PostQuestion
}

// NewOptions returns what asks.
func NewOptions(r *registry.Registry, post PostQuestion) *Options {
	return &Options{registry: r, post: post}
}

// Ask sends a question to its target's webhook and reads the answer. Its error
// says why there is none, for logs.
func (o *Options) Ask(ctx context.Context, q invocation.Question) (invocation.Options, error) {
	ext, err := o.registry.Extension(ctx, q.Target.Slug)
	if err != nil {
		return invocation.Options{}, err
	}
	if !ext.Listens() {
		return invocation.Options{}, invocation.Refuse(invocation.OptionsUnavailable)
	}
	r, err := questionRequest(ext, q, time.Now())
	if err != nil {
		return invocation.Options{}, err
	}
	resp, err := o.post(ctx, r, q)
	if err != nil {
		return invocation.Options{}, err
	}
	return ReadOptions(resp.Status, resp.Body)
}

// asked is the data of the webhook (contract section 5).
type asked struct {
	SessionID invocation.SessionID `json:"sessionId"`
	Extension wire.Extension       `json:"extension"`
	LockID    invocation.LockID    `json:"lockId"`
	Options   question             `json:"options"`
}

type question struct {
	CommandID invocation.CapabilityID `json:"commandId"`
	Revision  int                     `json:"revision"`
	Field     string                  `json:"field"`
	Search    *string                 `json:"search"`
	Caller    caller                  `json:"caller"`
}

func questionRequest(ext registry.Extension, q invocation.Question, now time.Time) (egress.Request, error) {
	return platform.Webhook{ID: invocation.NewKey(), Event: wire.OptionsRequested, Data: asked{
		SessionID: q.Target.Session, Extension: wire.Extension{Slug: q.Target.Slug}, LockID: q.Lock,
		Options: question{
			CommandID: q.Command, Revision: q.Revision, Field: q.Field, Search: wire.OrNull(q.Search),
			Caller: caller{q.Caller.Slug, q.Caller.Partner},
		},
	}}.Request(ext, now)
}

type optionsAnswer struct {
	Options []json.RawMessage `json:"options"`
	HasMore bool              `json:"hasMore"`
}

type optionAnswer struct {
	Value       json.RawMessage `json:"value"`
	Label       *string         `json:"label"`
	Description *string         `json:"description"`
}

// ReadOptions reads a target's HTTP answer: the first options of it, with texts
// that can be shown (SEC-62). It returns an error for anything else.
func ReadOptions(status int, body []byte) (invocation.Options, error) {
	var a optionsAnswer
	if status < 200 || status > 299 || strictjson.Decode(body, &a, strictjson.Limits{Bytes: invocation.MaxBody}) != nil || a.Options == nil {
		return invocation.Options{}, errNoOptions
	}
	out := invocation.Options{HasMore: a.HasMore}
	if len(a.Options) > invocation.MaxOptions {
		a.Options, out.HasMore = a.Options[:invocation.MaxOptions], true
	}
	for _, raw := range a.Options {
		option, ok := readOption(raw)
		if !ok {
			return invocation.Options{}, errNoOptions
		}
		out.List = append(out.List, option)
	}
	return out, nil
}

// readOption reads one option. Its value is what a caller puts into the field:
// a string, a number or a boolean.
func readOption(raw json.RawMessage) (invocation.Option, bool) {
	var a optionAnswer
	if !isObject(raw) || jsonv2.Unmarshal(raw, &a) != nil || a.Label == nil || !scalar(a.Value) {
		return invocation.Option{}, false
	}
	o := invocation.Option{Value: a.Value, Label: manifest.CleanText(*a.Label, maxLabel)}
	if a.Description != nil {
		o.Description = manifest.CleanText(*a.Description, maxDescription)
	}
	return o, o.Label != ""
}

func scalar(v json.RawMessage) bool {
	return len(v) > 0 && len(v) <= maxValue && v[0] != '{' && v[0] != '[' && v[0] != 'n'
}
