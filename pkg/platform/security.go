package platform

import (
	"errors"
	"fmt"
	"strings"

	"github.com/latchwire/latchwire/pkg/service"
)

// InboxPrefix returns where a service's answers arrive, so that the permissions
// in NATS can keep each service to its own (SEC-110).
func InboxPrefix(service string) string { return "_INBOX_" + service }

// registerSecurity adds how the process and NATS know each other, and what a
// profile demands of that.
func (c *Config) registerSecurity(s *service.Settings) {
	s.String(&c.Broker.Credentials, "nats-nkey", "", "file with the nkey seed to authenticate to NATS with")
	s.String(&c.Broker.CA, "nats-ca", "", "file with the authorities that NATS' certificate is checked against; with it TLS is demanded, as with a tls:// URL")
	s.String(&c.Broker.Cert, "nats-cert", "", "file with the certificate that the process shows NATS; needs nats-key")
	s.String(&c.Broker.Key, "nats-key", "", "file with the key of nats-cert")
	var meant bool
	s.Bool(&meant, "nats-exposed-in-production", false, "lets another profile than dev reach NATS on another machine without an nkey or without TLS")
	s.Check(func() error {
		if (c.Broker.Cert == "") != (c.Broker.Key == "") {
			return errors.New("nats-cert and nats-key need each other")
		}
		if problems := c.Broker.Exposed(); len(problems) > 0 && production(c.Profile) && !meant {
			return fmt.Errorf("nats-url leads to another machine, %s; the profile %s wants nats-nkey and tls:// or nats-ca, or nats-exposed-in-production",
				strings.Join(problems, " and "), c.Profile)
		}
		return nil
	})
}
