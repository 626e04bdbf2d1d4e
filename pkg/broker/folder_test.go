package broker_test

import (
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/broker"
)

// A data folder belongs to one server at a time: two would overwrite each
// other's streams, and what one acknowledged would be gone.
func TestADataFolderHasOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := broker.StartServer(broker.ServerConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broker.StartServer(broker.ServerConfig{Dir: dir}); err == nil || !strings.Contains(err.Error(), dir+" is in use") {
		t.Errorf("got %v for a second server, want the folder named", err)
	}
	first.Shutdown()
	second, err := broker.StartServer(broker.ServerConfig{Dir: dir})
	if err != nil {
		t.Fatalf("after the first has stopped: %v", err)
	}
	second.Shutdown()
}
