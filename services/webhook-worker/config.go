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
	// Grace is what running POSTs get to finish at the end; zero means 15 s,
	// more than the 10 s of an attempt.
	Grace time.Duration
}

// WithDefaults fills what was left zero.
func (c Config) WithDefaults() Config {
	if c.Retries == nil {
		c.Retries = deliver.ContractSchedule()
	}
	c.Slots = cmp.Or(c.Slots, 8)
	c.Line = cmp.Or(c.Line, 64)
	c.Grace = cmp.Or(c.Grace, 15*time.Second)
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
	return errors.Join(problems...)
}

// Register adds the worker's own settings.
func (c *Config) Register(s *service.Settings) {
	var retries []string
	s.StringList(&retries, "delivery-retries", []string{"1m", "2m", "4m", "8m"}, "waits before the attempts to deliver a webhook after the first")
	s.Int(&c.Slots, "delivery-slots", 8, "webhooks that one endpoint gets at a time")
	s.Int(&c.Line, "delivery-line", 64, "webhooks of one endpoint that wait for a slot in memory; others wait in the queue")
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
