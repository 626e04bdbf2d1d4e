package latchwire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/latchwire/internal/grade"
)

// receiverSettings are the settings of `latchwire receiver-test`.
type receiverSettings struct {
	grade.Config
	urls             []string
	secret           service.Secret
	command, session string
	json             bool
}

func (c *receiverSettings) register(s *service.Settings) {
	s.Args(&c.urls, "URL")
	s.Secret(&c.secret, "secret", "the receiver's signing secret, whsec_ or whsk_; of several, separated by spaces, the first")
	s.String(&c.command, "command", "", "a command of the extension, such as my-ext.do-it; it is really called")
	s.String(&c.Input, "input", "", "the command's input, a JSON object")
	s.String(&c.session, "session", "", "a session id that the receiver knows; empty makes one up")
	s.Duration(&c.Timeout, "timeout", invocation.CallTimeout, "how long an answer may take")
	s.Bool(&c.json, "json", false, "print the report as JSON")
	s.Check(c.check)
}

// check completes the config of what the settings say.
func (c *receiverSettings) check() error {
	var problems []error
	if len(c.urls) != 1 {
		problems = append(problems, errors.New("give one URL: latchwire receiver-test URL --secret whsec_…"))
	}
	secret, err := firstSecret(c.secret.Reveal())
	if err != nil {
		problems = append(problems, fmt.Errorf("--secret: %w", err))
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	c.URL, c.Secret = c.urls[0], secret
	c.Command, c.Session = invocation.CapabilityID(c.command), invocation.SessionID(c.session)
	return c.Validate()
}

// firstSecret reads secrets separated by spaces, as an extension that rotates has
// several, and returns the first.
func firstSecret(text string) (egress.Secret, error) {
	text, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if rest != "" {
		if _, err := firstSecret(rest); err != nil {
			return egress.Secret{}, err
		}
	}
	return egress.ParseSecret(text)
}

// receiverTest tries a receiver of webhooks. The error says that it failed.
func receiverTest(ctx context.Context, p service.Process) error {
	var cfg receiverSettings
	s := service.NewSettings("latchwire receiver-test", "Sends a receiver of webhooks what it must cope with, and grades it.")
	cfg.register(s)
	if err := s.Load(p); err != nil {
		return err
	}
	report, err := grade.Run(ctx, cfg.Config)
	if err != nil {
		return err
	}
	show := report.Print
	if cfg.json {
		show = report.PrintJSON
	}
	if err := show(p.Stdout); err != nil {
		return err
	}
	if failed := report.Count(grade.Fail); failed > 0 {
		return fmt.Errorf("the receiver failed %d of %d cases", failed, len(report.Cases))
	}
	return nil
}
