// Command edge-api serves the REST API as a process of its own.
package main

import (
	"os"

	"github.com/latchwire/latchwire/pkg/service"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
)

func main() {
	os.Exit(service.Main("edge-api", edgeapi.Program().Run))
}
