package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/service"
)

// Command runs the benchmarks and prints a table.
func Command(ctx context.Context, p service.Process) error {
	var d time.Duration
	var profile string
	var deliveries bool
	s := service.NewSettings("bench", "Measures the pipeline as ratios to a floor measured in the same run.")
	s.Duration(&d, "duration", 5*time.Second, "how long each load runs")
	s.String(&profile, "cpu-profile", "", "file to write a CPU profile of the untraced pipeline to")
	s.Bool(&deliveries, "deliveries", false, "measure the delivery of events instead of calls")
	if err := s.Load(p); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "latchwire-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover in the temporary folder harms nobody
	r := report{out: p.Stdout, duration: d, profile: profile}
	if deliveries {
		return r.deliveries(ctx, dir)
	}
	return r.calls(ctx, dir)
}

// calls measures calls from the caller's request to its answer.
func (r report) calls(ctx context.Context, dir string) error {
	echoing, err := startTarget(echo)
	if err != nil {
		return err
	}
	defer echoing.close()
	hanging, err := startTarget(hang)
	if err != nil {
		return err
	}
	defer hanging.close()
	floor, err := r.floor(ctx, filepath.Join(dir, "floor"), echoing.url)
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	urls := map[string]string{"echo": echoing.url, "hang": hanging.url}
	for _, tracing := range []bool{false, true} {
		if err := r.pipeline(ctx, filepath.Join(dir, fmt.Sprint("pipeline-", tracing)), tracing, urls, floor); err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
	}
	return nil
}

type report struct {
	out      io.Writer
	duration time.Duration
	profile  string
}

// loads are the numbers of clients that call at a time.
func loads() []int { return []int{1, 16, 64} }

func (r report) floor(ctx context.Context, dir, target string) (map[int]result, error) {
	server, err := broker.StartServer(broker.ServerConfig{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer server.Shutdown()
	conn, err := broker.Connect(broker.Config{Server: server}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	f, err := newFloor(ctx, conn, target)
	if err != nil {
		return nil, err
	}
	defer f.close()
	edge, err := startTarget(f.ServeHTTP)
	if err != nil {
		return nil, err
	}
	defer edge.close()
	client := newHTTPClient()
	defer client.CloseIdleConnections()
	body := []byte(`{"input":{"amount":10,"note":"a call of the usual size, with a little text in it"},"idempotencyKey":"1234567890123456789-1"}`)
	r.print("%-28s %9s %9s %9s %9s\n", "", "calls/s", "p50", "p99", "CPU/call")
	return r.each(ctx, "floor", nil, func(ctx context.Context, _, _ int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, edge.url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		_, err = do(client, req)
		return err
	})
}

func (r report) pipeline(ctx context.Context, dir string, tracing bool, urls map[string]string, floor map[int]result) error {
	p, err := startPipeline(ctx, dir, tracing, urls)
	if err != nil {
		return err
	}
	name := "pipeline"
	if tracing {
		name = "pipeline, 10 % traced"
	}
	stop, err := r.profiled(!tracing)
	if err != nil {
		return err
	}
	_, err = r.each(ctx, name, floor, func(ctx context.Context, _, _ int) error { return p.invoke(ctx, "echo") })
	stop()
	if err == nil && !tracing {
		for _, measure := range []func(context.Context, *pipeline) error{r.isolation, r.hotLock, r.protocol} {
			if err == nil {
				err = measure(ctx, p)
			}
		}
	}
	if cerr := p.close(); err == nil {
		err = cerr
	}
	return err
}

// profiled starts the CPU profile if one is wanted, and returns what ends it.
func (r report) profiled(wanted bool) (stop func(), err error) {
	if !wanted || r.profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(r.profile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // the profile is an aid
	}, nil
}

// each runs the loads, after a short one to warm up, and prints them.
func (r report) each(ctx context.Context, name string, floor map[int]result, call func(context.Context, int, int) error) (map[int]result, error) {
	if _, err := closedLoop(ctx, 16, r.duration/5, call); err != nil {
		return nil, err
	}
	results := make(map[int]result)
	for _, clients := range loads() {
		got, err := closedLoop(ctx, clients, r.duration, call)
		if err != nil {
			return nil, err
		}
		results[clients] = got
		r.print("%-28s %9.0f %9s %9s %9s", fmt.Sprintf("%s, %d clients", name, clients), got.perSecond(), short(got.p50), short(got.p99), short(got.cpu))
		if base, found := floor[clients]; found {
			r.print("   throughput %.2f, CPU %.2f of the floor's", got.perSecond()/base.perSecond(), float64(got.cpu)/float64(base.cpu))
		}
		r.print("\n")
	}
	return results, nil
}

const (
	waiting = 1000
	probes  = 100
)

// isolation puts a thousand calls before a target that hangs, and measures
// calls to another one while it does.
func (r report) isolation(ctx context.Context, p *pipeline) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range waiting {
		wg.Go(func() { _ = p.invoke(ctx, "hang") }) // it never completes: that is the point
	}
	time.Sleep(time.Second) //nolint:forbidigo // the backlog builds up in that time
	var took []time.Duration
	for range probes {
		at := time.Now()
		if err := p.invoke(ctx, "echo"); err != nil {
			return err
		}
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	r.print("%-28s p50 %s, worst %s of %d calls to another target\n", fmt.Sprintf("%d calls at a hanging target", waiting), short(took[probes/2]), short(took[probes-1]), probes)
	cancel()
	wg.Wait()
	return nil
}

func (r report) print(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, format, args...) // nobody to tell when the terminal is gone
}

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
