package telemetry_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

const (
	correlation   = "8c9f1f1e8f5c4d519a53"
	foreignParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	foreignTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
)

// world is what one chain goes through: a door, a queue, a partner. All parts
// are the ones of production but for the queue, which is a variable.
type world struct {
	tel   *telemetry.Providers
	edge  http.Handler
	queue *message.Message
	work  message.HandlerFunc
	// toPartner is what the partner got, byte for byte.
	toPartner http.Header
	// cause is the traceparent that a store would keep with the newest cause.
	cause string
	depth int
}

func newWorld(tel *telemetry.Providers) *world {
	w := &world{tel: tel}
	w.edge = tel.Server(telemetry.ServerConfig{Route: func(*http.Request) string { return "/invocations" }})(http.HandlerFunc(w.invoke))
	w.work = tel.Consumer(telemetry.ConsumerConfig{
		Destination: "inv.p.req", Group: "dispatch",
		Describe: func(*message.Message) telemetry.Delivery {
			return telemetry.Delivery{Chain: telemetry.Chain{CorrelationID: correlation, Depth: w.depth, InvocationID: "i1", Cause: w.cause}, Count: 1}
		},
	})(w.dispatch)
	return w
}

// invoke is the edge: it learns the chain from the stored cause and publishes.
func (w *world) invoke(rw http.ResponseWriter, r *http.Request) {
	ctx := telemetry.WithChain(r.Context(), telemetry.Chain{CorrelationID: correlation, Depth: w.depth, InvocationID: "i1", Cause: w.cause})
	ctx, span := w.tel.Publish(ctx, "inv.p.req")
	headers := map[string][]string{}
	telemetry.Inject(ctx, headers)
	w.queue = message.NewMessage("m1", nil)
	for k, v := range headers {
		w.queue.Metadata[k] = v[0]
	}
	span.Stored("INV_0", 7, false)
	span.End(nil)
	telemetry.SetTraceID(rw, correlation)
}

// dispatch is the worker: it posts to the partner.
func (w *world) dispatch(m *message.Message) ([]*message.Message, error) {
	ctx, span := w.tel.Client(m.Context(), http.MethodPost, &url.URL{Scheme: "https", Host: "partner.example", Path: "/hook", RawQuery: "key=CANARY"}, telemetry.Call{Attempt: 1})
	w.toPartner = http.Header{}
	telemetry.InjectPartner(ctx, w.toPartner)
	w.cause = telemetry.Traceparent(ctx)
	span.EndHTTP(200, nil)
	return nil, nil
}

// hop lets a partner call, with the headers it sends, and the worker work.
func (w *world) hop(t *testing.T, depth int, h http.Header) *httptest.ResponseRecorder {
	t.Helper()
	w.depth = depth
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/invocations", nil)
	req.Header = h
	rec := httptest.NewRecorder()
	w.edge.ServeHTTP(rec, req)
	w.queue.SetContext(t.Context())
	if _, err := w.work(w.queue); err != nil {
		t.Fatal(err)
	}
	return rec
}

// Partners steer neither the trace nor what others are sent (SEC-120).
func TestAChainIsOneTraceWhateverPartnersSend(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	w := newWorld(tel)
	for depth := range 8 {
		h := http.Header{}
		switch depth % 4 {
		case 1:
			h.Set("traceparent", foreignParent)
			h.Set("tracestate", "vendor=x")
			h.Set("baggage", "user=mallory")
		case 2:
			h.Set("traceparent", w.toPartner.Get("traceparent")) // an honest partner's echo
		case 3:
			h.Set("traceparent", "no trace at all")
		}
		rec := w.hop(t, depth, h)
		if got := rec.Header().Get("X-Trace-Id"); got != telemetry.TraceIDOf(correlation) {
			t.Errorf("depth %d: got X-Trace-Id %s, want the chain's", depth, got)
		}
		for name := range w.toPartner {
			if name != "Traceparent" {
				t.Errorf("depth %d: the partner got a header %s", depth, name)
			}
		}
	}
	spans.CheckChains(t)
	count := map[string]int{}
	for _, s := range spans.Ended() {
		count[s.Kind]++
		if s.Kind == "server" {
			checkServer(t, spans.Ended(), s)
		} else if s.TraceID != telemetry.TraceIDOf(correlation) {
			t.Errorf("span %q is in trace %s", s.Name, s.TraceID)
		}
	}
	if want := map[string]int{"server": 8, "producer": 8, "consumer": 8, "client": 8}; fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", count, want)
	}
}

// checkServer checks that a server span is in the caller's trace, and that it
// and the span that it led to point at each other or are parent and child.
func checkServer(t *testing.T, all []telemetrytest.Span, server telemetrytest.Span) {
	t.Helper()
	if server.ParentRemote && server.TraceID != foreignTrace && server.TraceID != telemetry.TraceIDOf(correlation) {
		t.Errorf("the server span is in trace %s, want the caller's", server.TraceID)
	}
	for _, s := range all {
		if s.ParentID == server.SpanID {
			return
		}
		for _, l := range s.Links {
			if l.SpanID == server.SpanID && l.Type == "caller" && len(server.Links) == 1 && server.Links[0].SpanID == s.SpanID && server.Links[0].Type == "chain" {
				return
			}
		}
	}
	t.Errorf("server span %s is tied to nothing", server.SpanID)
}

func TestTheSpansOfAHopAreTheOnesOfTheDesign(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	newWorld(tel).hop(t, 3, http.Header{"Traceparent": {foreignParent}})
	by := map[string]telemetrytest.Span{}
	for _, s := range spans.Ended() {
		by[s.Name] = s
	}
	publish, process, server, client := by["publish inv.p.req"], by["process inv.p.req"], by["POST /invocations"], by["POST"]
	if server.TraceID != foreignTrace || server.ParentID != "00f067aa0ba902b7" || !server.ParentRemote {
		t.Errorf("got server span %+v, want a child in the caller's trace", server)
	}
	if publish.ParentID != "" || len(publish.Links) != 1 {
		t.Errorf("got publish span %+v, want a root with a link", publish)
	}
	if process.ParentID != publish.SpanID || len(process.Links) != 1 || process.Links[0].SpanID != publish.SpanID || process.Links[0].Type != "creation" {
		t.Errorf("got process span %+v, want child of and link to the publish span", process)
	}
	if client.ParentID != process.SpanID {
		t.Errorf("got client span %+v, want a child of the process span", client)
	}
	for _, s := range []telemetrytest.Span{publish, process, client} {
		for k, want := range map[string]string{"chain.correlation_id": correlation, "chain.depth": "3", "invocation.id": "i1"} {
			if got := s.Attrs[k]; got != want {
				t.Errorf("span %q: got %s = %q, want %q", s.Name, k, got, want)
			}
		}
	}
	for k, want := range map[string]string{
		"messaging.system": "nats", "messaging.operation.name": "publish", "messaging.operation.type": "send",
		"messaging.nats.stream": "INV_0", "messaging.nats.sequence": "7", "messaging.nats.duplicate": "false",
	} {
		if got := publish.Attrs[k]; got != want {
			t.Errorf("publish: got %s = %q, want %q", k, got, want)
		}
	}
	for k, want := range map[string]string{
		"messaging.consumer.group.name": "dispatch", "messaging.destination.template": "inv.p.req", "messaging.message.id": "m1",
		"messaging.message.conversation_id": correlation, "messaging.nats.delivery_count": "1", "messaging.operation.type": "process",
	} {
		if got := process.Attrs[k]; got != want {
			t.Errorf("process: got %s = %q, want %q", k, got, want)
		}
	}
	for k, want := range map[string]string{
		"url.full": "https://partner.example/hook", "server.address": "partner.example", "http.response.status_code": "200",
		"http.request.method": "POST", "webhook.attempt": "1", "http.request.resend_count": "",
	} {
		if got := client.Attrs[k]; got != want {
			t.Errorf("client: got %s = %q, want %q", k, got, want)
		}
	}
}

func TestARootEventsWriteIsRecordedAfterwards(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var after string
	h := tel.Server(telemetry.ServerConfig{})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx := tel.Written(r.Context(), telemetry.Chain{CorrelationID: "e1", EventID: "e1"}, "lock.p", telemetry.Interval{Start: start, End: start.Add(time.Second)})
		after = telemetry.Traceparent(ctx)
		_, span := tel.Publish(ctx, "chain.index")
		span.End(nil)
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	spans.CheckChains(t)
	written, child, server := spans.Ended()[0], spans.Ended()[1], spans.Ended()[2]
	if written.TraceID != telemetry.TraceIDOf("e1") || written.ParentID != "" || !written.Start.Equal(start) || written.Attrs["event.id"] != "e1" {
		t.Errorf("got %+v, want a root in the event's own chain with the write's times", written)
	}
	if written.Links[0].SpanID != server.SpanID || server.Links[0].SpanID != written.SpanID || child.ParentID != written.SpanID {
		t.Errorf("got %+v and %+v, want links both ways", written, server)
	}
	if want := "00-" + written.TraceID + "-" + written.SpanID + "-01"; after != want {
		t.Errorf("got traceparent %s, want %s", after, want)
	}
}

func TestHashedIDsSurviveTheRatioSampler(t *testing.T) {
	t.Parallel()
	// Ratio samplers read bytes 8 to 15 of a trace id, where a UUID has its
	// fixed bits; a chain's id must be spread evenly there.
	const n = 20_000
	low := 0
	for range n {
		var u [16]byte
		_, _ = rand.Read(u[:])
		u[8] = u[8]&0x3f | 0x80
		if id := telemetry.ChainTraceID(fmt.Sprintf("%x", u)); id[8] < 0x80 {
			low++
		}
	}
	if share := float64(low) / n; share < 0.48 || share > 0.52 {
		t.Errorf("got %.3f in the lower half, want 0.5", share)
	}
}

func ExampleTraceIDOf() {
	// printf 'chain:%s' abc | sha256sum | cut -c1-32
	_, _ = fmt.Println(telemetry.TraceIDOf("abc"))
	// Output: 0a5124b77760e154fa5c6fe7c711cf2f
}
