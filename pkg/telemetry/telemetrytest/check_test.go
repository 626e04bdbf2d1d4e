package telemetrytest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

func TestACheckFindsBrokenChains(t *testing.T) {
	t.Parallel()
	in := func(chain string) map[string]string { return map[string]string{"chain.correlation_id": chain} }
	id := telemetry.TraceIDOf("c")
	root := telemetrytest.Span{Name: "root", TraceID: id, SpanID: "1", Attrs: in("c")}
	for name, tc := range map[string]struct {
		span    telemetrytest.Span
		problem bool
		island  bool
	}{
		"a child":                {telemetrytest.Span{TraceID: id, SpanID: "2", ParentID: "1", Attrs: in("c")}, false, false},
		"a linked root":          {telemetrytest.Span{TraceID: id, SpanID: "2", Links: []telemetrytest.Link{{SpanID: "1"}}, Attrs: in("c")}, false, false},
		"a second trace":         {telemetrytest.Span{TraceID: "f", SpanID: "2", ParentID: "1", Attrs: in("c")}, true, false},
		"an orphan":              {telemetrytest.Span{TraceID: id, SpanID: "2", ParentID: "9", Attrs: in("c")}, true, true},
		"an island":              {telemetrytest.Span{TraceID: id, SpanID: "2", Attrs: in("c"), Start: time.Now()}, false, true},
		"events":                 {telemetrytest.Span{SpanID: "2", Events: 1}, true, false},
		"a span without a chain": {telemetrytest.Span{SpanID: "2", ParentID: "9"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spans := []telemetrytest.Span{root, tc.span}
			if got := len(telemetrytest.Problems(spans)) > 0; got != tc.problem {
				t.Errorf("got problems %v, want %v", telemetrytest.Problems(spans), tc.problem)
			}
			if got := len(telemetrytest.Islands(spans)) > 0; got != tc.island {
				t.Errorf("got islands %v, want %v", telemetrytest.Islands(spans), tc.island)
			}
		})
	}
}

func TestSpansThatNeverEndAreNamed(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	_, open := tel.Publish(t.Context(), "a")
	_, done := tel.Publish(t.Context(), "b")
	done.End(nil)
	if got := spans.Open(); len(got) != 1 || got[0] != "publish a" {
		t.Errorf("got %v, want publish a", got)
	}
	open.End(nil)
	spans.CheckChains(t)
}

func ExampleProblems() {
	spans := []telemetrytest.Span{{
		Name: "process inv.p.req", TraceID: telemetry.TraceIDOf("c"), SpanID: "2", ParentID: "1",
		Attrs: map[string]string{"chain.correlation_id": "c"},
	}}
	_, _ = fmt.Println(telemetrytest.Problems(spans)[0])
	// Output: span "process inv.p.req" of chain c is an orphan: nobody recorded its parent 1
}
