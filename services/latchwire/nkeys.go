package latchwire

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/service"
)

// natsUsers are the users of deploy/nats/accounts.conf: each service, and setup.
func natsUsers() []string {
	return []string{"edge-api", "mcp", "dispatcher", "webhook-worker", "setup"}
}

// publicKeys is the file that deploy/nats/accounts.conf includes.
const publicKeys = "nkeys.conf"

// nkeys writes a key for each user of NATS into a folder: the seed, for its
// service alone, and the public keys, for the server. It replaces nothing, so a
// new set goes to a new folder.
func nkeys(p service.Process) error {
	var dirs []string
	s := service.NewSettings("latchwire nkeys", "Makes the keys that the services authenticate to NATS with.")
	s.Args(&dirs, "DIR")
	s.Check(func() error {
		if len(dirs) != 1 {
			return errors.New("one argument is needed: the folder to write to")
		}
		return nil
	})
	if err := s.Load(p); err != nil {
		return err
	}
	dir := dirs[0]
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	var public bytes.Buffer
	public.WriteString("# The public keys of the services, made by latchwire nkeys.\n")
	for _, user := range natsUsers() {
		seed, key, err := broker.NewNkey()
		if err != nil {
			return err
		}
		if err := create(filepath.Join(dir, user+".nk"), append(seed, '\n'), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(&public, "%s: %q\n", keyVariable(user), key)
	}
	if err := create(filepath.Join(dir, publicKeys), public.Bytes(), 0o644); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Stdout, "%s holds %s for the server, and a seed for each service.\n", dir, publicKeys)
	return err
}

// keyVariable names a user's public key in the server's configuration.
func keyVariable(user string) string {
	return "NKEY_" + strings.ToUpper(strings.ReplaceAll(user, "-", "_"))
}

// create writes a file that must not be there yet.
func create(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("make a key file: %w", err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
