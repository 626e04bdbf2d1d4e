package grade

import (
	"bytes"
	"net/http"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
)

// A testCase is something that receivers must cope with.
type testCase struct {
	name, sent string
	// make returns what is sent, one after the other.
	make func(*grader) ([]message, error)
	// judge judges each answer.
	judge func(*grader, exchange) (Verdict, string)
	// ordinary says that the pipeline itself sends such things: the answer has
	// to come in time and may not redirect.
	ordinary bool
}

// staleness is how old the stale webhook is: twice what receivers tolerate.
const staleness = 2 * receiver.Tolerance

// cases returns all cases but the two that judge the others' answers.
func cases() []testCase {
	return []testCase{
		{"valid-event", "a signed lock_event.created", validEvent, accepted, true},
		{"valid-command", "a signed extension.command_invoked", validCommand, answeredCall, true},
		{"tampered-body", "an event changed after it was signed", tampered, refused, true},
		{"missing-signature", "an event without webhook-signature", unsigned, refused, true},
		{"stale-timestamp", "an event signed 10 minutes ago", stale, refused, true},
		{"duplicate", "the same event twice, with one webhook-id", duplicate, accepted, true},
		{"rotated-secret", "two signatures, yours second, then first", rotated, accepted, true},
		{"unknown-kind", "a signed event of a kind that is new", unknown, accepted, true},
		{"huge-body", "a signed event of 1 MiB and a byte", huge, anyAnswer, false},
		{"slow-sender", "a signed event, its body bit by bit", slow, anyAnswer, false},
		{"wrong-method", "GET", get, notCrashed, false},
	}
}

// one wraps a case that is a single signed message.
func one(m message, err error) ([]message, error) { return []message{m}, err }

func validEvent(g *grader) ([]message, error) { return one(g.event()) }

func validCommand(g *grader) ([]message, error) { return one(g.command()) }

func tampered(g *grader) ([]message, error) {
	m, err := g.event()
	if err != nil {
		return nil, err
	}
	m.body = bytes.Replace(m.body, []byte(`"seq":`), []byte(`"seq":1`), 1) // still a valid event
	return []message{m}, nil
}

func unsigned(g *grader) ([]message, error) {
	m, err := g.event()
	if err == nil {
		m.header.Del(egress.HeaderSignature)
	}
	return []message{m}, err
}

func stale(g *grader) ([]message, error) {
	m, err := g.event()
	if err == nil {
		m.sign(g.cfg.Now().Add(-staleness), g.cfg.Secret)
	}
	return []message{m}, err
}

func duplicate(g *grader) ([]message, error) {
	m, err := g.event()
	return []message{m, m}, err
}

// rotated is signed with a secret that the receiver does not know and with its
// own, in both orders: one receiver has yet to learn the new secret, the other
// has dropped the old one.
func rotated(g *grader) ([]message, error) {
	first, err := g.event()
	if err != nil {
		return nil, err
	}
	second, err := g.event()
	if err != nil {
		return nil, err
	}
	other := egress.NewSecret()
	first.sign(g.cfg.Now(), other, g.cfg.Secret)
	second.sign(g.cfg.Now(), g.cfg.Secret, other)
	return []message{first, second}, nil
}

func unknown(g *grader) ([]message, error) {
	return one(g.webhook("webhook-lock-event.valid.json", func(doc, data map[string]any) string {
		doc["event"] = "receiver_test.created"
		delete(data, "lockEvent")
		data["receiverTest"] = map[string]any{"new": true}
		return newID()
	}))
}

func huge(g *grader) ([]message, error) {
	m, err := g.event()
	if err != nil {
		return nil, err
	}
	m.body = append(m.body, bytes.Repeat([]byte(" "), receiver.MaxBody+1-len(m.body))...)
	m.sign(g.cfg.Now(), g.cfg.Secret)
	return []message{m}, nil
}

func slow(g *grader) ([]message, error) {
	m, err := g.event()
	m.drip = true
	return []message{m}, err
}

func get(*grader) ([]message, error) {
	return []message{{method: http.MethodGet, header: http.Header{}}}, nil
}

// accepted wants an acknowledgement.
func accepted(_ *grader, x exchange) (Verdict, string) {
	switch {
	case x.status == http.StatusUnauthorized:
		return Fail, "a 2xx was expected; is the secret the one that the receiver knows?"
	case x.status < 200 || x.status > 299:
		return Fail, "a 2xx was expected"
	}
	return Pass, ""
}

// refused wants anything but an acknowledgement.
func refused(_ *grader, x exchange) (Verdict, string) {
	if x.status >= 200 && x.status <= 299 {
		return Fail, "it must be refused, best with 401"
	}
	return Pass, ""
}

// answeredCall wants a proper answer to a command. Of an extension that may not
// have any commands, it can't be expected.
func answeredCall(g *grader, x exchange) (Verdict, string) {
	verdict, hint := Fail, ""
	if g.cfg.Command == "" {
		verdict, hint = Warn, "; name one of your commands with --command if you have any"
	}
	if x.status < 200 || x.status > 299 {
		return verdict, "a 200 was expected" + hint
	}
	if err := checkAnswer(x.body); err != nil {
		return verdict, "the answer is not valid: " + err.Error() + hint
	}
	return Pass, ""
}

func anyAnswer(*grader, exchange) (Verdict, string) { return Pass, "" }

// notCrashed wants anything but a 5xx.
func notCrashed(_ *grader, x exchange) (Verdict, string) {
	if x.status >= 500 {
		return Fail, "a 4xx was expected, best 405"
	}
	return Pass, ""
}
