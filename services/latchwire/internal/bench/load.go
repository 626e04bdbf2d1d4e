package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A result is what one load came to.
type result struct {
	calls    int
	took     time.Duration
	p50, p99 time.Duration
	cpu      time.Duration // of the process, per call
}

func (r result) perSecond() float64 { return float64(r.calls) / r.took.Seconds() }

// closedLoop lets clients call one after another until the time is up. The
// first error ends it.
func closedLoop(ctx context.Context, clients int, d time.Duration, call func(ctx context.Context, client, n int) error) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d+time.Minute, fmt.Errorf("a load of %s hung", d))
	defer cancel()
	latencies := make([][]time.Duration, clients)
	errs := make([]error, clients)
	before, begin := cpuTime(), time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for n := 0; time.Since(begin) < d; n++ {
				at := time.Now()
				if errs[c] = call(ctx, c, n); errs[c] != nil {
					return
				}
				latencies[c] = append(latencies[c], time.Since(at))
			}
		})
	}
	wg.Wait()
	took, cpu := time.Since(begin), cpuTime()-before
	all := slices.Concat(latencies...)
	for _, err := range errs {
		if err != nil {
			return result{}, err
		}
	}
	slices.Sort(all)
	return result{
		calls: len(all), took: took, cpu: cpu / time.Duration(max(len(all), 1)),
		p50: all[len(all)/2], p99: all[len(all)*99/100],
	}, nil
}

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// newHTTPClient returns a client that keeps a connection for each caller.
func newHTTPClient() *http.Client {
	const clients = 256
	return &http.Client{Transport: &http.Transport{MaxIdleConns: clients * 2, MaxIdleConnsPerHost: clients * 2}, Timeout: 30 * time.Second}
}

// do sends a request and returns the answer's body, which must be 200.
func do(c *http.Client, req *http.Request) ([]byte, error) {
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return nil, fmt.Errorf("%s answered %d: %.200s", req.URL.Path, resp.StatusCode, b)
	}
	return b, nil
}
