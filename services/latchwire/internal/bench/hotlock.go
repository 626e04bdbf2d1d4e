package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
)

// hotClients call at a time in the measurement of one hot lock.
const hotClients = 16

// hotLock measures built-in commands that all change one lock, beside the same
// load spread over many: each change compares with the lock's last one.
func (r report) hotLock(ctx context.Context, p *pipeline) error {
	spread, err := closedLoop(ctx, hotClients, r.duration, func(ctx context.Context, _, _ int) error {
		return p.addTime(ctx, int(p.calls.Add(1)))
	})
	if err != nil {
		return err
	}
	hot, err := closedLoop(ctx, hotClients, r.duration, func(ctx context.Context, _, _ int) error {
		p.calls.Add(1)
		return p.addTime(ctx, 0)
	})
	if err != nil {
		return err
	}
	r.print("%-28s %9.0f %9s %9s %9s   %.2f of the same load over %d locks\n", fmt.Sprintf("one hot lock, %d clients", hotClients),
		hot.perSecond(), short(hot.p50), short(hot.p99), short(hot.cpu), hot.perSecond()/spread.perSecond(), len(p.sessions))
	return nil
}

// addTime runs a built-in command on one of the locks and wants it completed.
func (p *pipeline) addTime(ctx context.Context, lock int) error {
	body := fmt.Appendf(nil, `{"input":{"duration":1},"idempotencyKey":"%s-hot-%d"}`, p.runID, p.calls.Add(1))
	b, err := p.send(ctx, http.MethodPost, "/api/extensions/sessions/"+p.sessions[lock%len(p.sessions)]+"/actions/lock.add-time", p.token, body)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(`"status":"completed"`)) {
		return fmt.Errorf("not completed: %.300s", b)
	}
	return nil
}
