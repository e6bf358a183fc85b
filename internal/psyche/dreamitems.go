package psyche

import (
	"context"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// Insight is what a dream has brought that a client may be told: what reality or a person has confirmed, and what
// surfaced on return and is significant enough, which is labelled as dreamt and unverified.
type Insight struct {
	ID           string      `json:"id"`
	Object       string      `json:"object"` // "insight"
	Kind         dream.Kind  `json:"kind"`   // journal, hypothesis or playbook
	Dream        string      `json:"dream"`  // fits into an address
	Created      int64       `json:"created_at"`
	Promoted     bool        `json:"promoted"`        // confirmed, and acted by
	Label        string      `json:"label,omitempty"` // "dream, unverified"
	Significance float64     `json:"significance"`    // [0, 1]; confidence, of what was promoted
	Topics       []string    `json:"topics,omitempty"`
	Taint        dream.Taint `json:"taint"`
	// withheld from role client where the deployment's digest is the header
	Content string `json:"content,omitempty"`
}

// Insights are those of a dream, promoted ones first, for every role. Partials are none: what a dream wrote when it
// was interrupted is in the journal, for operators.
func (d *Dreams) Insights(ctx context.Context, c Caller, id string) (Page[Insight], error) {
	a, n, err := d.record(ctx, c, access.Client, id)
	if err != nil {
		return Page[Insight]{}, err
	}
	found := []Insight{}
	operator := c.May(access.Operator, a.Handle)
	if !operator && d.hidesDreams(a) {
		return pageFrom(found, 0, Insight.name), nil
	}
	d.once.Do(func() { d.knownOwners = newKnownOwners(d.Memory, d.Now) })
	maySee, err := d.knownOwners.maySeeDreams(ctx, c, a.ID, a.Handle, d.Shared)
	if err != nil {
		return Page[Insight]{}, unreadStore(ctx, err)
	}
	if !maySee {
		return pageFrom(found, 0, Insight.name), nil
	}
	items, err := d.Memory.Find(ctx, memory.Query{
		Agent: a.ID, Dream: n.ID, Kinds: []dream.Kind{dream.KindJournal, dream.KindHypothesis, dream.KindPlaybook},
		Sort: memory.Oldest,
	})
	if err != nil {
		return Page[Insight]{}, unreadStore(ctx, err)
	}
	for _, item := range items {
		if i, ok := insightFrom(item, PublicID(n.ID)); ok {
			if !operator && d.Digest == journal.DigestHeader {
				i.Content, i.Topics = "", nil
			}
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(x, y Insight) int {
		switch {
		case x.Promoted == y.Promoted:
			return 0
		case x.Promoted:
			return -1
		}
		return 1
	})
	return pageFrom(found, len(found), Insight.name), nil
}

// hidesDreams reports whether role client is shown nothing of what an agent's dreams bring, not even how much.
func (d *Dreams) hidesDreams(a dream.Agent) bool {
	return d.Private || d.Digest == journal.DigestOff || d.Except[a.Handle]
}

func (i Insight) name() string { return i.ID }

// insightFrom converts an item that a client may see.
func insightFrom(item dream.Item, of string) (Insight, bool) {
	h := item.Header()
	i := Insight{
		ID:           h.ID,
		Object:       "insight",
		Kind:         h.Kind,
		Dream:        of,
		Created:      h.At.Unix(),
		Taint:        h.Taint,
		Content:      item.Text(),
		Significance: item.Marks().Score,
	}
	switch item := item.(type) {
	case *dream.Journal:
		if item.Interrupted || len(item.Flags) > 0 || len(journal.Visible([]*dream.Journal{item})) == 0 {
			return i, false
		}
		i.Label, i.Topics = journal.Label, item.Topics
		return i, true
	case *dream.Hypothesis:
		i.Promoted = item.Status == dream.HypothesisPromoted && len(item.Flags) == 0
	case *dream.Playbook:
		i.Promoted = true
	}
	return i, i.Promoted && h.State == dream.Live
}

// ItemsOf are the items of one kind that a dream made, by what they count for, oldest first. It needs role operator.
func ItemsOf[T dream.Item](ctx context.Context, d *Dreams, c Caller, id string, kind dream.Kind, after string,
	limit int,
) (Page[T], error) {
	a, n, err := d.record(ctx, c, access.Operator, id)
	if err != nil {
		return Page[T]{}, err
	}
	return someOf[T](ctx, d, memory.Query{
		Agent:  a.ID,
		Dream:  n.ID,
		Kinds:  []dream.Kind{kind},
		Sort:   memory.Oldest,
		States: dream.States,
	}, after, limit)
}

// HeldOf are an agent's live items of one kind, in an order. It needs role operator.
func HeldOf[T dream.Item](ctx context.Context, d *Dreams, c Caller, agent string, q memory.Query, after string,
	limit int,
) (Page[T], error) {
	a, err := d.agent(ctx, c, access.Operator, agent)
	if err != nil {
		return Page[T]{}, err
	}
	q.Agent = a.ID
	return someOf[T](ctx, d, q, after, limit)
}

// someOf returns the part of a query after an item. A store answers a query in a stable order, so that a page
// continues the one before it as long as that item exists.
func someOf[T dream.Item](ctx context.Context, d *Dreams, q memory.Query, after string, n int) (Page[T], error) {
	limit, err := pageLimit(n)
	if err != nil {
		return Page[T]{}, err
	}
	if after == "" {
		q.Limit = limit + 1
	}
	found, err := d.Memory.Find(ctx, q)
	if err != nil {
		return Page[T]{}, unreadStore(ctx, err)
	}
	if err := memory.ReadClaims(ctx, d.Memory, q.Agent, found); err != nil {
		return Page[T]{}, unreadStore(ctx, err)
	}
	id := func(item T) string { return item.Header().ID }
	all := memory.As[T](found)
	if after != "" {
		at := slices.IndexFunc(all, func(item T) bool { return id(item) == after })
		if at < 0 {
			return Page[T]{},
				badParam("after", "after is %q, which this list does not hold; it is the last_id of the page before",
					after)
		}
		all = all[at+1:]
	}
	return pageFrom(all[:min(limit+1, len(all))], limit, id), nil
}
