// Package review holds what people and outcomes decide about what dreams have made: reviews of proposals, verdicts on
// predictions, and restoring what dreams archived.
package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// Reviewer lets a person decide about what dreams propose. It uses no fence, and writes under the name of the dream,
// so that undoing the dream undoes the decision.
type Reviewer struct {
	Memory    memory.DreamStore
	Now       func() time.Time
	MaxStaged int // the most hypotheses that may be staged
}

// Reasons to refuse a decision; nothing is written then.
var (
	ErrNotWaiting = errors.New("does not wait for a review")
	ErrGoesOn     = errors.New("still goes on")
	ErrPolicy     = errors.New("is barred by the policy, which no review lifts")
	ErrChanged    = errors.New("has changed since")
	ErrFull       = errors.New("too many hypotheses are staged")
)

// ErrProposed says that an item waits for a review and does not count yet.
var ErrProposed = errors.New("waits for a review")

// Waiting is everything of an agent that waits for a review, oldest first: proposals, then held fragments.
func (k Reviewer) Waiting(ctx context.Context, agent string) ([]dream.Item, error) {
	waiting, err := k.Memory.Find(ctx,
		memory.Query{Agent: agent, States: []dream.State{dream.Proposed}, Sort: memory.Oldest})
	if err != nil {
		return nil, fmt.Errorf("read what waits for a review: %w", err)
	}
	if err := memory.ReadClaims(ctx, k.Memory, agent, waiting); err != nil {
		return nil, err
	}
	slices.SortStableFunc(waiting,
		func(a, b dream.Item) int { return strings.Compare(a.Header().Dream, b.Header().Dream) })
	fragments, err := find[*dream.Fragment](ctx, k.Memory, "the fragments", dream.KindFragment, memory.Query{
		Agent: agent, Sort: memory.Oldest,
		Statuses: []string{dream.FragmentRaw, dream.FragmentSelected, dream.FragmentDeveloped, dream.FragmentPromoted},
	})
	if err != nil {
		return nil, err
	}
	for _, f := range fragments {
		if IsWaiting(f) {
			waiting = append(waiting, f)
		}
	}
	return waiting, nil
}

// IsWaiting says whether an item waits for a person.
func IsWaiting(item dream.Item) bool {
	if f, ok := item.(*dream.Fragment); ok {
		_, barred := f.Barred()
		return barred && f.State == dream.Live && f.Status != dream.FragmentDiscarded
	}
	return item.Header().State == dream.Proposed
}

// PolicyFlag is the policy flag that bars a fragment, which no review lifts.
func PolicyFlag(item dream.Item) (dream.Flag, bool) {
	if f, ok := item.(*dream.Fragment); ok {
		for _, flag := range f.Flags {
			if flag.Bars && strings.HasPrefix(flag.By, "policy/") {
				return flag, true
			}
		}
	}
	return dream.Flag{}, false
}

// Decision is a person's decision about items of one dream.
type Decision struct {
	Dream    string   `json:"dream"`
	Items    []string `json:"items"`
	Accepted bool     `json:"accepted"`
}

// Decide accepts or rejects items of one dream, all or none; duplicates count once.
func (k Reviewer) Decide(ctx context.Context, agent, dreamID string, ids []string, accept bool) (Decision, error) {
	done := Decision{Dream: dreamID, Items: dream.DistinctIDs(ids), Accepted: accept}
	if len(done.Items) == 0 {
		return done, fmt.Errorf("the decision about %s names no item; it must name something that waits", dreamID)
	}
	err := retryStale(func() error { return k.decide(ctx, agent, done) })
	return done, err
}

// deciding is a decision that is being written.
type deciding struct {
	Reviewer
	agent string
	now   time.Time
	items map[string]dream.Item // the items of the decision, by id
	w     memory.Write
	Decision
}

func (k Reviewer) decide(ctx context.Context, agent string, done Decision) error {
	record, err := memory.One[*dream.Record](ctx, k.Memory, agent, done.Dream)
	if err != nil {
		return err
	}
	if record.Unsettled() {
		return fmt.Errorf("dream %s %w; what it made can be reviewed when it is over", record.ID, ErrGoesOn)
	}
	items, err := k.Memory.Get(ctx, agent, done.Items...)
	if err != nil {
		return err
	}
	d := &deciding{
		Reviewer: k,
		agent:    agent,
		now:      k.Now().UTC(),
		items:    map[string]dream.Item{},
		Decision: done,
	}
	for _, item := range items {
		d.items[item.Header().ID] = item
	}
	for _, id := range done.Items {
		item, ok := d.items[id]
		switch {
		case !ok:
			return fmt.Errorf("%s: %w", id, memory.ErrNotFound)
		case !IsWaiting(item) || item.Header().Dream != done.Dream:
			return fmt.Errorf("%s %w", id, ErrNotWaiting)
		}
	}
	for _, item := range items {
		if err := d.one(ctx, item); err != nil {
			return err
		}
	}
	if err := d.room(ctx); err != nil {
		return err
	}
	first := items[0].Header()
	result := event.ReviewDecided{Items: done.Items, Accepted: done.Accepted, By: dream.ByPerson}
	d.announce(fmt.Sprintf("review/%s/%d", first.ID, first.Revision), result)
	d.w.Agent, d.w.Cause = agent, done.Dream
	if _, err := k.Memory.Commit(ctx, d.w); err != nil {
		return fmt.Errorf("write what was decided about %s: %w", done.Dream, err)
	}
	return nil
}

func (d *deciding) announce(activityName string, p event.Payload) {
	d.w.Events = append(d.w.Events, event.New(activityName+"/"+p.EventType(), d.agent, d.Dream, d.now, p))
}

func (d *deciding) one(ctx context.Context, item dream.Item) error {
	h := item.Header()
	d.w.Change = append(d.w.Change, item)
	if f, ok := item.(*dream.Fragment); ok {
		return d.fragment(f)
	}
	h.State = dream.Live
	if !d.Accepted {
		h.State = dream.Archived
	}
	switch i := item.(type) {
	case *dream.Proposal:
		h.State, i.Decided = dream.Archived, verdictOf(d.Accepted)
		if d.Accepted {
			return d.propose(ctx, i)
		}
	case *dream.Journal:
		if d.Accepted && i.Phase == dream.Return && i.Significance >= journal.Threshold {
			if d.w.OnWake == nil {
				d.w.OnWake = &memory.OnWake{}
			}
			d.w.OnWake.Digest = append(d.w.OnWake.Digest, h.ID)
		}
	case *dream.Hypothesis:
		if d.Accepted {
			d.announce(strings.TrimPrefix(h.ID, d.Dream+"/"),
				event.HypothesisStaged{Hypothesis: h.ID, Confidence: i.Confidence})
			return nil
		}
		return d.demote(ctx, i)
	}
	return nil
}

func verdictOf(accepted bool) string {
	if accepted {
		return "accepted"
	}
	return "rejected"
}

// fragment lifts the holds of hooks, or discards the fragment.
func (d *deciding) fragment(f *dream.Fragment) error {
	if !d.Accepted {
		f.Status, f.Reason = dream.FragmentDiscarded, "rejected at review"
		d.announce("review/"+f.ID,
			event.FragmentDiscarded{Fragment: f.ID, Reason: f.Reason, Composite: f.Verdict.Composite})
		return nil
	}
	if flag, barred := PolicyFlag(f); barred {
		return fmt.Errorf("%s %w (%s: %s)", f.ID, ErrPolicy, flag.By, flag.Reason)
	}
	if flag, barred := f.Barred(); barred && f.Reason == flag.Barring() {
		f.Reason = ""
	}
	f.Flags = slices.Clone(f.Flags)
	for i := range f.Flags {
		if f.Flags[i].Bars && f.Flags[i].Lifted.IsZero() {
			f.Flags[i].Lifted = d.now
		}
	}
	return nil
}

// propose carries out a proposal.
func (d *deciding) propose(ctx context.Context, p *dream.Proposal) error {
	if p.Does == dream.ProposeMood {
		if p.From == nil || p.To == nil {
			return nil
		}
		affect, err := d.Memory.Affect(ctx, d.agent)
		if err != nil {
			return fmt.Errorf("ask how the agent feels: %w", err)
		}
		d.w.Affect = &dream.Affect{PAD: shiftMood(affect.At(d.now), *p.From, *p.To), Since: d.now, Cause: d.Dream}
		return nil
	}
	e, err := memory.One[*dream.Semantic](ctx, d.Memory, d.agent, p.Of)
	if errors.Is(err, memory.ErrNotFound) {
		return nil // removed meanwhile: nothing to archive
	}
	if err != nil {
		return err
	}
	if e.State != dream.Live {
		return nil // already archived
	}
	if e.Revision != p.Was {
		return fmt.Errorf("%s would be archived by %s, and %w; reject that, a later dream looks at it again", p.Of,
			p.ID, ErrChanged)
	}
	stands, err := d.stands(ctx, p.Newer)
	if err != nil || !stands { // its replacement does not count
		return err
	}
	e.State, e.NewerID = dream.Archived, p.Newer
	d.w.Change = append(d.w.Change, e)
	d.announce(fmt.Sprintf("review/%s/%d", p.ID, p.Revision),
		event.ItemArchived{Item: e.ID, Kind: e.Kind, Newer: e.NewerID, Reason: event.Faded})
	return nil
}

// stands says whether an item is live, or will be after this write.
func (d *deciding) stands(ctx context.Context, id string) (bool, error) {
	if _, decided := d.items[id]; decided {
		return d.Accepted, nil
	}
	items, err := d.Memory.Get(ctx, d.agent, id)
	return err == nil && len(items) > 0 && items[0].Header().State == dream.Live, err
}

// shiftMood moves a mood by the difference of two others.
func shiftMood(now, from, to mood.PAD) mood.PAD {
	add := func(a, b, c float64) float64 { return min(1, max(-1, a+c-b)) }
	return mood.PAD{
		Pleasure: add(now.Pleasure, from.Pleasure, to.Pleasure), Arousal: add(now.Arousal, from.Arousal, to.Arousal),
		Dominance: add(now.Dominance, from.Dominance, to.Dominance),
	}
}

// demote reverts fragments that were promoted by a hypothesis.
func (d *deciding) demote(ctx context.Context, h *dream.Hypothesis) error {
	promoted, err := find[*dream.Fragment](ctx, d.Memory, "the fragments", dream.KindFragment, memory.Query{
		Agent: d.agent, Dream: d.Dream, Statuses: []string{dream.FragmentPromoted},
	})
	if err != nil {
		return err
	}
	for _, f := range promoted {
		if f.Hypothesis != h.ID {
			continue
		}
		f.Status, f.Hypothesis = dream.FragmentSelected, ""
		if f.Scenario != "" {
			f.Status = dream.FragmentDeveloped
		}
		d.w.Change = append(d.w.Change, f)
	}
	return nil
}

// room refuses more staged hypotheses than the limit. The waiting hypotheses are written back unchanged, so that of
// two concurrent decisions one fails and counts again.
func (d *deciding) room(ctx context.Context) error {
	accepted := 0
	for _, item := range d.items {
		if _, ok := item.(*dream.Hypothesis); ok && d.Accepted {
			accepted++
		}
	}
	if accepted == 0 || d.MaxStaged <= 0 {
		return nil
	}
	q := memory.Query{
		Agent: d.agent, Kinds: []dream.Kind{dream.KindHypothesis},
		Statuses: []string{dream.HypothesisStaged},
	}
	waiting := q
	waiting.States = []dream.State{dream.Proposed}
	others, err := d.Memory.Find(ctx, waiting)
	if err != nil {
		return fmt.Errorf("read which hypotheses wait: %w", err)
	}
	for _, h := range others {
		if _, decided := d.items[h.Header().ID]; !decided {
			d.w.Change = append(d.w.Change, h)
		}
	}
	staged, err := d.Memory.Count(ctx, q)
	if err == nil && staged+accepted > d.MaxStaged {
		err = fmt.Errorf("%w: %d are, %d more would be accepted, and %d may be", ErrFull, staged, accepted, d.MaxStaged)
	}
	return err
}
