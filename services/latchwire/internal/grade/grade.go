package grade

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Config says which receiver is tried, and how.
type Config struct {
	// URL is where webhooks go: http or https, with user and password if the
	// receiver wants them.
	URL string
	// Secret is the one that the receiver knows.
	Secret egress.Secret
	// Command is a command of the receiver's, such as "my-ext.do-it". Without
	// it a made-up one is called, and only a proper answer says something.
	Command invocation.CapabilityID
	// Input is the command's input, a JSON object; empty for an empty one.
	Input string
	// Session is a session that the receiver knows; empty for a made-up one.
	Session invocation.SessionID

	// Timeout is how long an answer may take; zero means the contract's 10 s.
	Timeout time.Duration
	// Drip is how long the slow sender takes; zero means 3 s.
	Drip time.Duration
	// Now tells the time that webhooks are signed with; nil means [time.Now].
	Now func() time.Time
}

// Validate returns everything that is wrong with c in one error.
func (c Config) Validate() error {
	var problems []error
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		problems = append(problems, errors.New("the URL must be one of http or https")) // it may hold a password: not quoted
	}
	if c.Secret.IsZero() {
		problems = append(problems, errors.New("there must be a signing secret"))
	}
	if c.Command != "" && !invocation.ValidCapability(string(c.Command)) {
		problems = append(problems, errors.New("the command must be an id such as my-ext.do-it"))
	}
	if c.Session != "" && !invocation.ValidSession(string(c.Session)) {
		problems = append(problems, errors.New("the session must be 1 to 64 of A-Z, a-z, 0-9, _ and -"))
	}
	if c.Input != "" && !isObject([]byte(c.Input)) {
		problems = append(problems, errors.New("the input must be a JSON object"))
	}
	return errors.Join(problems...)
}

// A Verdict is what an answer was worth.
type Verdict string

// The verdicts. A warning fails nobody.
const (
	Pass Verdict = "PASS"
	Warn Verdict = "WARN"
	Fail Verdict = "FAIL"
)

// worse returns the worse of two verdicts.
func (v Verdict) worse(other Verdict) Verdict {
	if v == Fail || other == Fail {
		return Fail
	}
	if v == Warn || other == Warn {
		return Warn
	}
	return Pass
}

// A Result is how one case went.
type Result struct {
	Name    string
	Verdict Verdict
	// Sent says what was sent, and Got what came back.
	Sent, Got string
	// Took is how long the case took.
	Took time.Duration
	// Why says what was expected; empty when the case passed.
	Why string
}

// A Report is how all cases went, in the order in which they were sent.
type Report struct {
	// URL is the receiver's, without a password.
	URL   string
	Cases []Result
}

// Count returns how many cases went like that.
func (r Report) Count(v Verdict) int {
	n := 0
	for _, c := range r.Cases {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// Run sends all cases and judges the answers. The error is that of
// [Config.Validate], or why ctx ended.
func Run(ctx context.Context, cfg Config) (Report, error) {
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, invocation.CallTimeout)
	cfg.Drip = cmp.Or(cfg.Drip, 3*time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	g := &grader{cfg: cfg, client: newClient(0), slow: newClient(dripSize)}
	defer g.client.CloseIdleConnections()
	defer g.slow.CloseIdleConnections()
	report := Report{}
	if u, err := url.Parse(cfg.URL); err == nil { // Validate has seen to it
		report.URL = u.Redacted()
	}
	for _, c := range cases() {
		result, err := g.try(ctx, c)
		if err != nil {
			return Report{}, err
		}
		report.Cases = append(report.Cases, result)
	}
	report.Cases = append(report.Cases, g.inTime(), g.noRedirect())
	return report, nil
}

// A grader tries one receiver.
type grader struct {
	cfg          Config
	client, slow *http.Client

	// What the ordinary cases saw, for the two that judge all of them.
	answered, late, redirected int
	slowest                    time.Duration
}
