package receiver_test

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// The page for partners shows the receiver of this package's example, in a
// whole program.
func TestThePageShowsTheExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../contracts/RECEIVER.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "\n```go\n")
	program, _, found := strings.Cut(after, "\n```\n")
	if !found {
		t.Fatal("the page has no Go")
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "main.go", program, parser.AllErrors); err != nil {
		t.Error(err)
	}
	_, after, _ = strings.Cut(string(source), "\nfunc newReceiver")
	body, _, found := strings.Cut(after, "\n}\n")
	if !found || !strings.Contains(program, "\nfunc newReceiver"+body+"\n}\n") {
		t.Error("the page's newReceiver is not the example's")
	}
}
