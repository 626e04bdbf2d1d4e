package telemetry

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
)

// A Config says what is observed and where it goes. Its zero value is a
// nameless process with tracing off.
type Config struct {
	// Name and Version of the service, as traces and metrics show them.
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
	Name, Version string
	// LookupEnv finds the OTEL_* variables. Nil finds none.
	LookupEnv func(string) (string, bool)
	// Log is told when spans can't be exported. Nil discards it.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.LookupEnv == nil {
		c.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envSampler        = "OTEL_TRACES_SAMPLER"
	envSamplerArg     = "OTEL_TRACES_SAMPLER_ARG"

	defaultEndpoint = "http://localhost:4318"
	tracesPath      = "/v1/traces"
)

// plan is what the standard variables ask for.
type plan struct {
	on       bool
	endpoint string  // the address to post spans to
	ratio    float64 // of traces that are kept, 0 to 1
}

// planOf reads the standard variables. Its error names every wrong one.
func planOf(lookup func(string) (string, bool)) (plan, error) {
	get := func(names ...string) (name, value string) {
		for _, n := range names {
			if v, ok := lookup(n); ok && strings.TrimSpace(v) != "" {
				return n, strings.TrimSpace(v)
			}
		}
		return names[0], ""
	}
	if _, v := get(envDisabled); strings.EqualFold(v, "true") {
		return plan{}, nil
	}
	var p plan
	var problems [4]error
	p.on, problems[0] = wanted(get)
	p.endpoint, problems[1] = endpoint(get)
	p.ratio, problems[2] = ratio(get)
	if name, v := get(envTracesProtocol, envProtocol); v != "" && v != "http/protobuf" {
		problems[3] = fmt.Errorf("%s: %q is not http/protobuf, the one protocol there is", name, v)
	}
	if err := errors.Join(problems[:]...); err != nil {
		return plan{}, err
	}
	return p, nil
}

type getter func(names ...string) (name, value string)

func wanted(get getter) (bool, error) {
	switch name, v := get(envExporter); v {
	case "":
		_, e := get(envTracesEndpoint, envEndpoint)
		return e != "", nil
	case "otlp":
		return true, nil
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("%s: %q is not one of otlp, none", name, v)
	}
}

// endpoint returns the address for spans: the one for traces as it is, else the
// one for all signals with the path of traces behind it.
func endpoint(get getter) (string, error) {
	name, v := get(envTracesEndpoint)
	whole := v != ""
	if !whole {
		name, v = get(envEndpoint)
	}
	if v == "" {
		v = defaultEndpoint
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s is not an address such as %s", name, defaultEndpoint)
	}
	if !whole {
		u = u.JoinPath(tracesPath)
	}
	return u.String(), nil
}

// ratio reads the standard samplers as the share of traces they keep. Whether a
// sampler follows its parent is not theirs to say here: see [sampler].
func ratio(get getter) (float64, error) {
	switch name, v := get(envSampler); v {
	case "", "always_on", "parentbased_always_on":
		return 1, nil
	case "always_off", "parentbased_always_off":
		return 0, nil
	case "traceidratio", "parentbased_traceidratio":
		name, arg := get(envSamplerArg)
		if arg == "" {
			return 1, nil
		}
		r, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(r >= 0 && r <= 1) {
			return 0, fmt.Errorf("%s: %q is not a number from 0 to 1", name, arg)
		}
		return r, nil
	default:
		return 0, fmt.Errorf("%s: %q is not one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio", name, v)
	}
}
