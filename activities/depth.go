package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// DepthRule is how a dream chooses its depth, frozen in its spec: the part that outcomes do not change.
type DepthRule struct {
	Prior hypnagogia.Policy `json:"prior"`
}

// DepthChoice is the chosen depth of an onset and what it was chosen by.
type DepthChoice struct {
	Aim      dream.Depth           `json:"aim"`
	Input    hypnagogia.DepthInput `json:"sounding"`
	Learning hypnagogia.Learning   `json:"learning"`
}

// learnedDreams is how many dreams depth is learned from: a year of one dream a night.
const learnedDreams = 365

// ChooseDepth reads what is known of an agent at a time and applies the depth policy. chance is the random part.
func ChooseDepth(ctx context.Context, store memory.Store, agent string, asOf time.Time, prior hypnagogia.Policy,
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
	episodes := memory.As[*dream.Episode](lived) // newest first
	surprises := make([]float64, len(episodes))
	for i, e := range episodes {
		surprises[len(episodes)-1-i] = e.Surprise
	}
	all, err := Outcomes(ctx, store, agent)
	if err != nil {
		return DepthChoice{}, err
	}
	outcomes := prediction.KnownAt(all, asOf)
	nights, err := dreamt(ctx, store, agent, until, len(outcomes))
	if err != nil {
		return DepthChoice{}, err
	}
	f := DepthChoice{
		Input: hypnagogia.DepthInputOf(prediction.Residuals(prediction.Recent(outcomes, hypnagogia.InputResiduals)),
			surprises),
		Learning: hypnagogia.Learn(prior, hypnagogia.Scored(nights, judged(outcomes))),
	}
	f.Aim = f.Learning.Policy.Aim(f.Input, chance, behaviour, cycles)
	f.Aim.Learned, f.Aim.Outcomes = f.Learning.Learned, f.Learning.Outcomes
	return f, nil
}

// dreamt are earlier dreams with a chosen depth, oldest first. Without outcomes none of them can be scored, so none
// are read.
func dreamt(ctx context.Context, store memory.Store, agent string, until time.Time,
	outcomes int,
) ([]hypnagogia.Dreamt, error) {
	if outcomes == 0 {
		return nil, nil
	}
	items, err := store.Find(ctx,
		memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: learnedDreams, Until: until})
	if err != nil {
		return nil, fmt.Errorf("read how deep the nights before went: %w", err)
	}
	var nights []hypnagogia.Dreamt
	for _, n := range memory.As[*dream.Record](items) {
		if n.Depth == nil || n.Outcome == dream.Dreaming {
			continue
		}
		d := hypnagogia.Dreamt{ID: n.ID, At: n.AsOf, Depth: *n.Depth}
		for _, t := range n.Phases {
			if t.Phase == dream.Onset {
				d.Ran = t.Cycles
			}
		}
		nights = append([]hypnagogia.Dreamt{d}, nights...)
	}
	return nights, nil
}

// judged converts outcomes for hypnagogia's scoring; creative ones are compared within their phase.
func judged(outcomes []prediction.Outcome) []hypnagogia.Judged {
	out := make([]hypnagogia.Judged, len(outcomes))
	for i, o := range outcomes {
		source := o.Source
		if o.Phase != "" {
			source += "/" + string(o.Phase)
		}
		out[i] = hypnagogia.Judged{
			Dream:    o.Dream,
			Sort:     source,
			Made:     o.Made,
			At:       o.ResolvedAt,
			Residual: o.Residual(),
		}
	}
	return out
}

// depthNote is the note that freezes the depth of a dream.
const depthNote = "depth"

// aim is the depth of a dream, chosen when it begins; nil for a spec without a depth rule.
func (p Ports) aim(ctx context.Context, spec Spec, s Stretch) (*dream.Depth, error) {
	if spec.Depth == nil {
		return nil, nil
	}
	body, err := p.Memory.Note(ctx, s.Agent, s.Dream, depthNote)
	if errors.Is(err, memory.ErrNotFound) {
		body, err = p.chooseDepth(ctx, spec, s)
	}
	if err != nil {
		return nil, err
	}
	var f DepthChoice
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("read how deep %s goes: %w", s.Dream, err)
	}
	return &f.Aim, nil
}

// currentDepth is how deep the onset of a spec would go by what is known now.
func (p Ports) currentDepth(ctx context.Context, spec Spec) (DepthChoice, error) {
	cycles := spec.Knobs.Cycles
	if spec.Tier == dream.Core {
		cycles = 0
	}
	chance := hypnagogia.Chance * (2*hypnagogia.Dice(spec.Seed, dream.Onset, 0, 0, "depth").Float64() - 1)
	return ChooseDepth(ctx, p.Memory, spec.Agent, spec.AsOf, spec.Depth.Prior, chance, spec.Behaviour, cycles)
}

func (p Ports) chooseDepth(ctx context.Context, spec Spec, s Stretch) ([]byte, error) {
	f, err := p.currentDepth(ctx, spec)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("note how deep %s goes: %w", s.Dream, err)
	}
	return p.Memory.PutNote(ctx, s.Agent, s.fence(), depthNote, body)
}

// depthOf is the depth that a dream chose, for its record; nil when it never chose one.
func (p Ports) depthOf(ctx context.Context, agent, dreamID string) (*dream.Depth, error) {
	body, err := p.Memory.Note(ctx, agent, dreamID, depthNote)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how deep %s went: %w", dreamID, err)
	}
	var f DepthChoice
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("read how deep %s went: %w", dreamID, err)
	}
	return &f.Aim, nil
}

// sensed adds to the results of a judged partial how coherent it still was.
func sensed(f *dream.Fragment, logProb *float64) func(StepResult, error) (StepResult, error) {
	return func(r StepResult, err error) (StepResult, error) {
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
