package invocation_test

import (
	"slices"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestFieldsAreNamedByPointerOrByName(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]struct {
		tokens  []string
		pointer string
	}{
		"habitName":   {[]string{"habitName"}, "/habitName"},
		"/habitName":  {[]string{"habitName"}, "/habitName"},
		"/a/0/b":      {[]string{"a", "0", "b"}, "/a/0/b"},
		"/a~1b/c~0d":  {[]string{"a/b", "c~d"}, "/a~1b/c~0d"},
		"/~01":        {[]string{"~1"}, "/~01"},
		"a/b~c":       {[]string{"a/b~c"}, "/a~1b~0c"},
		"/":           {[]string{""}, "/"},
		"/a/":         {[]string{"a", ""}, "/a/"},
		"":            {},
		"/a~2":        {},
		"/trailing~":  {},
		"/a~/b":       {},
		"/double~~1x": {},
	} {
		tokens, pointer, ok := invocation.ParseField(field)
		if ok != (want.pointer != "") || pointer != want.pointer || !slices.Equal(tokens, want.tokens) {
			t.Errorf("%q: got %q, %q, %t; want %q, %q", field, tokens, pointer, ok, want.tokens, want.pointer)
		}
	}
}
