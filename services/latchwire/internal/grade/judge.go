package grade

import (
	"context"
	"strconv"
	"strings"
)

// try sends a case and judges every answer; the worst one counts. The error is
// why ctx ended.
func (g *grader) try(ctx context.Context, c testCase) (Result, error) {
	messages, err := c.make(g)
	if err != nil {
		return Result{}, err
	}
	r := Result{Name: c.name, Verdict: Pass, Sent: c.sent}
	var got []string
	for _, m := range messages {
		x := g.send(ctx, m)
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		verdict, why := g.judge(c, x)
		if verdict != Pass && r.Verdict != Fail {
			r.Why = why
		}
		r.Verdict = r.Verdict.worse(verdict)
		r.Took += x.took
		got = append(got, x.got())
	}
	r.Got = strings.Join(got, ", ")
	return r, nil
}

// judge judges one answer, or that there is none. What the two cases about all
// answers judge is no more than a warning here.
func (g *grader) judge(c testCase, x exchange) (Verdict, string) {
	if c.ordinary {
		g.count(x)
	}
	switch {
	case x.late && c.ordinary:
		return Warn, "see in-time"
	case x.late:
		return Fail, "an answer must come within " + g.cfg.Timeout.String()
	case x.err != nil && x.sending:
		return Warn, "an answer, best 413, says more than a closed connection"
	case x.err != nil:
		return Fail, "an answer was expected"
	case x.redirects() && c.ordinary:
		return Warn, "see no-redirect"
	}
	return c.judge(g, x)
}

// count keeps what the two cases about all answers judge.
func (g *grader) count(x exchange) {
	switch {
	case x.late:
		g.late++
	case x.err == nil:
		g.answered++
		g.slowest = max(g.slowest, x.took)
	}
	if x.redirects() {
		g.redirected++
	}
}

// inTime judges how long the ordinary cases took.
func (g *grader) inTime() Result {
	r := Result{Name: "in-time", Verdict: Pass, Sent: "all of the above", Got: strconv.Itoa(g.answered) + " answers", Took: g.slowest}
	switch {
	case g.late > 0:
		r.Verdict, r.Got = Fail, strconv.Itoa(g.late)+" without an answer"
		r.Why = "an answer must come within " + g.cfg.Timeout.String()
	case g.answered == 0:
		r.Verdict, r.Why = Fail, "nothing answers there"
	}
	return r
}

// noRedirect judges that none of the ordinary cases was sent elsewhere.
func (g *grader) noRedirect() Result {
	r := Result{Name: "no-redirect", Verdict: Pass, Sent: "all of the above", Got: strconv.Itoa(g.redirected) + " redirects"}
	switch {
	case g.redirected > 0:
		r.Verdict, r.Why = Fail, "redirects are not followed: give the URL that they lead to"
	case g.answered == 0:
		r.Verdict, r.Why = Warn, "nothing answers there"
	}
	return r
}
