package target_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/services/dispatcher/internal/target"
)

func TestReadOptions(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		return `{"options":[` + strings.TrimSuffix(strings.Repeat(`{"value":1,"label":"x"},`, n), ",") + `]}`
	}
	for name, tc := range map[string]struct {
		status int
		body   string
		want   string // the options as "value label description", the last one "more"; empty for none at all
	}{
		"two":                   {200, `{"options":[{"value":"a","label":"A","description":"d"},{"value":2.50,"label":"B"}]}`, `"a" A d|2.50 B `},
		"more":                  {201, `{"options":[{"value":true,"label":"A","description":null,"icon":1}],"hasMore":true,"page":2}`, `true A |more`},
		"texts are cleaned":     {200, `{"options":[{"value":"a","label":"A\u202e\u0000B","description":"x\u200fy"}]}`, `"a" AB xy`},
		"a long label is cut":   {200, `{"options":[{"value":"a","label":"` + strings.Repeat("l", 201) + `"}]}`, `"a" ` + strings.Repeat("l", 200) + ` `},
		"none":                  {200, `{"options":[]}`, "none"},
		"SEC-62: not JSON":      {200, `<html>`, ""},
		"SEC-62: 500":           {500, `{"options":[]}`, ""},
		"a redirect":            {302, `{"options":[]}`, ""},
		"no list":               {200, `{}`, ""},
		"null":                  {200, `{"options":null}`, ""},
		"another shape":         {200, `{"options":{"a":1}}`, ""},
		"an option of text":     {200, `{"options":["a"]}`, ""},
		"without a value":       {200, `{"options":[{"label":"A"}]}`, ""},
		"null as a value":       {200, `{"options":[{"value":null,"label":"A"}]}`, ""},
		"an object as a value":  {200, `{"options":[{"value":{},"label":"A"}]}`, ""},
		"a list as a value":     {200, `{"options":[{"value":[1],"label":"A"}]}`, ""},
		"a huge value":          {200, `{"options":[{"value":"` + strings.Repeat("v", 5000) + `","label":"A"}]}`, ""},
		"without a label":       {200, `{"options":[{"value":1}]}`, ""},
		"an empty label":        {200, `{"options":[{"value":1,"label":""}]}`, ""},
		"an invisible label":    {200, `{"options":[{"value":1,"label":"\u200f"}]}`, ""},
		"names twice":           {200, `{"options":[],"options":[]}`, ""},
		"names in another case": {200, `{"Options":[]}`, ""},
		"more as text":          {200, `{"options":[],"hasMore":"yes"}`, ""},
		"3,000 are cut":         {200, many(3_000), strings.Repeat("1 x |", 50) + "more"},
		"SEC-62: 10,000":        {200, many(10_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, err := target.ReadOptions(tc.status, []byte(tc.body))
			var parts []string
			for _, o := range options.List {
				parts = append(parts, fmt.Sprintf("%s %s %s", o.Value, o.Label, o.Description))
			}
			if options.HasMore {
				parts = append(parts, "more")
			}
			if err == nil && len(parts) == 0 {
				parts = append(parts, "none")
			}
			if got := strings.Join(parts, "|"); got != tc.want {
				t.Errorf("got %.200q, %v; want %.200q", got, err, tc.want)
			}
		})
	}
}
