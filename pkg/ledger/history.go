package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// HistoryID returns the id of the entry's history line i, 24 hex digits. It
// follows from the line's place alone, so every reader gives a line the same
// id. It is a hash and no place in the log: as a cause it names nothing
// (contract section 6).
func (e Entry) HistoryID(i int) invocation.ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "history\x00%s\x00%d\x00%d", e.Lock, e.Seq, i))
	return invocation.ID(hex.EncodeToString(sum[:12]))
}

// NewHistoryDelivery returns the first try to deliver the entry's history line
// i. It belongs to no chain: nothing that follows from it is caused by it.
func NewHistoryDelivery(e Entry, i int, to invocation.Party, body json.RawMessage) Delivery {
	return Delivery{
		ID: string(e.HistoryID(i)), Extension: to.Slug, Session: to.Session, Lock: e.Lock, Kind: "action_log.created",
		Body: body, Attempt: 1, FirstAt: e.At.UnixMilli(),
	}
}
