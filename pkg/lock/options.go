package lock

import (
	"encoding/json"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Options returns the choices of an input field of a built-in command, as they
// are configured on the lock: the habits of penalties, and the tasks. It returns
// false for a field without.
func Options(s State, id invocation.CapabilityID, field, search string) (invocation.Options, bool) {
	var all []invocation.Option
	switch {
	case id.Slug() == penalty && field == "/habitName" && s.Apps.Penalty != nil:
		for _, h := range s.Apps.Penalty.Habits {
			all = append(all, invocation.Option{Value: json.RawMessage(encoded(h.Name)), Label: h.Title})
		}
	case id == "tasks.assign" && field == "/task/task" && s.Apps.Tasks != nil:
		for _, t := range s.Apps.Tasks.Configured {
			all = append(all, invocation.Option{Value: json.RawMessage(encoded(t.Task)), Label: t.Task})
		}
	default:
		return invocation.Options{}, false
	}
	var out invocation.Options
	for _, o := range all {
		if strings.Contains(strings.ToLower(o.Label), strings.ToLower(search)) {
			out.List = append(out.List, o)
		}
	}
	return out, true
}
