package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A StoredRequest asks for one stored message: the one at Sequence, the newest
// of LastBySubject, or the first of NextBySubject at or after Sequence.
type StoredRequest struct {
	Sequence      uint64 `json:"seq,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"`
}

type storedAnswer struct {
	Error   *jetstream.APIError `json:"error"`
	Message struct {
		Subject  string    `json:"subject"`
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
		Time     time.Time `json:"time"`
	} `json:"message"`
}

// Stored returns a message as the stream's leader knows it, which is never
// behind, or nil if there is none. The client library has no such read: its
// own may be served by a replica that lags (jetstream section 6, pitfall 27).
func (c *Conn) Stored(ctx context.Context, stream string, ask StoredRequest) (*jetstream.RawStreamMsg, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	// An answer that got lost must not be waited for as long as the caller lives.
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	msg, err := c.NC.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, body)
	if err != nil {
		return nil, fmt.Errorf("ask the leader of %s: %w", stream, err)
	}
	var got storedAnswer
	if err := json.Unmarshal(msg.Data, &got); err != nil {
		return nil, fmt.Errorf("decode the leader's answer: %w", err)
	}
	if got.Error != nil {
		if got.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return nil, nil
		}
		return nil, fmt.Errorf("ask the leader of %s: %w", stream, got.Error)
	}
	m := &jetstream.RawStreamMsg{Subject: got.Message.Subject, Sequence: got.Message.Sequence, Data: got.Message.Data, Time: got.Message.Time}
	if len(got.Message.Header) > 0 {
		if m.Header, err = nats.DecodeHeadersMsg(got.Message.Header); err != nil {
			return nil, fmt.Errorf("decode the headers: %w", err)
		}
	}
	return m, nil
}
