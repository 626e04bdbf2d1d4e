// Command dispatcher runs the dispatch workers as a process of their own.
package main

import (
	"os"

	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/dispatcher"
)

func main() {
	os.Exit(service.Main("dispatcher", dispatcher.Program().Run))
}
