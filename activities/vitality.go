package activities

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// behaviour is how an agent does now: by the vitality set from outside, else by the least share left of the caps of
// its day and month. A dream that is not bounded by it, because its order names none, does not ask.
func (p Ports) behaviour(ctx context.Context, o Spec) (dream.Behaviour, error) {
	if o.Behaviour == "" {
		return "", nil
	}
	agent, err := p.Memory.Agent(ctx, o.Agent)
	if err != nil {
		return "", fmt.Errorf("read agent %s: %w", o.Agent, err)
	}
	var caps []circadian.Cap
	for _, account := range o.Accounts {
		if o.Free || !strings.HasPrefix(account.Scope, "day:") && !strings.HasPrefix(account.Scope, "month:") {
			continue
		}
		balance, err := p.Guard.Ledger.Balance(ctx, account.Scope)
		if err != nil {
			return "", fmt.Errorf("read account %s: %w", account.Scope, err)
		}
		caps = append(caps,
			circadian.Cap{Left: max(0, account.Limit-balance.Reserved-balance.Spent), Limit: account.Limit})
	}
	bounds := circadian.DefaultThresholds
	if o.Thresholds != nil {
		bounds = *o.Thresholds
	}
	return circadian.BehaviourOf(circadian.Vitality(agent.Vitality, caps...), bounds), nil
}

// waking is what a knock would find now: the mood that the dream, woken here, would leave as a return of zero length.
func (p Ports) waking(ctx context.Context, o Spec, s Stretch) (*memory.Waking, error) {
	record, err := memory.One[*dream.Record](ctx, p.Memory, s.Agent, s.Dream)
	if err != nil {
		return nil, err
	}
	items, err := p.kept(ctx, s)
	if err != nil {
		return nil, err
	}
	after, err := p.left(ctx, o, items, record)
	return &memory.Waking{Mood: &after, Since: record.BeforeAt}, err
}

// kept are the fragments that a dream has kept so far.
func (p Ports) kept(ctx context.Context, s Stretch) ([]*dream.Fragment, error) {
	items, err := p.Memory.Find(ctx, memory.Query{
		Agent: s.Agent, Dream: s.Dream, Kinds: []dream.Kind{dream.KindFragment},
		Statuses: []string{dream.FragmentRaw, dream.FragmentSelected, dream.FragmentDeveloped, dream.FragmentPromoted},
	})
	if err != nil {
		return nil, fmt.Errorf("find what %s has kept: %w", s.Dream, err)
	}
	return memory.As[*dream.Fragment](items), nil
}

// left is the mood that a dream leaves: the waking one, moved a part of the way toward the tone of what was kept.
func (p Ports) left(ctx context.Context, o Spec, kept []*dream.Fragment, record *dream.Record) (mood.PAD, error) {
	dreamt, err := p.tone(ctx, record.Agent, kept, record)
	return record.Before.Toward(dreamt, o.Knobs.MoodShift), err
}

// tone is the mean affect of the lived memories that the kept fragments drew on; without any, the waking mood.
// Fragments that a knock has made the agent feel, and that are in the waking mood since, are left out: their shift is
// applied once
// .
func (p Ports) tone(ctx context.Context, agent string, fragments []*dream.Fragment,
	record *dream.Record,
) (mood.PAD, error) {
	waking := record.Before
	var sum mood.PAD
	n := 0.0
	for _, f := range fragments {
		if f.Cycle < record.Felt {
			continue
		}
		sources, err := p.Memory.Get(ctx, agent, f.Sources...)
		if err != nil {
			return waking, err
		}
		for _, e := range memory.As[*dream.Episode](sources) {
			sum.Pleasure += e.Affect.Pleasure
			sum.Arousal += e.Affect.Arousal
			sum.Dominance += e.Affect.Dominance
			n++
		}
	}
	if n == 0 {
		return waking, nil
	}
	return mood.PAD{Pleasure: sum.Pleasure / n, Arousal: sum.Arousal / n, Dominance: sum.Dominance / n}, nil
}
