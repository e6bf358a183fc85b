package onset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// DepthChoice is the chosen depth of an onset and what it was chosen by.
type DepthChoice struct {
	Aim      dream.Depth           `json:"aim"`
	Input    hypnagogia.DepthInput `json:"sounding"`
	Learning hypnagogia.Learning   `json:"learning"`
}

// learnedDreams is how many dreams depth is learned from: a year of one dream a night.
const learnedDreams = 365

// ChooseDepth reads what is known of an agent at a time and applies the depth policy. chance is the random part.
func ChooseDepth(ctx context.Context, store memory.DreamStore, agent string, asOf time.Time, prior hypnagogia.Policy,
	chance float64, behaviour dream.Behaviour, cycles int,
) (DepthChoice, error) {
	until := asOf.Add(1)
	lived, err := store.Find(ctx,
		memory.Query{
			Agent: agent, Kinds: []dream.Kind{dream.KindEpisode}, Limit: hypnagogia.InputEpisodes,
			Until: until,
		})
	if err != nil {
		return DepthChoice{}, fmt.Errorf("sound the surprise of episodes: %w", err)
	}
	all, err := review.Outcomes(ctx, store, agent)
	if err != nil {
		return DepthChoice{}, err
	}
	outcomes := prediction.KnownAt(all, asOf)
	episodes := memory.As[*dream.Episode](lived) // newest first
	surprises := make([]float64, len(episodes))
	surpriseOf := prediction.SurpriseOf(outcomes)
	for i, e := range episodes {
		surprises[len(episodes)-1-i] = surpriseOf(e.ID, e.Surprise)
	}
	nights, err := dreamt(ctx, store, agent, until, len(outcomes))
	if err != nil {
		return DepthChoice{}, err
	}
	f := DepthChoice{
		Input: hypnagogia.DepthInputOf(prediction.Surprises(prediction.Recent(outcomes, hypnagogia.InputOutcomes)),
			surprises),
		Learning: hypnagogia.Learn(prior, hypnagogia.Scored(nights, judged(outcomes))),
	}
	f.Aim = f.Learning.Policy.Aim(f.Input, chance, behaviour, cycles)
	f.Aim.Learned, f.Aim.Outcomes = f.Learning.Learned, f.Learning.Outcomes
	return f, nil
}

// dreamt are earlier dreams with a chosen depth, oldest first. Without outcomes none of them can be scored, so none
// are read.
func dreamt(ctx context.Context, store memory.DreamStore, agent string, until time.Time,
	outcomes int,
) ([]hypnagogia.ScoredDream, error) {
	if outcomes == 0 {
		return nil, nil
	}
	items, err := store.Find(ctx,
		memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: learnedDreams, Until: until})
	if err != nil {
		return nil, fmt.Errorf("read how deep the nights before went: %w", err)
	}
	var nights []hypnagogia.ScoredDream
	for _, n := range memory.As[*dream.Record](items) {
		if n.Depth == nil || n.Outcome == dream.Dreaming {
			continue
		}
		d := hypnagogia.ScoredDream{ID: n.ID, At: n.AsOf, Depth: *n.Depth}
		for _, t := range n.Phases {
			if t.Phase == dream.Onset {
				d.Ran = t.Cycles
			}
		}
		nights = append([]hypnagogia.ScoredDream{d}, nights...)
	}
	return nights, nil
}

// judged converts outcomes for hypnagogia's scoring; creative ones are compared within their phase.
func judged(outcomes []prediction.Outcome) []hypnagogia.ResolvedPrediction {
	out := make([]hypnagogia.ResolvedPrediction, len(outcomes))
	for i, o := range outcomes {
		source := o.Source
		if o.Phase != "" {
			source += "/" + string(o.Phase)
		}
		out[i] = hypnagogia.ResolvedPrediction{
			Dream:    o.Dream,
			Sort:     source,
			Made:     o.Made,
			At:       o.ResolvedAt,
			Surprise: o.Surprise(),
		}
	}
	return out
}

// aim is the depth of a dream, chosen when it begins; nil for a spec without a depth rule.
func (o onsetRun) aim(ctx context.Context) (*dream.Depth, error) {
	if o.Spec.Depth == nil {
		return nil, nil
	}
	body, err := o.Note(ctx, core.DepthNote)
	if errors.Is(err, memory.ErrNotFound) {
		body, err = o.chooseDepth(ctx)
	}
	if err != nil {
		return nil, err
	}
	var f DepthChoice
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("read how deep %s goes: %w", o.Dream, err)
	}
	return &f.Aim, nil
}

// currentDepth is how deep the onset of a spec would go by what is known now.
func (o onsetRun) currentDepth(ctx context.Context) (DepthChoice, error) {
	cycles := o.Spec.Knobs.Cycles
	if o.Spec.Tier == dream.Core {
		cycles = 0
	}
	chance := hypnagogia.DepthNoise * (2*hypnagogia.Dice(o.Spec.Seed, dream.Onset, 0, 0, "depth").Float64() - 1)
	return ChooseDepth(ctx, o.Memory, o.Agent, o.Spec.AsOf, o.Spec.Depth.Prior, chance, o.Spec.Behaviour, cycles)
}

func (o onsetRun) chooseDepth(ctx context.Context) ([]byte, error) {
	f, err := o.currentDepth(ctx)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("note how deep %s goes: %w", o.Dream, err)
	}
	return o.PutNote(ctx, core.DepthNote, body)
}

// sensed adds to the results of a judged partial how coherent it still was.
func sensed(f *dream.Fragment, logProb *float64) func(activities.StepResult, error) (activities.StepResult, error) {
	return func(r activities.StepResult, err error) (activities.StepResult, error) {
		for i := range r.Made {
			r.Made[i].Sense = senseOf(f, logProb)
		}
		return r, err
	}
}

// senseOf is how coherent a thought still is; nil for an empty one, which does not count as too deep.
func senseOf(f *dream.Fragment, logProb *float64) *hypnagogia.Sense {
	if f.Content == "" {
		return nil
	}
	sense := hypnagogia.SenseOf(f.Content, f.Verdict.Coherence, logProb)
	return &sense
}
