package registry_test

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// Secrets for signing that Standard Webhooks publishes with its examples.
var published = []string{
	"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	"whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
}

var (
	tokenForm  = regexp.MustCompile(`\b(?:cdt|cat|cmt)_[0-9A-Za-z]{49}\b`)
	secretForm = regexp.MustCompile(`\bwhs(?:ec|k)_[0-9A-Za-z+/]{32,}={0,2}`)
	// Others' forms, which are secrets wherever they stand.
	foreign = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[0-9A-Za-z+/]{16}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[0-9A-Za-z]{36}\b|\bgithub_pat_\w{60,}|\bxox[abprs]-[0-9A-Za-z-]{20,}|\bAIza[0-9A-Za-z_-]{35}\b`)
)

// suspects are what one of the forms begins with: few files hold any, and to look
// for them is quick.
var suspects = []string{"cdt_", "cat_", "cmt_", "whsec_", "whsk_", "PRIVATE KEY", "AKIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "AIza"}

// secretsIn returns the beginnings of what looks like a secret that opens
// something. What is made up for tests says so: it holds "CANARY" or "example",
// in clear or in base64.
func secretsIn(text string) []string {
	if !slices.ContainsFunc(suspects, func(s string) bool { return strings.Contains(text, s) }) {
		return nil
	}
	found := foreign.FindAllString(text, -1)
	for _, s := range tokenForm.FindAllString(text, -1) {
		if registry.LooksIssued(s) {
			found = append(found, s)
		}
	}
	for _, s := range secretForm.FindAllString(text, -1) {
		_, encoded, _ := strings.Cut(s, "_")
		raw, _ := base64.StdEncoding.DecodeString(encoded) // what can't be read is shown as it is
		marked := slices.Contains(published, s)
		for _, mark := range []string{"CANARY", "example"} {
			marked = marked || strings.Contains(s, mark) || strings.Contains(string(raw), mark)
		}
		if !marked {
			found = append(found, s)
		}
	}
	for i, s := range found {
		found[i] = s[:12] + "…"
	}
	return found
}

// SEC-124: no tracked file holds a secret.
func TestNoSecretIsTracked(t *testing.T) {
	t.Parallel()
	root, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skipf("the files are not tracked here: %v", err)
	}
	dir := strings.TrimSpace(string(root))
	list, err := exec.CommandContext(t.Context(), "git", "-C", dir, "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
	if len(files) < 100 {
		t.Fatalf("got %d tracked files", len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) { // removed and not yet committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secretsIn(string(text)) {
			t.Errorf("SEC-124: %s holds %s; a made-up one says that it is an example", name, s)
		}
	}
}

func TestSecretsAreFound(t *testing.T) {
	t.Parallel()
	made := func(k registry.TokenKind) string {
		_, secret := registry.NewToken(registry.Token{Kind: k}, time.Now())
		return secret
	}
	admin := made(registry.AdminToken)
	wrong := admin[:len(admin)-1] + "0"
	if wrong == admin {
		wrong = admin[:len(admin)-1] + "1"
	}
	pem := "-----BEGIN PRIVATE " + "KEY-----\nMIIEvQIBADANBgkqhkiG\n"
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"a developer token":            {`TOKEN="` + made(registry.DeveloperToken) + `"`, 1},
		"an admin token in a sentence": {"use " + admin + ".", 1},
		"two tokens":                   {made(registry.MainToken) + " " + made(registry.MainToken), 2},
		"a wrong checksum":             {wrong, 0},
		"a signing secret":             {egress.NewSecret().Reveal(), 1},
		"a signing key":                {`"` + egress.NewSigningKey().Reveal() + `"`, 1},
		"one that is published":        {published[0] + " " + published[1], 0},
		"one that says what it is":     {"whsec_" + base64.StdEncoding.EncodeToString([]byte("example-of-a-long-secret-of-mine")), 0},
		"a canary":                     {"whsec_CANARYCANARYCANARYCANARYCANARYCANARY", 0},
		"a private key":                {pem, 1},
		"a key of a cloud":             {"AKIA" + "IOSFODNN7ABCDEFG", 1},
		"prose":                        {"tokens begin with cdt_, cat_ or cmt_, secrets with whsec_", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := secretsIn(tc.text); len(got) != tc.want {
				t.Errorf("SEC-124: got %v, want %d", got, tc.want)
			}
		})
	}
}
