package service

import (
	"errors"
	"io"
	"log/slog"
)

// The log formats.
const (
	// LogJSON writes one JSON object a line, for machines.
	LogJSON = "json"
	// LogText writes key=value pairs, for people at a terminal.
	LogText = "text"
)

// LogConfig says how a process logs. Its zero value is JSON from level info up.
type LogConfig struct {
	// Format is [LogJSON] or [LogText].
	Format string
	// Level is the lowest level that is written.
	Level slog.Level
}

// Register adds --log-format and --log-level.
func (c *LogConfig) Register(s *Settings) {
	s.Choice(&c.Format, "log-format", []string{LogJSON, LogText}, "How log lines look.")
	s.add(&item{
		name: "log-level", usage: "The lowest level that is logged.", kind: "debug|info|warn|error", shown: "info",
		set: func(v string) error {
			if c.Level.UnmarshalText([]byte(v)) != nil {
				return errors.New("is not one of debug, info, warn, error")
			}
			return nil
		},
	})
}

// NewLogger returns a logger that writes to w. Each wrap gets the handler built
// so far and returns the one to use, such as the one that adds trace ids.
func NewLogger(w io.Writer, cfg LogConfig, wrap ...func(slog.Handler) slog.Handler) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cfg.Level}
	var h slog.Handler = slog.NewJSONHandler(w, opts)
	if cfg.Format == LogText {
		h = slog.NewTextHandler(w, opts)
	}
	for _, f := range wrap {
		h = f(h)
	}
	return slog.New(h)
}
