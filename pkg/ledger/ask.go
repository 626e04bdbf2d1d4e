package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// askSubject is where questions are put; one of the processes that answer gets
// each. Nothing of them is stored.
const (
	askSubject = "ask.options"
	askGroup   = "dispatch"
)

// maxAsked bounds the questions that one process answers at a time.
const maxAsked = 256

// askSlack is what a question takes beyond the call of the extension.
const askSlack = 2 * time.Second

// questionRecord is a question on its way; see requestRecord.
type questionRecord struct {
	Version  int                     `json:"v"`
	Lock     invocation.LockID       `json:"lock"`
	Caller   partyRecord             `json:"from"`
	Target   partyRecord             `json:"to"`
	Command  invocation.CapabilityID `json:"cmd"`
	Revision int                     `json:"rev"`
	Field    string                  `json:"field"`
	Search   string                  `json:"q,omitzero"`
}

// answerRecord is what comes back: options, or nothing but a failure.
type answerRecord struct {
	Failed  bool           `json:"failed,omitzero"`
	Options []optionRecord `json:"options,omitempty"`
	HasMore bool           `json:"more,omitzero"`
}

type optionRecord struct {
	Value       json.RawMessage `json:"v"`
	Label       string          `json:"l"`
	Description string          `json:"d,omitzero"`
}

// Ask has a dispatcher ask the target for the choices of a field. Headers
// travel along, as the trace does with a request. It returns
// OptionsUnavailable when the target gave no usable answer, and
// ServiceUnavailable when nobody was there to ask it.
func (l *Ledger) Ask(ctx context.Context, q invocation.Question, headers map[string][]string) (invocation.Options, error) {
	data, err := encode(questionRecord{
		Version: recordVersion, Lock: q.Lock, Caller: newParty(q.Caller), Target: newParty(q.Target),
		Command: q.Command, Revision: q.Revision, Field: q.Field, Search: q.Search,
	})
	if err != nil {
		return invocation.Options{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, invocation.CallTimeout+askSlack)
	defer cancel()
	m, err := l.conn.NC.RequestMsgWithContext(ctx, &nats.Msg{Subject: askSubject, Header: traceOf(headers), Data: data})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return invocation.Options{}, invocation.Wrap(invocation.OptionsUnavailable, err)
	case err != nil:
		return invocation.Options{}, unavailable(err)
	}
	var a answerRecord
	if err := decode(m.Data, &a); err != nil {
		return invocation.Options{}, err
	}
	if a.Failed {
		return invocation.Options{}, invocation.Refuse(invocation.OptionsUnavailable)
	}
	return a.options(), nil
}

// An Asked answers a question; its error says that there is no answer.
type Asked func(ctx context.Context, q invocation.Question, headers map[string][]string) (invocation.Options, error)

// Answer answers questions of this and other processes until ctx is done, and
// then those it has begun with. Several processes share the questions.
func (l *Ledger) Answer(ctx context.Context, answer Asked) error {
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, maxAsked)
	sub, err := l.conn.NC.QueueSubscribe(askSubject, askGroup, func(m *nats.Msg) {
		select {
		case slots <- struct{}{}:
		default:
			l.reply(m, invocation.Options{}, invocation.Refuse(invocation.OptionsUnavailable))
			return
		}
		running.Go(func() {
			defer func() { <-slots }()
			l.answer(context.WithoutCancel(ctx), m, answer)
		})
	})
	if err != nil {
		return fmt.Errorf("subscribe to questions: %w", err)
	}
	ended := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(ended) })
	<-ctx.Done()
	if sub.Drain() == nil { // it fails on a closed connection, whose handlers have ended
		<-ended
	}
	return nil
}

func (l *Ledger) answer(ctx context.Context, m *nats.Msg, answer Asked) {
	var r questionRecord
	err := decode(m.Data, &r)
	if err == nil && !r.fits() {
		err = errMisfit
	}
	var options invocation.Options
	if err == nil {
		options, err = answer(ctx, invocation.Question{
			Lock: r.Lock, Caller: r.Caller.party(), Target: r.Target.party(),
			Command: r.Command, Revision: r.Revision, Field: r.Field, Search: r.Search,
		}, m.Header)
	}
	l.reply(m, options, err)
}

// reply answers a question. An answer that gets lost costs the asker its wait.
func (l *Ledger) reply(m *nats.Msg, options invocation.Options, failed error) {
	a := answerRecord{Failed: failed != nil, HasMore: options.HasMore}
	for _, o := range options.List {
		a.Options = append(a.Options, optionRecord(o))
	}
	data, err := encode(a)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		l.log.Warn("a question was not answered", slog.Any("error", err))
	}
}

func (a answerRecord) options() invocation.Options {
	out := invocation.Options{HasMore: a.HasMore, List: make([]invocation.Option, 0, len(a.Options))}
	for _, o := range a.Options {
		out.List = append(out.List, invocation.Option(o))
	}
	return out
}
