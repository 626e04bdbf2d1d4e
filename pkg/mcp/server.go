package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// An Implementation says what a server is: for display only.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
}

// A Config describes a server.
type Config struct {
	Info Implementation
	// Instructions are given to the model when it connects.
	Instructions string
	// Tools are listed in this order, the same for everybody.
	Tools []Tool
	// MaxBody is how many bytes a body may have; zero means 1 MiB.
	MaxBody int64
	// MaxWait is how long a tool may take; zero means 55 s, less than the 60 s
	// that clients wait (MCP-13).
	MaxWait time.Duration
}

// A Server answers requests. It may be used concurrently, and for any number of
// callers: it keeps nothing of them (MCP-27).
type Server struct {
	cfg   Config
	log   *slog.Logger
	tools map[string]Tool

	// Answers that never change.
	discovery, modernTools, legacyTools []byte
	initialized                         []byte // what follows the version
	modernHead                          []byte // what every result of a tool begins with
}

// cacheTime is how long a client may keep what never changes, in milliseconds.
const cacheTime = 3_600_000

// New returns a server. It returns an error that names every tool that clients
// could not use.
func New(cfg Config, log *slog.Logger) (*Server, error) {
	cfg.MaxBody, cfg.MaxWait = cmp.Or(cfg.MaxBody, 1<<20), cmp.Or(cfg.MaxWait, 55*time.Second)
	s := &Server{cfg: cfg, log: log, tools: make(map[string]Tool)}
	var problems []error
	definitions := make([]definition, 0, len(cfg.Tools))
	for _, t := range cfg.Tools {
		if _, twice := s.tools[t.Name]; twice {
			problems = append(problems, fmt.Errorf("tool %q: there are two", t.Name))
		}
		s.tools[t.Name] = t
		problems = append(problems, t.validate())
		definitions = append(definitions, t.definition())
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return s, s.encode(definitions)
}

// encode writes the answers that never change.
func (s *Server) encode(definitions []definition) error {
	type tools struct {
		List []definition `json:"tools"`
	}
	type serverInfo struct {
		Info Implementation `json:"io.modelcontextprotocol/serverInfo"`
	}
	type modern struct {
		ResultType string     `json:"resultType"`
		TTL        int        `json:"ttlMs"`
		Scope      string     `json:"cacheScope"`
		Meta       serverInfo `json:"_meta"`
	}
	type connected struct {
		Capabilities struct {
			Tools struct{} `json:"tools"`
		} `json:"capabilities"`
		Instructions string `json:"instructions,omitzero"`
	}
	cacheable := modern{"complete", cacheTime, "private", serverInfo{s.cfg.Info}}
	greeting := connected{Instructions: s.cfg.Instructions}
	var err error
	put := func(to *[]byte, v any) {
		b, failed := jsonv2.Marshal(v)
		*to, err = b, errors.Join(err, failed)
	}
	put(&s.modernTools, struct {
		modern
		tools
	}{cacheable, tools{definitions}})
	put(&s.legacyTools, tools{definitions})
	put(&s.discovery, struct {
		modern
		Versions []string `json:"supportedVersions"`
		connected
	}{cacheable, Versions(), greeting})
	put(&s.initialized, struct {
		connected
		Info Implementation `json:"serverInfo"`
	}{greeting, s.cfg.Info})
	put(&s.modernHead, struct {
		ResultType string     `json:"resultType"`
		Meta       serverInfo `json:"_meta"`
	}{"complete", serverInfo{s.cfg.Info}})
	return err
}

// ServeHTTP answers one message (MCP-01, MCP-02).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "this endpoint takes POST only")
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "the content type must be application/json")
		return
	}
	body, err := s.read(w, r)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", s.cfg.MaxBody))
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "the body could not be read")
		return
	}
	msg, failed := parse(body)
	switch {
	case failed != nil:
		write(w, r, failed.status, envelop(msg.id, nil, failed))
	case msg.id == nil: // a notification or a response (MCP-07)
		w.WriteHeader(http.StatusAccepted)
	default:
		s.answer(w, r, msg)
	}
}

// maxGrow bounds what is set aside for a body because of its announced length.
const maxGrow = 64 << 10

func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 {
		b.Grow(int(min(n, maxGrow)) + bytes.MinRead)
	}
	_, err := io.Copy(&b, http.MaxBytesReader(w, r.Body, s.cfg.MaxBody))
	return b.Bytes(), err
}

// answer answers a request.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, msg *message) {
	m := msg.params.readMeta()
	version, failed := eraOf(r.Header, m)
	if failed == nil && version == Modern {
		failed = checkModern(r.Header, msg, m)
	}
	if failed != nil {
		write(w, r, failed.status, envelop(msg.id, nil, failed))
		return
	}
	ctx := r.Context()
	if version != Modern { // a legacy client that is gone has not cancelled (MCP-12)
		ctx = context.WithoutCancel(ctx)
	}
	result, failed := s.dispatch(ctx, msg, m, version)
	if errors.Is(ctx.Err(), context.Canceled) {
		return // nobody reads an answer
	}
	status := http.StatusOK
	if failed != nil && version == Modern {
		status = cmp.Or(failed.status, status)
	}
	write(w, r, status, envelop(msg.id, result, failed))
}

func (s *Server) dispatch(ctx context.Context, msg *message, m meta, version string) ([]byte, *rpcError) {
	if msg.badly {
		return nil, invalidParams("params must be an object")
	}
	modern := version == Modern
	switch {
	case msg.method == "tools/call":
		return s.call(ctx, msg, Call{Version: version, Traceparent: traceparent(m)})
	case msg.method == "tools/list" && given(msg.params.cursor):
		return nil, invalidParams("the cursor is unknown") // there is one page (MCP-41)
	case msg.method == "tools/list" && modern:
		return s.modernTools, nil
	case msg.method == "tools/list":
		return s.legacyTools, nil
	case msg.method == "server/discover" && modern:
		return s.discovery, nil
	case msg.method == "initialize" && !modern:
		return s.initialize(msg), nil
	case msg.method == "ping" && !modern:
		return []byte("{}"), nil
	}
	return nil, methodNotFound(msg.method)
}

// initialize agrees on a revision: the one that was asked for, or the newest of
// those that begin like this (MCP-58).
func (s *Server) initialize(msg *message) []byte {
	version, _ := text(msg.params.protocolVersion)
	if !isLegacy(version) {
		version = latestLegacy
	}
	b := append([]byte(`{"protocolVersion":"`), version...)
	b = append(b, `",`...)
	return append(b, s.initialized[1:]...)
}

func traceparent(m meta) string {
	value, _ := text(m.traceparent)
	return value
}
