package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// audited serves a request and records it, if it is to change something: before,
// so that nothing is done without a record, and after, with how it ended.
func (a *API) audited(w http.ResponseWriter, r *http.Request, t registry.Token, next door.Handler) error {
	if r.Method == http.MethodGet {
		return next(w, r)
	}
	path := r.URL.EscapedPath()
	record := ledger.AuditRecord{
		ID: invocation.ID(invocation.NewExtensionID()), At: a.ledger.Now().UnixMilli(),
		Token: t.ID, Kind: string(t.Kind), Role: string(t.Role), Prefix: t.Prefix, Extension: t.Extension,
		Method: r.Method, Path: path[:min(len(path), maxAuditPath)],
	}
	if err := a.ledger.StoreAudit(r.Context(), record); err != nil {
		return err
	}
	var sent bytes.Buffer
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, &sent), r.Body}
	answer := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
	err := next(answer, r)
	record.Status = answer.Status()
	if err != nil {
		record.Status = wire.Status(invocation.CodeOf(err))
	}
	record.Members = membersOf(sent.Bytes())
	if late := a.ledger.StoreAudit(context.WithoutCancel(r.Context()), record); late != nil {
		telemetry.NoteError(r.Context(), late) // it is done, and its first record stands
	}
	return err
}

const (
	maxAuditPath    = 300
	maxAuditMembers = 20
)

// memberName is what the members of our bodies are called; what is called
// otherwise may be anything, a secret too.
var memberName = regexp.MustCompile(`^[a-z][A-Za-z]{0,39}$`)

// membersOf returns the names of a body's members.
func membersOf(body []byte) (names []string) {
	var members map[string]json.RawMessage
	if strictjson.Decode(body, &members, strictjson.Limits{}) != nil {
		return nil
	}
	for name := range members {
		if memberName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxAuditMembers)]
}

// An auditAnswer is the record of a request to change something.
type auditAnswer struct {
	ID         invocation.ID    `json:"id"`
	At         string           `json:"at"`
	Credential credentialAnswer `json:"credential"`
	Method     string           `json:"method"`
	Path       string           `json:"path"`
	Members    []string         `json:"members"`
	// Status is null while it is being done, and for good if the process died
	// over it.
	Status *int `json:"status"`
}

// A credentialAnswer is the token that a request came with.
type credentialAnswer struct {
	Kind      string           `json:"kind"`
	TokenID   string           `json:"tokenId"`
	Prefix    string           `json:"prefix"`
	Role      *string          `json:"role"`
	Extension *invocation.Slug `json:"extension"`
}

func newAudit(a ledger.AuditRecord) auditAnswer {
	return auditAnswer{
		ID: a.ID, At: millis(a.At), Method: a.Method, Path: a.Path, Members: append([]string{}, a.Members...), Status: wire.OrNull(a.Status),
		Credential: credentialAnswer{a.Kind, a.Token, a.Prefix, wire.OrNull(a.Role), wire.OrNull(a.Extension)},
	}
}

// listAudit lists who changed what.
func (a *API) listAudit(w http.ResponseWriter, r *http.Request) error {
	q := door.ReadQuery(r)
	p, in := placeOf(q), readPeriod(q)
	token, _ := q.Text("tokenId")
	path, _ := q.Text("path")
	after := readSeq(q, p.after)
	if err := q.Err(); err != nil {
		return err
	}
	records, more, err := a.ledger.AuditRecords(r.Context(), after, p.limit, func(rec ledger.AuditRecord) bool {
		return in.has(time.UnixMilli(rec.At)) && (token == "" || rec.Token == token) && (path == "" || rec.Path == path || strings.HasPrefix(rec.Path, path+"/"))
	})
	if err != nil {
		return err
	}
	return wire.Answer(w, http.StatusOK, span(records, more, func(r ledger.AuditRecord) uint64 { return r.Seq }, newAudit))
}
