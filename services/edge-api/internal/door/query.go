package door

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Query reads query parameters and collects what is wrong with them.
// Parameters that nobody asks for are ignored.
type Query struct {
	values   url.Values
	problems []invocation.Problem
}

// ReadQuery returns the query of a request.
func ReadQuery(r *http.Request) *Query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &Query{values: values}
	if err != nil {
		q.problems = append(q.problems, invocation.Problem{Message: "must be a valid query string"})
	}
	return q
}

// A Range is what an integer parameter may be, and what it is when left out.
type Range struct{ Least, Most, Otherwise int64 }

// Int returns an integer parameter.
func (q *Query) Int(name string, in Range) int64 {
	text, found := q.Text(name)
	if !found {
		return in.Otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		q.Wrong(name, "must be integer")
	case n < in.Least:
		q.Wrong(name, "must be >= %d", in.Least)
	case n > in.Most:
		q.Wrong(name, "must be <= %d", in.Most)
	}
	return n
}

// Text returns a parameter that may stand once, and whether it does.
func (q *Query) Text(name string) (string, bool) {
	values, found := q.values[name]
	if len(values) > 1 {
		q.Wrong(name, "must NOT be repeated")
	}
	if !found {
		return "", false
	}
	return values[0], true
}

// Require refuses a query without the parameter.
func (q *Query) Require(name string) {
	if _, found := q.values[name]; !found {
		q.problems = append(q.problems, invocation.Problem{Message: fmt.Sprintf("must have required property '%s'", name)})
	}
}

// List returns the entries of a parameter that is a comma list, repeated or
// both.
func (q *Query) List(name string) []string {
	var all []string
	for _, list := range q.values[name] {
		all = append(all, strings.Split(list, ",")...)
	}
	return all
}

// Wrong refuses a parameter; the name may be followed by a path into a list.
func (q *Query) Wrong(name, format string, args ...any) {
	q.problems = append(q.problems, invocation.Problem{InstancePath: "/" + name, Message: fmt.Sprintf(format, args...)})
}

// Err returns MalformedRequest with everything that is wrong, or nil.
func (q *Query) Err() error {
	if len(q.problems) == 0 {
		return nil
	}
	return &invocation.Error{Code: invocation.MalformedRequest, Problems: q.problems}
}
