// Command bench measures the pipeline against a floor in the same run.
package main

import (
	"os"

	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/latchwire/internal/bench"
)

func main() {
	os.Exit(service.Main("bench", bench.Command))
}
