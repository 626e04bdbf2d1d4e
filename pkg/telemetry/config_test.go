package telemetry

import (
	"strings"
	"testing"
)

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestTheStandardVariablesSayWhatIsTraced(t *testing.T) {
	t.Parallel()
	const local = defaultEndpoint + tracesPath
	for name, tc := range map[string]struct {
		env  map[string]string
		want plan
	}{
		"nothing set is off":                  {nil, plan{false, local, 1}},
		"an endpoint turns it on":             {map[string]string{envEndpoint: "http://col:4318"}, plan{true, "http://col:4318/v1/traces", 1}},
		"an endpoint with a path keeps it":    {map[string]string{envEndpoint: "https://col/otlp/"}, plan{true, "https://col/otlp/v1/traces", 1}},
		"the traces' endpoint is whole":       {map[string]string{envEndpoint: "http://a:1", envTracesEndpoint: "http://b:2/x"}, plan{true, "http://b:2/x", 1}},
		"the exporter turns it on":            {map[string]string{envExporter: "otlp"}, plan{true, local, 1}},
		"the exporter turns it off":           {map[string]string{envExporter: "none", envEndpoint: "http://a:1"}, plan{false, "http://a:1/v1/traces", 1}},
		"disabled wins and reads nothing":     {map[string]string{envDisabled: "TRUE", envExporter: "x"}, plan{}},
		"disabled with another word is not":   {map[string]string{envDisabled: "1", envExporter: "otlp"}, plan{true, local, 1}},
		"blank values count as absent":        {map[string]string{envExporter: " ", envEndpoint: ""}, plan{false, local, 1}},
		"a ratio":                             {map[string]string{envSampler: "traceidratio", envSamplerArg: "0.25"}, plan{false, local, .25}},
		"a parent-based ratio is the same":    {map[string]string{envSampler: "parentbased_traceidratio", envSamplerArg: "0"}, plan{false, local, 0}},
		"a ratio without argument is all":     {map[string]string{envSampler: "traceidratio"}, plan{false, local, 1}},
		"never":                               {map[string]string{envSampler: "always_off", envSamplerArg: "1"}, plan{false, local, 0}},
		"always":                              {map[string]string{envSampler: "parentbased_always_on", envSamplerArg: "x"}, plan{false, local, 1}},
		"the protocol we speak may be named":  {map[string]string{envProtocol: "http/protobuf"}, plan{false, local, 1}},
		"the traces' protocol hides the rest": {map[string]string{envProtocol: "grpc", envTracesProtocol: "http/protobuf"}, plan{false, local, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := planOf(lookup(tc.env))
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

func TestEveryWrongVariableIsNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"all at once": {
			map[string]string{envExporter: "zipkin", envEndpoint: "col:4318", envProtocol: "grpc", envSampler: "sometimes"},
			[]string{envExporter + `: "zipkin"`, envEndpoint + " is not an address", envProtocol + `: "grpc"`, envSampler + `: "sometimes"`},
		},
		"a ratio above one":       {map[string]string{envSampler: "traceidratio", envSamplerArg: "1.5"}, []string{envSamplerArg + `: "1.5"`}},
		"a ratio that is none":    {map[string]string{envSampler: "traceidratio", envSamplerArg: "NaN"}, []string{envSamplerArg + `: "NaN"`}},
		"an address of no use":    {map[string]string{envTracesEndpoint: "ftp://x"}, []string{envTracesEndpoint + " is not"}},
		"a password stays unsaid": {map[string]string{envEndpoint: "user:CANARY@host"}, []string{envEndpoint + " is not"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Setup(t.Context(), Config{LookupEnv: lookup(tc.env)})
			if err == nil {
				t.Fatal("got no error")
			}
			if got := strings.Split(err.Error(), "\n"); len(got) != len(tc.want) {
				t.Fatalf("got %q, want %d problems", got, len(tc.want))
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
			if strings.Contains(err.Error(), "CANARY") {
				t.Error("the error shows a password")
			}
		})
	}
}
