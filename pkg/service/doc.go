// Package service is the shell around a process: settings from flags and
// environment, parts that start in order and drain in reverse, an HTTP server,
// health answers, a logger. What the process does is not its business.
//
// A process is a list of parts. [Run] starts them in order and stops them in
// reverse, so a part may rely on every part before it for the whole of its
// life; the first failure stops all, and what does not stop in time is named.
// Signals belong to [Main] alone, so a test can run a whole process inside a
// testing/synctest bubble by calling what Main calls.
//
//	func main() { os.Exit(service.Main("edge-api", edgeapi.Run)) }
//
//	func Run(ctx context.Context, p service.Process) error {
//		var cfg Config
//		s := service.NewSettings(p.Name, "Serves the REST API.")
//		cfg.Register(s)
//		if err := s.Load(p); err != nil {
//			return err
//		}
//		health := &service.Health{}
//		return service.Run(ctx, cfg.Grace,
//			service.Part{Name: "broker", Start: conn.Open, Run: conn.Run},
//			service.HTTPServer(cfg.HTTP, handler),
//			health.Part(cfg.DrainDelay)) // stops first: no longer ready
//	}
//
// Everything here is safe for concurrent use except [Settings], which belongs
// to the goroutine that starts the process. The package knows no telemetry:
// the logger takes the wrapper that adds trace ids as an argument.
package service
