// Command latchwire runs the whole pipeline in one process, and sets up NATS
// for the services that run on their own.
package main

import (
	"os"

	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/latchwire"
)

func main() {
	os.Exit(service.Main("latchwire", latchwire.Command))
}
