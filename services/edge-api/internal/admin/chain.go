package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
)

type chainAnswer struct {
	CorrelationID invocation.ID `json:"correlationId"`
	TraceID       string        `json:"traceId"`
	Nodes         []node        `json:"nodes"`
}

// A node is one step of a chain. Times that nobody recorded are null.
type node struct {
	Kind       ledger.LinkKind   `json:"kind"`
	ID         string            `json:"id"`
	ParentID   *string           `json:"parentId"`
	LockID     invocation.LockID `json:"lockId"`
	Depth      int               `json:"depth"`
	Name       string            `json:"name"`
	Extension  invocation.Slug   `json:"extension"`
	Caller     *invocation.Slug  `json:"caller"`
	Status     string            `json:"status"`
	ErrorCode  *string           `json:"errorCode"`
	Attempts   int               `json:"attempts"`
	CreatedAt  string            `json:"createdAt"`
	StartedAt  *string           `json:"startedAt"`
	FinishedAt *string           `json:"finishedAt"`
	QueueMS    *int64            `json:"queueMs"`
	RunMS      *int64            `json:"runMs"`
}

// recorded is the status of an event, which has no other.
const recorded = "recorded"

func (a *API) getChain(w http.ResponseWriter, r *http.Request) error {
	id := invocation.ID(r.PathValue("correlationId"))
	if !invocation.ValidID(string(id)) {
		return invocation.Refuse(invocation.ResourceNotFound)
	}
	links, err := a.ledger.Chain(r.Context(), id)
	if err != nil {
		return err
	}
	nodes, err := a.nodes(r.Context(), links)
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return invocation.Refuse(invocation.ResourceNotFound)
	}
	return wire.Answer(w, http.StatusOK, chainAnswer{
		CorrelationID: id, TraceID: telemetry.TraceIDOf(string(id)), Nodes: causesFirst(nodes),
	})
}

// nodes reads the fact behind each link. One that is no longer kept is left
// out.
func (a *API) nodes(ctx context.Context, links []ledger.Link) ([]node, error) {
	var nodes []node
	events := make(map[invocation.ID]node)
	for _, l := range links {
		var n node
		var err error
		switch l.Kind {
		case ledger.EventLink:
			if n, err = a.eventNode(ctx, l); err == nil {
				events[l.ID] = n
			}
		case ledger.InvocationLink:
			n, err = a.invocationNode(ctx, l)
		case ledger.DeliveryLink:
			continue
		}
		switch code := invocation.CodeOf(err); {
		case err == nil:
			nodes = append(nodes, n)
		case code != invocation.ResourceNotFound && code != invocation.InvocationNotFound:
			return nil, err
		}
	}
	return append(nodes, deliveryNodes(links, events)...), nil
}

func (a *API) eventNode(ctx context.Context, l ledger.Link) (node, error) {
	e, err := a.ledger.Event(ctx, l.Lock, l.ID)
	if err != nil {
		return node{}, err
	}
	return node{
		Kind: l.Kind, ID: string(e.ID), ParentID: wire.OrNull(string(e.Chain.Causation)), LockID: e.Lock, Depth: e.Chain.Depth,
		Name: string(e.Type), Extension: e.Source.Extension, Status: recorded, CreatedAt: invocation.FormatTime(e.CreatedAt),
	}, nil
}

func (a *API) invocationNode(ctx context.Context, l ledger.Link) (node, error) {
	inv, err := a.ledger.Invocation(ctx, l.Lock, l.ID)
	if err != nil {
		return node{}, err
	}
	n := node{
		Kind: l.Kind, ID: string(inv.ID), ParentID: wire.OrNull(string(inv.Chain.Causation)), LockID: inv.Lock, Depth: inv.Chain.Depth,
		Name: string(inv.Command), Extension: inv.Target.Slug, Caller: &inv.Caller.Slug, Status: string(inv.Status),
		Attempts: 1, CreatedAt: invocation.FormatTime(inv.CreatedAt), FinishedAt: wire.TimeOrNull(inv.SettledAt),
	}
	if inv.Error != nil {
		n.ErrorCode = wire.OrNull(inv.Error.Code)
	}
	switch {
	case inv.Error != nil && inv.Error.Code == invocation.DispatchExpired:
		n.Attempts = 0
	case !inv.Status.Settled():
		s, err := a.ledger.Standing(ctx, inv)
		if err != nil {
			return node{}, err
		}
		if s.Claim.Deadline.IsZero() && s.Settled == nil {
			n.Attempts = 0
		}
	}
	return n, nil
}

// deliveryNodes returns one node for each delivery, put together from the links
// of its attempts. The parent of a delivery is its event.
func deliveryNodes(links []ledger.Link, events map[invocation.ID]node) []node {
	var nodes []node
	for _, l := range links {
		event, found := events[l.ID]
		if l.Kind != ledger.DeliveryLink || !found {
			continue
		}
		id := string(l.Extension) + "-" + string(l.ID)
		i := slices.IndexFunc(nodes, func(n node) bool { return n.ID == id })
		if i < 0 {
			i = len(nodes)
			nodes = append(nodes, node{
				Kind: l.Kind, ID: id, ParentID: &event.ID, LockID: l.Lock, Depth: event.Depth, Name: wire.LockEventCreated,
				Extension: l.Extension, CreatedAt: event.CreatedAt,
			})
		}
		nodes[i].attempted(l)
	}
	return nodes
}

// attempted adds what one attempt came to. The last one's word counts.
func (n *node) attempted(l ledger.Link) {
	if l.Try < n.Attempts {
		return
	}
	n.Attempts, n.Status = l.Try, l.Status
	n.FinishedAt = nil
	if l.Status != statePending {
		n.FinishedAt = wire.TimeOrNull(time.UnixMilli(l.At))
	}
}

// causesFirst returns the nodes in an order in which each stands behind its
// parent, and else in the order in which they were noted.
func causesFirst(nodes []node) []node {
	waiting := make(map[string][]node) // by the parent they wait for
	there := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		there[n.ID] = true
	}
	out := make([]node, 0, len(nodes))
	for _, n := range nodes {
		if n.ParentID != nil && there[*n.ParentID] {
			waiting[*n.ParentID] = append(waiting[*n.ParentID], n)
		} else {
			out = append(out, n)
		}
	}
	for i := 0; i < len(out); i++ {
		out = append(out, waiting[out[i].ID]...)
		delete(waiting, out[i].ID)
	}
	return out
}

func millis(ms int64) string { return invocation.FormatTime(time.UnixMilli(ms)) }
