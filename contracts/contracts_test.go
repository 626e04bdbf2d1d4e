package contracts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/contracts"
)

func Example() {
	name, _ := contracts.DisplayName("temporary-opening")
	fmt.Println(name, contracts.BuiltIns())
	// Output: Hygiene opening [lock dice link penalty pillory tasks temporary-opening verification-picture wheel-of-fortune]
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "nothing", "../openapi", "invocation.json", "a/b"} {
		if _, err := contracts.Schema(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("schema %q: got %v, want fs.ErrNotExist", name, err)
		}
		if _, found := contracts.Manifest(name); found {
			t.Errorf("manifest %q: got one, want none", name)
		}
		if got, found := contracts.DisplayName(name); found {
			t.Errorf("display name of %q: got %q, want none", name, got)
		}
	}
}

func TestWhatIsListedIsThere(t *testing.T) {
	t.Parallel()
	for _, name := range contracts.Schemas() {
		if _, err := contracts.Schema(name); err != nil {
			t.Error(err)
		}
	}
	for _, slug := range contracts.BuiltIns() {
		if _, found := contracts.Manifest(slug); !found {
			t.Errorf("no manifest of %s", slug)
		}
		if name, found := contracts.DisplayName(slug); !found || name == "" {
			t.Errorf("no display name of %s", slug)
		}
	}
	for _, doc := range [][]byte{contracts.OpenAPI(), contracts.AsyncAPI()} {
		if len(doc) == 0 {
			t.Error("got an empty document")
		}
	}
}

func TestChangingWhatIsReturnedChangesNothing(t *testing.T) {
	t.Parallel()
	first := contracts.OpenAPI()
	first[0] = 'X'
	if second := contracts.OpenAPI(); second[0] == 'X' {
		t.Error("the caller's change shows in the next answer")
	}
}

func TestEveryJSONFileIsPrettyPrinted(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(contracts.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".json") {
			return err
		}
		got, err := fs.ReadFile(contracts.FS(), path)
		if err != nil {
			return err
		}
		var want bytes.Buffer
		if err := json.Indent(&want, bytes.TrimSpace(got), "", "  "); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		want.WriteByte('\n')
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not indented by two spaces", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEmbeddedFilesAreInTheFoldersTheyAreNamedBy(t *testing.T) {
	t.Parallel()
	for _, e := range contracts.Examples() {
		if e.Case != strings.ToLower(e.Case) || strings.ContainsAny(e.Case, "._ ") {
			t.Errorf("%s: got case %q, want words with dashes", e.File, e.Case)
		}
		kind := strings.TrimSuffix(e.File, ".json")
		if !strings.HasSuffix(kind, ".valid") && !strings.HasSuffix(kind, ".invalid") {
			t.Errorf("%s is neither valid nor invalid by its name", e.File)
		}
		if !slices.Contains(contracts.Schemas(), e.Schema) {
			t.Errorf("%s has no schema", e.File)
		}
	}
}
