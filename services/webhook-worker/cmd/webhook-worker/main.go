// Command webhook-worker delivers lock events and action logs to webhooks.
package main

import (
	"os"

	"github.com/latchwire/latchwire/pkg/service"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

func main() {
	program := webhookworker.Program()
	os.Exit(service.Main(program.Name, program.Run))
}
