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

// behaviour is the agent's behaviour now: by the vitality set from outside, otherwise by the smallest share left of
// its day's and month's caps. It is empty for a spec without behaviour.
func (p Ports) behaviour(ctx context.Context, spec Spec) (dream.Behaviour, error) {
	if spec.Behaviour == "" {
		return "", nil
	}
	agent, err := p.Memory.Agent(ctx, spec.Agent)
	if err != nil {
		return "", fmt.Errorf("read agent %s: %w", spec.Agent, err)
	}
	var caps []circadian.Cap
	for _, account := range spec.Accounts {
		if spec.Free || !strings.HasPrefix(account.Scope, "day:") && !strings.HasPrefix(account.Scope, "month:") {
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
	if spec.Thresholds != nil {
		bounds = *spec.Thresholds
	}
	return circadian.BehaviourOf(circadian.Vitality(agent.Vitality, caps...), bounds), nil
}

// waking is the mood that a wake would leave now: as if the dream ended here with a return of zero length.
func (p Ports) waking(ctx context.Context, spec Spec, s Stretch) (*memory.Waking, error) {
	record, err := memory.One[*dream.Record](ctx, p.Memory, s.Agent, s.Dream)
	if err != nil {
		return nil, err
	}
	items, err := p.kept(ctx, s)
	if err != nil {
		return nil, err
	}
	after, err := p.left(ctx, spec, items, record)
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

// left is the mood that a dream leaves: the waking mood, moved part of the way toward the tone of the kept fragments.
func (p Ports) left(ctx context.Context, spec Spec, kept []*dream.Fragment, record *dream.Record) (mood.PAD, error) {
	dreamt, err := p.tone(ctx, record.Agent, kept, record)
	return record.Before.Toward(dreamt, spec.Knobs.MoodShift), err
}

// tone is the mean affect of the lived memories behind the kept fragments; without any, the waking mood. Fragments
// whose shift a wake has already applied are left out.
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
