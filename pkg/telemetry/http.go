package telemetry

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// traceHeader is the answer header that names the trace of a chain, or of the
// request while no chain is known (design section 6).
const traceHeader = "X-Trace-Id"

// requestHeader is the answer header with the id of the request's log line.
const requestHeader = "X-Request-Id"

// A ServerConfig says how the requests of a server are observed.
type ServerConfig struct {
	// Route returns the pattern that a served request matched, "" for none: a
	// span's name and a label, so never the path itself. Nil knows none.
	Route func(*http.Request) string
	// Log gets one line for each request. Nil discards it.
	Log *slog.Logger
	// Skip says which requests are not observed at all, such as probes. Nil
	// observes all.
	Skip func(*http.Request) bool
}

// Server returns the middleware that observes each request: a SERVER span that
// belongs to the caller's trace, one measurement, one wide log line, which
// [Note] and its like fill on the way. The answer carries X-Trace-Id when a
// trace is known and X-Request-Id. Mount it inside the router, so that the
// route is known when the handler returns, and outside what recovers panics.
func (p *Providers) Server(cfg ServerConfig) func(http.Handler) http.Handler {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Route == nil {
		cfg.Route = func(*http.Request) string { return "" }
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if cfg.Skip != nil && cfg.Skip(r) {
				next.ServeHTTP(w, r)
				return
			}
			p.serve(cfg, next, w, r)
		})
	}
}

func (p *Providers) serve(cfg ServerConfig, next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx, span := r.Context(), trace.Span(nil)
	if p.tracing() {
		ctx, span = p.tracer.Start(Extract(ctx, r.Header), method(r.Method),
			trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String(keyMethod, method(r.Method))))
		w.Header().Set(traceHeader, span.SpanContext().TraceID().String())
	}
	line := &requestLine{cfg: cfg, begin: time.Now(), id: randomID().String(), p: p, span: Span{span}}
	w.Header().Set(requestHeader, line.id)
	r = r.WithContext(withNotes(ctx, &line.notes))
	rec := &recorder{ResponseWriter: w}
	defer func() { line.end(r, rec) }()
	next.ServeHTTP(rec, r)
	rec.returned = true
}

// requestLine is the record of one request.
type requestLine struct {
	cfg   ServerConfig
	begin time.Time
	id    string
	notes notes
	span  Span
	p     *Providers
}

// end closes the span and writes the line, also while a panic passes through.
func (l *requestLine) end(r *http.Request, rec *recorder) {
	took := time.Since(l.begin)
	route, status := l.cfg.Route(r), rec.result()
	l.finish(r, route, status)
	l.p.Metrics().request(r.Context(), requestFacts{method(r.Method), route, status}, took)
	level := slog.LevelInfo
	switch {
	case status == http.StatusBadGateway: // a partner's fault, who could fill the log with it
		level = slog.LevelWarn
	case status >= 500:
		level = slog.LevelError
	}
	if !l.cfg.Log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", method(r.Method)), slog.String("route", route), slog.Int("status", status),
		slog.Int64("bytes", rec.bytes), slog.Float64("duration_ms", milliseconds(took)), slog.String("request_id", l.id),
	}
	if !rec.returned {
		attrs = append(attrs, slog.Bool("panicked", true))
	}
	l.cfg.Log.LogAttrs(r.Context(), level, "request", append(attrs, l.notes.all()...)...)
}

func (l *requestLine) finish(r *http.Request, route string, status int) {
	s := l.span.span
	if s == nil {
		return
	}
	if route != "" {
		s.SetName(method(r.Method) + " " + route)
		s.SetAttributes(attribute.String(keyRoute, route))
	}
	s.SetAttributes(attribute.Int(keyStatusCode, status))
	if status >= 500 {
		s.SetStatus(codes.Error, strconv.Itoa(status))
	}
	s.End()
}

// SetTraceID names a chain's trace in the answer's X-Trace-Id, whether it is
// recorded or not. Call it before the answer's header is written.
func SetTraceID(w http.ResponseWriter, correlationID string) {
	w.Header().Set(traceHeader, TraceIDOf(correlationID))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// method returns the method if it is a known one: callers may send any word.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return m
	default:
		return other
	}
}

// recorder remembers how a request was answered. Its other abilities are found
// by http.ResponseController through Unwrap.
type recorder struct {
	http.ResponseWriter
	status   int // 0 until the header is written
	bytes    int64
	returned bool // the handler, other than by a panic
}

// Unwrap gives http.ResponseController the writer below.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// Flush sends what is buffered, for handlers that ask the writer for it.
func (rec *recorder) Flush() { _ = rec.FlushError() }

// FlushError is Flush for http.ResponseController.
func (rec *recorder) FlushError() error {
	rec.wrote(http.StatusOK)
	return http.NewResponseController(rec.ResponseWriter).Flush()
}

// WriteHeader remembers the first final status.
func (rec *recorder) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		rec.wrote(status)
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes of the body.
func (rec *recorder) Write(b []byte) (int, error) {
	rec.wrote(http.StatusOK)
	n, err := rec.ResponseWriter.Write(b)
	rec.bytes += int64(n)
	return n, err
}

func (rec *recorder) wrote(status int) {
	if rec.status == 0 {
		rec.status = status
	}
}

// result is the status that the caller gets: of a handler that wrote nothing,
// 200 when it returned and 500 when it panicked.
func (rec *recorder) result() int {
	switch {
	case rec.status != 0:
		return rec.status
	case rec.returned:
		return http.StatusOK
	default:
		return http.StatusInternalServerError
	}
}
