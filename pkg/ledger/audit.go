package ledger

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// auditRetention is how long audit records are kept.
const auditRetention = 365 * 24 * time.Hour

// An AuditRecord is a request to change something, by whoever holds a credential
// of an operator or of an extension's developer. It is recorded before it is done
// and again when it ended, and holds nothing of what was sent but the names of
// its members.
type AuditRecord struct {
	ID invocation.ID `json:"id"`
	At int64         `json:"at"` // in milliseconds
	// Token is the id of the credential, Kind and Role what it opens.
	Token string `json:"tok"`
	Kind  string `json:"kind"`
	Role  string `json:"role,omitempty"`
	// Prefix is the beginning of the credential, as it is listed.
	Prefix string `json:"pre"`
	// Extension is whose token it is; empty for an operator's.
	Extension invocation.Slug `json:"ext,omitempty"`
	Method    string          `json:"m"`
	Path      string          `json:"p"`
	Members   []string        `json:"mem,omitempty"`
	// Status is that of the answer; zero if the process died over it.
	Status int `json:"st,omitempty"`
	// Seq is its place among the records.
	Seq uint64 `json:"-"`
}

// StoreAudit stores a record in place of what was stored of the request before.
func (l *Ledger) StoreAudit(ctx context.Context, a AuditRecord) error {
	data, err := encode(a)
	if err != nil {
		return err
	}
	_, err = l.put(ctx, &nats.Msg{Subject: auditSubject(a.ID), Data: data, Header: nats.Header{}})
	return err
}

// AuditRecords returns the records after a place that match, as the requests
// ended, and whether there are more.
func (l *Ledger) AuditRecords(
	ctx context.Context, after uint64, limit int, match func(AuditRecord) bool,
) (found []AuditRecord, more bool, err error) {
	return scan(ctx, l, span{stream: auditStream, subject: auditSubjects, after: after, limit: limit}, parseAudit, match)
}

func parseAudit(m *jetstream.RawStreamMsg) (AuditRecord, error) {
	a := AuditRecord{Seq: m.Sequence}
	return a, decode(m.Data, &a)
}
