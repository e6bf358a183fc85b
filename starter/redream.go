package starter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/workflows"
)

// RedreamRequest is a request to dream a dream anew from one of its phases. Zero fields take that dream's values.
type RedreamRequest struct {
	DreamRequest
	Dream string
	From  dream.Phase
}

// Redream begins a dream that takes over the results of another dream's earlier phases by reference and runs the
// later phases again, as paid calls. The other dream and its items do not change. activities.ErrNoRedream when there
// is nothing to take over.
func (s *Starter) Redream(ctx context.Context, w RedreamRequest) (workflows.StartedDream, error) {
	d, err := drafter{s}.checkRedream(ctx, w)
	if err != nil {
		return workflows.StartedDream{}, err
	}
	return drafter{s}.begin(ctx, d)
}

// EstimateRedream prices it: only the phases that run again cost.
func (s *Starter) EstimateRedream(ctx context.Context, w RedreamRequest) (Estimate, error) {
	d, err := drafter{s}.checkRedream(ctx, w)
	if err != nil {
		return Estimate{}, err
	}
	return estimate(d), nil
}

func (s drafter) checkRedream(ctx context.Context, w RedreamRequest) (checkedRequest, error) {
	if !slices.Contains(dream.Redreamt, w.From) {
		return checkedRequest{}, fmt.Errorf("from %q must be one of %v: an onset anew is another dream", w.From, dream.Redreamt)
	}
	agent, err := s.Memory.Agent(ctx, w.Agent)
	if err != nil {
		return checkedRequest{}, fmt.Errorf("agent %q: %w", w.Agent, err)
	}
	record, err := memory.One[*dream.Record](ctx, s.Memory, agent.ID, w.Dream)
	if err != nil {
		return checkedRequest{}, err
	}
	if w.Tier == "" {
		w.Tier = record.Tier
	}
	if w.Theme == "" {
		w.Theme = record.Theme
	}
	if w.Tier == dream.Core && w.From != dream.Return {
		return checkedRequest{},
			fmt.Errorf("%s is of the core tier, which has no %s: it %w from there; request the hardened tier",
				w.Dream, w.From, activities.ErrNoRedream)
	}
	from := dream.Redream{Dream: w.Dream, From: w.From}
	taken, err := dreamrun.TakenOver(ctx, s.Memory, agent.ID, from)
	if err != nil {
		return checkedRequest{}, err
	}
	if dreamrun.GroupTakenOver(taken).Empty() {
		return checkedRequest{},
			fmt.Errorf("%s kept nothing before its %s to go on with: it %w from there; begin a dream instead",
				w.Dream, w.From, activities.ErrNoRedream)
	}
	d, err := s.check(ctx, w.DreamRequest)
	if err != nil {
		return checkedRequest{}, err
	}
	d.spec.Redreams, d.spec.Depth, d.spec.Hooks = &from, nil, slices.DeleteFunc(slices.Clone(d.spec.Hooks), onlyOnset)
	return d, nil
}

// onlyOnset says whether a hook has no effect on a dream without an onset.
func onlyOnset(r activities.HookRule) bool { return !slices.Contains(r.At, activities.AtExit) }

// CapLeft is a cap of a dream and what is left under it.
type CapLeft struct {
	Scope string        `json:"scope"`
	Limit budget.Micros `json:"limit_micros"`
	Left  budget.Micros `json:"left_micros"`
}

// Rehearsal is what a dream would do, without running it: what it would gather, its depth, its hooks and its cost.
type Rehearsal struct {
	Estimate  Estimate                   `json:"estimate"`
	Seed      uint64                     `json:"seed"`
	Gather    onset.Gathering            `json:"gather"`
	Depth     *onset.DepthChoice         `json:"depth,omitempty"` // nil: the peak
	Skipped   string                     `json:"onset_skipped,omitempty"`
	Hooks     []activities.HookRule      `json:"hooks"`
	Review    dream.Review               `json:"review"`
	Caps      []CapLeft                  `json:"caps"`
	Against   []string                   `json:"against"` // what would prevent it now
	Knobs     dream.Knobs                `json:"-"`
	Loosening hypnagogia.LooseningChoice `json:"loosening"` // of the generator
	Policy    []string                   `json:"policy"`    // the rules that fragments are checked against
}

// Rehearse computes everything about a dream that is known without running it. It writes nothing and calls no model.
func (s *Starter) Rehearse(ctx context.Context, w DreamRequest) (Rehearsal, error) {
	d, err := drafter{s}.check(ctx, w)
	if err != nil {
		return Rehearsal{}, err
	}
	o := d.spec
	r := Rehearsal{
		Estimate:  estimate(d),
		Seed:      o.Seed,
		Hooks:     o.Hooks,
		Review:    o.Review,
		Knobs:     o.Knobs,
		Against:   []string{},
		Policy:    policyOf(o),
		Loosening: LooseningOf(o.Knobs.Loosening, d.specs[dream.Generator]),
	}
	if r.Review == "" {
		r.Review = dream.ReviewAuto
	}
	r.Gather, err = onset.WouldGather(ctx, s.Memory, s.Catalog, o)
	if err != nil {
		return r, err
	}
	if o.Depth != nil {
		f, err := onset.WouldChooseDepth(ctx, s.Memory, o)
		if err != nil {
			return r, err
		}
		r.Depth = &f
	}
	if err := (drafter{s}).fillCaps(ctx, d, &r); err != nil {
		return r, err
	}
	return r, drafter{s}.obstacles(ctx, d, &r)
}

// fillCaps fills in what is left under every cap.
func (s drafter) fillCaps(ctx context.Context, d checkedRequest, r *Rehearsal) error {
	least := d.spec.Budget
	r.Caps = []CapLeft{{Scope: "dream", Limit: d.spec.Budget, Left: d.spec.Budget}}
	if s.Ledger != nil {
		for _, account := range activities.DayAccounts(d.agent, d.spec.Day, s.Options.FleetDay) {
			b, err := s.Ledger.Balance(ctx, account.Scope)
			if err != nil {
				return fmt.Errorf("read account %s: %w", account.Scope, err)
			}
			c := CapLeft{Scope: account.Scope, Limit: account.Limit, Left: max(0, account.Limit-b.Reserved-b.Spent)}
			if account.Limit == budget.Unlimited {
				c.Left = budget.Unlimited
			}
			r.Caps, least = append(r.Caps, c), min(least, c.Left)
		}
	}
	r.Skipped = workflows.SkipReason(d.spec, least)
	if !d.spec.Free && least <= 0 {
		r.Against = append(r.Against, "nothing is left under one of its caps")
	}
	return nil
}

// obstacles adds what would prevent the dream now, as far as the store knows.
func (s drafter) obstacles(ctx context.Context, d checkedRequest, r *Rehearsal) error {
	slots, err := s.Memory.Slots(ctx)
	if err != nil {
		return err
	}
	if held, ok := slots[d.agent.ID]; ok {
		r.Against = append(r.Against, fmt.Sprintf("%s is dreaming %s", d.agent.Handle, held.Dream))
	}
	if s.Presence != nil {
		status, err := s.Presence.Status(ctx, d.agent.ID, s.Now())
		if err != nil {
			return fmt.Errorf("ask who is connected to %s: %w", d.agent.Handle, err)
		}
		if status.Awake(s.Now()) {
			r.Against = append(r.Against, d.agent.Handle+" is held awake")
		}
	}
	if r.Gather.Shown == 0 {
		r.Against = append(r.Against, "there are no memories to dream over: it would be empty")
	}
	if err := onset.WouldMeasure(ctx, s.Memory, s.Catalog, d.spec); errors.Is(err, memory.ErrSpace) {
		r.Against = append(r.Against, err.Error())
	} else if err != nil {
		return err
	}
	return nil
}
