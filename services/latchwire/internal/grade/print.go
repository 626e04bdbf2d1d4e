package grade

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Print writes a line for each case, and the grade at the end.
func (r Report) Print(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s\n\n", r.URL); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range r.Cases {
		if _, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Verdict, c.Name, c.Sent, c.Got, c.Took.Round(time.Millisecond), c.Why); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d of %d", r.Count(Pass), len(r.Cases))
	if warned := r.Count(Warn); err == nil && warned > 0 {
		_, err = fmt.Fprintf(w, ", warnings: %d", warned)
	}
	if err == nil {
		_, err = fmt.Fprintln(w)
	}
	return err
}

// PrintJSON writes the same as one JSON document; durations are in
// milliseconds.
func (r Report) PrintJSON(w io.Writer) error {
	type line struct {
		Name    string  `json:"name"`
		Verdict Verdict `json:"verdict"`
		Sent    string  `json:"sent"`
		Got     string  `json:"got"`
		TookMS  int64   `json:"tookMs"`
		Why     string  `json:"why"`
	}
	lines := make([]line, 0, len(r.Cases))
	for _, c := range r.Cases {
		lines = append(lines, line{c.Name, c.Verdict, c.Sent, c.Got, c.Took.Milliseconds(), c.Why})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		URL    string `json:"url"`
		Cases  []line `json:"cases"`
		Passed int    `json:"passed"`
		Warned int    `json:"warned"`
		Failed int    `json:"failed"`
		Total  int    `json:"total"`
	}{r.URL, lines, r.Count(Pass), r.Count(Warn), r.Count(Fail), len(r.Cases)})
}
