package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
	"github.com/latchwire/latchwire/pkg/service"
)

// A SecretsConfig says under which keys the secrets of extensions are stored:
// keys of 32 bytes in base64, separated by commas, of which the first seals and
// all open. Without one they are stored in the clear.
type SecretsConfig struct {
	Key  service.Secret
	File string
}

func (c *SecretsConfig) register(s *service.Settings) {
	s.Secret(&c.Key, "secrets-key", "keys that secrets of extensions are stored under, each base64 of 32 bytes, separated by commas: the first seals, all open; none stores them in the clear")
	s.String(&c.File, "secrets-key-file", "", "file with the keys, instead of secrets-key")
	s.Check(func() error {
		if c.Key != "" && c.File != "" {
			return errors.New("secrets-key and secrets-key-file are both given, must be one")
		}
		_, err := c.Keys()
		return err
	})
}

// Keys returns the keys, the zero value if none are configured. The error names
// the setting and shows no key.
func (c SecretsConfig) Keys() (sealed.Keys, error) {
	name, text := "secrets-key", c.Key.Reveal()
	if c.File != "" {
		name = "secrets-key-file"
		data, err := os.ReadFile(c.File)
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err // without the path, which may be a key that was given in the wrong place
		}
		if err != nil {
			return sealed.Keys{}, fmt.Errorf("%s: %w", name, err)
		}
		text = string(data)
	} else if text == "" {
		return sealed.Keys{}, nil
	}
	keys, err := sealed.ParseKeys(text)
	if err != nil {
		return sealed.Keys{}, fmt.Errorf("%s: %w", name, err)
	}
	return keys, nil
}

// warnOfSecrets tells whoever runs more than a development machine that secrets
// are stored in the clear, and anybody that some don't open: what is to be sent
// to those extensions waits.
func (p *Platform) warnOfSecrets(ctx context.Context, keys sealed.Keys) error {
	if keys.IsZero() && production(p.Config.Profile) {
		p.Log.LogAttrs(ctx, slog.LevelWarn, "secrets of extensions are stored in the clear: no secrets-key is set", slog.String("profile", p.Config.Profile))
	}
	locked, err := p.Registry.Unopened(ctx)
	if len(locked) > 0 {
		p.Log.LogAttrs(ctx, slog.LevelError, "secrets of extensions don't open: their key is not among the secrets keys",
			slog.Int("extensions", len(locked)), slog.Any("some", locked[:min(len(locked), maxNamed)]), slog.Any("keys", keys.IDs()))
	}
	return err
}

// maxNamed is how many extensions a log line names.
const maxNamed = 10

// Reseal stores the secrets of extensions under the first secrets key, so that
// others can be dropped. Without a key it does nothing.
func Reseal(ctx context.Context, conn *broker.Conn, cfg Config, to *slog.Logger) error {
	keys, err := cfg.Secrets.Keys()
	if err != nil || keys.IsZero() {
		return err
	}
	r, err := registry.Open(ctx, conn, keys, to)
	if err != nil {
		return err
	}
	n, err := r.Reseal(ctx)
	if n > 0 {
		to.LogAttrs(ctx, slog.LevelInfo, "secrets were stored under the first secrets key", slog.Int("extensions", n))
	}
	return err
}
