package latchwire_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/latchwire"
)

// Each service gets a seed that only its owner reads, the server the public keys
// that fit them, and a second run replaces none.
func TestNkeysMakesSeedsAndTheServersFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keys")
	run := func(args ...string) error {
		return latchwire.Command(t.Context(), service.Process{
			Name: "latchwire", Args: append([]string{"nkeys"}, args...), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
			LookupEnv: func(string) (string, bool) { return "", false },
		})
	}
	if err := run(); err == nil {
		t.Error("got no error without a folder")
	}
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(filepath.Join(dir, "nkeys.conf"))
	if err != nil {
		t.Fatal(err)
	}
	seeds, err := filepath.Glob(filepath.Join(dir, "*.nk"))
	if err != nil || len(seeds) != 5 {
		t.Fatalf("got the seeds %q, %v; want five", seeds, err)
	}
	before := make(map[string]string)
	for _, file := range seeds {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v; want it readable by its owner alone", file, info.Mode(), err)
		}
		seed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before[file] = string(seed)
		pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
		if err != nil {
			t.Fatal(err)
		}
		key, err := pair.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".nk"), "-", "_"))
		if line := "NKEY_" + name + `: "` + key + `"`; !strings.Contains(string(public), line) {
			t.Errorf("got %s, want %s in it", public, line)
		}
		if strings.Contains(string(public), strings.TrimSpace(string(seed))) {
			t.Error("the server's file holds a seed")
		}
	}
	if err := run(dir); err == nil {
		t.Error("got no error in a folder that holds keys")
	}
	for file, seed := range before {
		if now, err := os.ReadFile(file); err != nil || string(now) != seed {
			t.Errorf("%s was replaced", file)
		}
	}
}
