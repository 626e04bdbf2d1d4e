package latchwire

import (
	"context"
	"errors"
	"fmt"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
)

// Command runs the subcommand that the arguments name; without one it runs the
// pipeline.
func Command(ctx context.Context, p service.Process) error {
	name := "run"
	if len(p.Args) > 0 && p.Args[0] != "" && p.Args[0][0] != '-' {
		name, p.Args = p.Args[0], p.Args[1:]
	}
	switch name {
	case "run":
		return run(ctx, p)
	case "setup":
		return setup(ctx, p)
	case "nkeys":
		return nkeys(p)
	case "receiver-test":
		return receiverTest(ctx, p)
	case "help":
		return help(p)
	}
	return errors.Join(fmt.Errorf("unknown command %q", name), help(p))
}

func help(p service.Process) error {
	_, err := fmt.Fprint(p.Stderr, `latchwire COMMAND [FLAGS]

  run             the whole pipeline in this process, with NATS embedded (the default)
  setup           create or update the streams in NATS that the services use
  nkeys DIR       make the keys that the services authenticate to NATS with
  receiver-test   send a receiver of webhooks what it must cope with, and grade it

Each command lists its flags with --help.
`)
	return err
}

// setup creates the topology in an external NATS.
func setup(ctx context.Context, p service.Process) error {
	var cfg platform.Config
	var logs service.LogConfig
	s := service.NewSettings("latchwire setup", "Creates or updates the streams in NATS that the services use.")
	cfg.Register(s)
	logs.Register(s)
	if err := s.Load(p); err != nil {
		return err
	}
	cfg.Broker.Name, cfg.Broker.InboxPrefix = "latchwire setup", platform.InboxPrefix("setup")
	log := service.NewLogger(p.Stderr, logs, telemetry.LogHandler)
	conn, err := broker.Connect(cfg.Broker, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := platform.Setup(ctx, conn, cfg.Ledger); err != nil {
		return fmt.Errorf("set up the streams: %w", err)
	}
	if err := platform.Reseal(ctx, conn, cfg, log); err != nil {
		return fmt.Errorf("store secrets under the first secrets key: %w", err)
	}
	_, err = fmt.Fprintf(p.Stdout, "The streams stand: profile %s, %d partitions.\n", cfg.Profile, cfg.Ledger.Partitions)
	return err
}
