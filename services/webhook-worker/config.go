package webhookworker

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/deliver"
)

// A Config sizes the worker. Its zero value is the contract's figures.
type Config struct {
	// Retries are the waits before the attempts after the first; nil means
	// about 1, 2, 4 and 8 minutes (contract section 8).
	Retries []time.Duration
	// Slots is how many POSTs one endpoint gets at a time from a replica; zero
	// means 8.
	Slots int
	// Line is how many of an endpoint's deliveries wait for a slot; what comes
	// beyond is handed back to the queue. Zero means 64.
	Line int
	// Pool is how many places to wait all endpoints share beside their lines;
	// one with a burst gets a third. Zero means 6144.
	Pool int
	// Circuit says when an endpoint that fails is left alone; zero fields mean
	// 20 failures over 5 minutes, probes after 30 s to 5 minutes, and 5 days.
	Circuit Circuit
	// Grace is what running POSTs get to finish at the end; zero means 15 s,
	// more than the 10 s of an attempt.
	Grace time.Duration
}

// A Circuit is [deliver.Circuit], which explains its fields.
type Circuit deliver.Circuit

// WithDefaults fills what was left zero.
func (c Config) WithDefaults() Config {
	if c.Retries == nil {
		c.Retries = deliver.ContractSchedule()
	}
	c.Slots = cmp.Or(c.Slots, 8)
	c.Line = cmp.Or(c.Line, 64)
	c.Pool = cmp.Or(c.Pool, deliver.Pool)
	c.Grace = cmp.Or(c.Grace, 15*time.Second)
	c.Circuit.Failures = cmp.Or(c.Circuit.Failures, 20)
	c.Circuit.After = cmp.Or(c.Circuit.After, 5*time.Minute)
	c.Circuit.FirstProbe = cmp.Or(c.Circuit.FirstProbe, 30*time.Second)
	c.Circuit.MostProbe = cmp.Or(c.Circuit.MostProbe, 5*time.Minute)
	c.Circuit.Suspend = cmp.Or(c.Circuit.Suspend, 5*24*time.Hour)
	return c
}

// maxRetries keeps the attempts of a delivery to one digit.
const maxRetries = 8

// Validate reports every value that cannot work.
func (c Config) Validate() error {
	var problems []error
	if len(c.Retries) > maxRetries {
		problems = append(problems, fmt.Errorf("delivery retries are %d, must be at most %d", len(c.Retries), maxRetries))
	}
	for _, d := range c.Retries {
		if d <= 0 {
			problems = append(problems, fmt.Errorf("a delivery retry after %s, must be later than at once", d))
		}
	}
	if c.Slots < 1 {
		problems = append(problems, fmt.Errorf("delivery slots is %d, must be at least 1", c.Slots))
	}
	if c.Line < 0 {
		problems = append(problems, fmt.Errorf("delivery line is %d, must not be negative", c.Line))
	}
	if c.Pool < 0 {
		problems = append(problems, fmt.Errorf("delivery pool is %d, must not be negative", c.Pool))
	}
	if c.Circuit.Failures < 1 {
		problems = append(problems, fmt.Errorf("circuit failures is %d, must be at least 1", c.Circuit.Failures))
	}
	for name, d := range map[string]time.Duration{
		"circuit after": c.Circuit.After, "circuit probe": c.Circuit.FirstProbe, "circuit most probe": c.Circuit.MostProbe, "circuit suspend": c.Circuit.Suspend,
	} {
		if d < 0 {
			problems = append(problems, fmt.Errorf("%s is %s, must not be negative", name, d))
		}
	}
	return errors.Join(problems...)
}

// Register adds the worker's own settings.
func (c *Config) Register(s *service.Settings) {
	var retries []string
	s.StringList(&retries, "delivery-retries", []string{"1m", "2m", "4m", "8m"}, "waits before the attempts to deliver a webhook after the first")
	s.Int(&c.Slots, "delivery-slots", 8, "webhooks that one endpoint gets at a time")
	s.Int(&c.Line, "delivery-line", 64, "webhooks of one endpoint that wait for a slot in memory; others wait in the queue")
	s.Int(&c.Pool, "delivery-pool", deliver.Pool, "places to wait that endpoints share beside that")
	s.Int(&c.Circuit.Failures, "circuit-failures", 20, "failures in a row after which an endpoint is only probed")
	s.Duration(&c.Circuit.After, "circuit-after", 5*time.Minute, "how long they must have gone on for that")
	s.Duration(&c.Circuit.FirstProbe, "circuit-probe", 30*time.Second, "wait for the first probe; each that fails doubles it, up to 5m")
	s.Duration(&c.Circuit.Suspend, "circuit-suspend", 5*24*time.Hour, "how long an endpoint may fail before it is disabled")
	s.Check(func() error {
		parsed, err := durations(retries)
		c.Retries = parsed
		return errors.Join(err, c.WithDefaults().Validate())
	})
}

func durations(texts []string) ([]time.Duration, error) {
	all := make([]time.Duration, 0, len(texts))
	for _, t := range texts {
		d, err := time.ParseDuration(t)
		if err != nil {
			return nil, fmt.Errorf("--delivery-retries: %q is not a list of durations such as 1m,2m", strings.Join(texts, ","))
		}
		all = append(all, d)
	}
	return all, nil
}
