package conformance

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The answers that package manifest/schema is held to are Ajv's. Where the corpus
// changed, this writes them anew with LATCHWIRE_AJV=write.
func TestTheCorpusHasAjvsAnswers(t *testing.T) {
	t.Parallel()
	cmd := node(t, "node", "ajv.mjs")
	folder, err := filepath.Abs("../../../pkg/manifest/schema/testdata/ajv")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env, cmd.Stderr = append(cmd.Env, "CORPUS="+filepath.Join(folder, "corpus.json")), os.Stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := filepath.Join(folder, "answers.json")
	if os.Getenv("LATCHWIRE_AJV") == "write" {
		if err := os.WriteFile(answers, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("Ajv answers otherwise than answers.json says")
	}
}
