package strictjson

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Default limits (contract section 6 for the depth, SEC-32, SEC-33 and SEC-42).
const (
	DefaultDepth     = invocation.MaxNesting
	DefaultValues    = 20_000
	DefaultNumberLen = 40
)

// maxExponent bounds the written exponent of a number. The largest finite
// float64 needs 308; beyond a million exact arithmetic gives up, which a
// validator does not survive (SEC-33), and long before that it is slow.
const maxExponent = 1_000

// Limits bound a JSON text. A zero field but Bytes means its default.
type Limits struct {
	// Bytes is the largest size of the text. Zero means no limit: whoever reads
	// a body bounds it while reading.
	Bytes int
	// Depth is how many levels of objects and arrays may be nested; the
	// outermost one is level 1. A text that wraps a value of 64 levels in an
	// envelope needs 65.
	Depth int
	// Values is how many values a text may hold, objects and arrays included
	// and names not.
	Values int
	// NumberLen is how many bytes a number may be written with.
	NumberLen int
}

// Default returns the limits that hold where nothing else is said: 64 levels,
// 20,000 values and 40 bytes a number.
func Default() Limits { return Limits{}.WithDefaults() }

// WithDefaults returns l with every zero field but Bytes replaced.
func (l Limits) WithDefaults() Limits {
	l.Depth = cmp.Or(l.Depth, DefaultDepth)
	l.Values = cmp.Or(l.Values, DefaultValues)
	l.NumberLen = cmp.Or(l.NumberLen, DefaultNumberLen)
	return l
}

// Check reports whether b is one JSON text within the limits. The error is an
// [*Error].
func Check(b []byte, l Limits) error {
	s, err := newScanner(b, l)
	if err != nil {
		return err
	}
	for {
		if _, err := s.next(); err != nil {
			return err
		}
		if s.d.StackDepth() == 0 {
			return s.end()
		}
	}
}

// Depth returns how deeply the objects and arrays of b are nested: 0 for a
// scalar, 1 for {}. It does not judge b; of a text that [Check] would refuse it
// returns the depth of what looks like nesting.
func Depth(b []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = closingQuote(b, i+1)
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// closingQuote returns the index of the quote that ends the string whose text
// begins at i, or len(b).
func closingQuote(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return i
}

// A scanner reads the tokens of one text and keeps the limits.
type scanner struct {
	d      *jsontext.Decoder
	limits Limits
	values int
}

func newScanner(b []byte, l Limits) (*scanner, error) {
	if l.Bytes > 0 && len(b) > l.Bytes {
		return nil, refuse(TooLarge, "", "must NOT be larger than %d bytes", l.Bytes)
	}
	// A bytes.Buffer is read in place, without a copy.
	return &scanner{d: jsontext.NewDecoder(bytes.NewBuffer(b)), limits: l.WithDefaults()}, nil
}

// next reads one token. It is valid until the next call.
func (s *scanner) next() (jsontext.Token, error) {
	t, err := s.d.ReadToken()
	if err != nil {
		return t, syntax(err)
	}
	switch t.Kind() { //nolint:exhaustive // true, false and null are only counted
	case '}', ']':
		return t, nil
	case '{', '[':
		if s.d.StackDepth() > s.limits.Depth {
			return t, refuse(TooDeep, "", "must NOT be nested more than %d levels deep", s.limits.Depth)
		}
	case '0':
		if !inRange(t.String(), s.limits.NumberLen) {
			return t, refuse(NumberOutOfRange, s.d.StackPointer(),
				"must be a finite number written with at most %d characters", s.limits.NumberLen)
		}
	case '"':
		if kind, n := s.d.StackIndex(s.d.StackDepth()); kind == '{' && n%2 == 1 {
			return t, nil
		}
	}
	if s.values++; s.values > s.limits.Values {
		return t, refuse(TooManyValues, "", "must NOT have more than %d values", s.limits.Values)
	}
	return t, nil
}

// end reports an error unless nothing but white space follows.
func (s *scanner) end() error {
	_, err := s.d.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		err = errors.New("trailing data")
	}
	return syntax(err)
}

// inRange reports whether a number is short enough, finite as a float64 and
// within the exponents that exact arithmetic can hold.
func inRange(number string, maxLen int) bool {
	if len(number) > maxLen {
		return false
	}
	for i := range len(number) {
		if number[i]|0x20 != 'e' {
			continue
		}
		exp, err := strconv.Atoi(number[i+1:])
		if err != nil || exp > maxExponent || exp < -maxExponent {
			return false
		}
		_, err = strconv.ParseFloat(number, 64)
		return err == nil
	}
	// Without an exponent 308 digits and fewer are always finite.
	if len(number) <= 300 {
		return true
	}
	_, err := strconv.ParseFloat(number, 64)
	return err == nil
}
