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

// DepthRule is how a dream chooses its depth, frozen with its order: what outcomes cannot move.
type DepthRule struct {
	Prior hypnagogia.Policy `json:"prior"`
}

// Fathomed is how deep an onset would go, and all that it is chosen by.
type Fathomed struct {
	Aim      dream.Depth         `json:"aim"`
	Sounding hypnagogia.Sounding `json:"sounding"`
	Learning hypnagogia.Learning `json:"learning"`
}

// learnedNights is how far back is looked for what depth is learned from: a year of one dream a night.
const learnedNights = 365

// Fathom reads what is known of an agent at a time and applies the policy to it. Chance is what the dice add.
func Fathom(ctx context.Context, store memory.Store, agent string, asOf time.Time, prior hypnagogia.Policy,
	chance float64, behaviour dream.Behaviour, cycles int,
) (Fathomed, error) {
	until := asOf.Add(1)
	lived, err := store.Find(ctx,
		memory.Query{
			Agent: agent, Kinds: []dream.Kind{dream.KindEpisode}, Limit: hypnagogia.SoundedEpisodes,
			Until: until,
		})
	if err != nil {
		return Fathomed{}, fmt.Errorf("sound the surprise of episodes: %w", err)
	}
	episodes := memory.As[*dream.Episode](lived) // newest first
	surprises := make([]float64, len(episodes))
	for i, e := range episodes {
		surprises[len(episodes)-1-i] = e.Surprise
	}
	all, err := Outcomes(ctx, store, agent)
	if err != nil {
		return Fathomed{}, err
	}
	outcomes := prediction.Until(all, asOf)
	nights, err := dreamt(ctx, store, agent, until, len(outcomes))
	if err != nil {
		return Fathomed{}, err
	}
	f := Fathomed{
		Sounding: hypnagogia.Sound(prediction.Residuals(prediction.Recent(outcomes, hypnagogia.SoundedResiduals)),
			surprises),
		Learning: hypnagogia.Learn(prior, hypnagogia.Scored(nights, judged(outcomes))),
	}
	f.Aim = f.Learning.Policy.Aim(f.Sounding, chance, behaviour, cycles)
	f.Aim.Learned, f.Aim.Outcomes = f.Learning.Learned, f.Learning.Outcomes
	return f, nil
}

// dreamt are the nights before that went to a chosen depth, oldest first. Without outcomes none of them can be scored.
func dreamt(ctx context.Context, store memory.Store, agent string, until time.Time,
	outcomes int,
) ([]hypnagogia.Dreamt, error) {
	if outcomes == 0 {
		return nil, nil
	}
	items, err := store.Find(ctx,
		memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: learnedNights, Until: until})
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

// judged are outcomes as the law of scoring takes them: creative ones compare within their phase.
func judged(outcomes []prediction.Outcome) []hypnagogia.Judged {
	out := make([]hypnagogia.Judged, len(outcomes))
	for i, o := range outcomes {
		sort := o.Source
		if o.Phase != "" {
			sort += "/" + string(o.Phase)
		}
		out[i] = hypnagogia.Judged{
			Dream:    o.Dream,
			Sort:     sort,
			Made:     o.Made,
			At:       o.ResolvedAt,
			Residual: o.Residual(),
		}
	}
	return out
}

// depthNote freezes how deep a night is to go.
const depthNote = "depth"

// aim is how deep a night goes, chosen when it lies down; nil for one whose order leaves no choice.
func (p Ports) aim(ctx context.Context, o Spec, s Stretch) (*dream.Depth, error) {
	if o.Depth == nil {
		return nil, nil
	}
	body, err := p.Memory.Note(ctx, s.Agent, s.Dream, depthNote)
	if errors.Is(err, memory.ErrNotFound) {
		body, err = p.fathom(ctx, o, s)
	}
	if err != nil {
		return nil, err
	}
	var f Fathomed
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("read how deep %s goes: %w", s.Dream, err)
	}
	return &f.Aim, nil
}

// sound is how deep an order's onset goes by what is known now.
func (p Ports) sound(ctx context.Context, o Spec) (Fathomed, error) {
	cycles := o.Knobs.Cycles
	if o.Tier == dream.Core {
		cycles = 0
	}
	chance := hypnagogia.Chance * (2*hypnagogia.Dice(o.Seed, dream.Onset, 0, 0, "depth").Float64() - 1)
	return Fathom(ctx, p.Memory, o.Agent, o.AsOf, o.Depth.Prior, chance, o.Behaviour, cycles)
}

func (p Ports) fathom(ctx context.Context, o Spec, s Stretch) ([]byte, error) {
	f, err := p.sound(ctx, o)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("note how deep %s goes: %w", s.Dream, err)
	}
	return p.Memory.PutNote(ctx, s.Agent, s.fence(), depthNote, body)
}

// went is the depth that a night was to go to, for its record; nil when it never got so far as to choose.
func (p Ports) went(ctx context.Context, agent, dreamID string) (*dream.Depth, error) {
	body, err := p.Memory.Note(ctx, agent, dreamID, depthNote)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how deep %s went: %w", dreamID, err)
	}
	var f Fathomed
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("read how deep %s went: %w", dreamID, err)
	}
	return &f.Aim, nil
}

// sensed tells of a judged partial how much sense it still made.
func sensed(f *dream.Fragment, logProb *float64) func(StepResult, error) (StepResult, error) {
	return func(r StepResult, err error) (StepResult, error) {
		for i := range r.Made {
			r.Made[i].Sense = senseOf(f, logProb)
		}
		return r, err
	}
}

// senseOf is the sense that a thought still made; nil for one that says nothing: silence is not too deep.
func senseOf(f *dream.Fragment, logProb *float64) *hypnagogia.Sense {
	if f.Content == "" {
		return nil
	}
	sense := hypnagogia.SenseOf(f.Content, f.Verdict.Coherence, logProb)
	return &sense
}
