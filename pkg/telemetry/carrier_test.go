package telemetry_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

// natsHeader has the type that the NATS client's headers have below their name.
type natsHeader map[string][]string

func TestHeadersAreReadInAnyCase(t *testing.T) {
	t.Parallel()
	const foreign = foreignParent
	for name, tc := range map[string]struct {
		headers natsHeader
		want    string
	}{
		"lower case":                   {natsHeader{"traceparent": {foreign}}, foreign},
		"canonical, as HTTP reads it":  {natsHeader{"Traceparent": {foreign}}, foreign},
		"any case":                     {natsHeader{"TRACEparent": {foreign}, "X": {"y"}}, foreign},
		"not sampled":                  {natsHeader{"traceparent": {foreign[:53] + "00"}}, foreign[:53] + "00"},
		"a later version":              {natsHeader{"traceparent": {"01" + foreign[2:] + "-more"}}, foreign},
		"none":                         {natsHeader{"tracestate": {"a=b"}}, ""},
		"no value":                     {natsHeader{"traceparent": {}}, ""},
		"two values":                   {natsHeader{"traceparent": {foreign, foreign}}, ""},
		"two spellings":                {natsHeader{"traceparent": {foreign}, "Traceparent": {foreign}}, ""},
		"nonsense":                     {natsHeader{"traceparent": {"a-b-c-d"}}, ""},
		"an all-zero trace id":         {natsHeader{"traceparent": {"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"}}, ""},
		"upper-case digits":            {natsHeader{"traceparent": {strings.ToUpper(foreign)}}, ""},
		"far too long":                 {natsHeader{"traceparent": {foreign + strings.Repeat("-x", 1<<16)}}, ""},
		"an invalid version":           {natsHeader{"traceparent": {"ff" + foreign[2:]}}, ""},
		"a value with a line break":    {natsHeader{"traceparent": {foreign + "\r\nX: y"}}, ""},
		"nil headers":                  {nil, ""},
		"another header of same sense": {natsHeader{"b3": {foreign}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := telemetry.Traceparent(telemetry.Extract(t.Context(), tc.headers)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNATSHeadersAreWrittenInLowerCase(t *testing.T) {
	t.Parallel()
	ctx := telemetry.Extract(t.Context(), natsHeader{"Traceparent": {foreignParent}, "tracestate": {"a=b"}})
	h := natsHeader{"Traceparent": {"old"}, "Nats-Msg-Id": {"1"}}
	telemetry.Inject(ctx, h)
	want := natsHeader{"traceparent": {foreignParent}, "Nats-Msg-Id": {"1"}}
	if !maps.EqualFunc(h, want, func(a, b []string) bool { return len(a) == 1 && a[0] == b[0] }) {
		t.Errorf("got %v, want %v", h, want)
	}
	empty := natsHeader{}
	telemetry.Inject(t.Context(), empty)
	if len(empty) != 0 {
		t.Errorf("got %v without a trace, want nothing", empty)
	}
}

func TestPartnersGetATraceparentAndNothingElse(t *testing.T) {
	t.Parallel()
	tel, _ := telemetrytest.New(t)
	chain := telemetry.WithChain(t.Context(), telemetry.Chain{CorrelationID: "c"})
	recorded, span := tel.Publish(chain, "x")
	defer span.End(nil)
	for name, tc := range map[string]struct {
		ctx            func() context.Context
		prefix, suffix string
	}{
		"a recorded span":          {func() context.Context { return recorded }, "00-" + telemetry.TraceIDOf("c"), "-01"},
		"a chain with tracing off": {func() context.Context { return chain }, "00-" + telemetry.TraceIDOf("c"), "-00"},
		"neither":                  {t.Context, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{"Tracestate": {"a=b"}, "Baggage": {"user=1"}, "X": {"y"}}
			telemetry.InjectPartner(tc.ctx(), h)
			got := h.Get("traceparent")
			if !strings.HasPrefix(got, tc.prefix) || !strings.HasSuffix(got, tc.suffix) || (tc.prefix == "") != (got == "") {
				t.Errorf("got %q, want %s…%s", got, tc.prefix, tc.suffix)
			}
			if got != "" && len(got) != 55 {
				t.Errorf("got %q, want 55 bytes", got)
			}
			if h.Get("tracestate") != "" || h.Get("baggage") != "" || h.Get("X") != "y" {
				t.Errorf("got %v", h)
			}
		})
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("traceparent", foreignParent)
	f.Add("TraceParent", "00-")
	f.Fuzz(func(t *testing.T, name, value string) {
		got := telemetry.Traceparent(telemetry.Extract(t.Context(), natsHeader{name: {value}}))
		if got != "" && (len(got) != 55 || !strings.EqualFold(name, "traceparent")) {
			t.Errorf("got %q from %q: %q", got, name, value)
		}
	})
}
