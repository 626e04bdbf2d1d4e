package strictjson

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// canonicalDepth is more than any limit a caller sets, and little enough for
// the stack.
const canonicalDepth = 1_000

// plainDigits is the longest number that [Canonical] writes without exponent.
const plainDigits = 21

// Canonical returns the one spelling that all texts of the same JSON value
// share: no white space, names sorted by their bytes, strings with the fewest
// escapes, numbers by value, so that 1, 1.0 and 1e0 are the same and so are 0
// and -0. Numbers are compared as decimals and never pass through a float64
// (S-03), so 9007199254740993 and 9007199254740992 stay apart.
//
// It serves to compare: the input of a repeated call (contract section 6) and a
// manifest that is published again (contract section 5). It keeps the limits of
// a number and bounds nothing else but nesting, to 1,000 levels. The error is
// an [*Error].
func Canonical(b []byte) ([]byte, error) {
	v, err := Value(b, Limits{Depth: canonicalDepth, Values: len(b) + 1})
	if err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(b)), v), nil
}

func appendCanonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, name), ':')
			dst = appendCanonical(dst, v[name])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, x := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, x)
		}
		return append(dst, ']')
	case string:
		return appendString(dst, v)
	case json.Number:
		return appendNumber(dst, string(v))
	case bool:
		return strconv.AppendBool(dst, v)
	default:
		return append(dst, "null"...)
	}
}

func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // fails for invalid UTF-8 only, which no tree holds
	return dst
}

// appendNumber writes a JSON number by value: its significant digits and the
// power of ten behind them.
func appendNumber(dst []byte, number string) []byte {
	text, negative := strings.CutPrefix(number, "-")
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		exponent, _ = strconv.Atoi(text[i+1:]) // within ±1,000: the scanner has looked
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if short == "" {
		return append(dst, '0')
	}
	width := DefaultNumberLen
	if negative {
		dst = append(dst, '-')
		width--
	}
	point := len(short) + exponent // how many digits stand before the decimal point
	// What the scanner lets in must come out so that it does again.
	long := len(short)+len("e")+len(strconv.Itoa(exponent)) > width
	switch {
	case exponent == 0 || exponent > 0 && (point <= plainDigits || long):
		dst = append(dst, short...)
		return append(dst, strings.Repeat("0", exponent)...)
	case point > 0 && exponent < 0:
		dst = append(append(dst, short[:point]...), '.')
		return append(dst, short[point:]...)
	case exponent < 0 && point > -6 && len("0.")+len(short)-point <= width:
		dst = append(append(dst, "0."...), strings.Repeat("0", -point)...)
		return append(dst, short...)
	default:
		dst = append(append(dst, short...), 'e')
		return strconv.AppendInt(dst, int64(exponent), 10)
	}
}
