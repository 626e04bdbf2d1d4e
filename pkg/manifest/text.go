package manifest

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText makes a third party's text fit to be shown, logged and stored: at
// most limit code points, without control, bidirectional and tag characters
// and with invalid bytes replaced (SEC-22, SEC-59). Line breaks and tabs become
// single spaces. Markup stays: whoever shows the text escapes it.
func CleanText(s string, limit int) string {
	if clean(s) && len(s) <= limit {
		return s
	}
	var b strings.Builder
	count, space := 0, false
	for _, r := range s { // an invalid byte reads as U+FFFD
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			space = b.Len() > 0
			continue
		case hidden(r):
			continue
		}
		if space && r != ' ' {
			if count++; count > limit {
				break
			}
			b.WriteByte(' ')
		}
		space = false
		if count++; count > limit {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// clean reports whether a text is valid and has none of the characters that
// [CleanText] removes.
func clean(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) }

// hidden reports whether a character changes how the text around it looks, or
// hides text from people.
func hidden(r rune) bool {
	switch {
	case unicode.Is(unicode.Cc, r):
		return true
	case r == '\u061c' || r == '\u200e' || r == '\u200f': // direction marks
		return true
	case r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069': // embeddings, overrides, isolates
		return true
	case r >= '\u2028' && r <= '\u2029' || r == '\ufeff' || r >= '\ufff9' && r <= '\ufffb': // separators, BOM, annotations
		return true
	case r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	case r == '\u200b' || r >= '\u2060' && r <= '\u2064' || r == '\u180e' || r == '\u00ad': // without width; joiners make letters and emoji
		return true
	}
	return false
}
