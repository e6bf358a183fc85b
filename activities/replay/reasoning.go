package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// reasoningNote freezes the predictions whose reasoning a dream reviews.
const reasoningNote = "reasoning"

// ReviewedAtOnce is how many predictions one call reviews.
const ReviewedAtOnce = 10

// ReasoningTokens is the length of an answer about so many predictions.
func ReasoningTokens(predictions int) int { return 60 * (1 + predictions) }

const (
	memoriesOfEach = 3   // that are shown with a prediction
	shownOfMemory  = 300 // letters
	tries          = 3   // of a write that another one came before
)

type reasonings struct {
	Reasonings []struct {
		Ref     string `json:"ref"`
		Aligned *bool  `json:"aligned"`
		Reason  string `json:"reason"`
	} `json:"reasonings"`
}

// reviewReasoning reviews the reasoning behind the largest residuals of the last month, with the observer's model, or
// by program where that cannot judge, no money is left or its answer cannot be read. It is not told the outcomes. A
// dream under review changes no prediction and reviews nothing.
func (n replayRun) reviewReasoning(ctx context.Context, r activities.ReplayRequest) (activities.CallOutcome, error) {
	most := n.Spec.Knobs.ReviewedResiduals
	if most == 0 || n.Spec.Review.Holds() {
		return activities.CallOutcome{}, nil
	}
	ids, err := n.Frozen(ctx, reasoningNote, func() ([]string, error) {
		items, err := n.Memory.Find(ctx, memory.Query{
			Agent: n.Agent, Kinds: []dream.Kind{dream.KindPrediction},
			Statuses: []string{dream.PredictionRight, dream.PredictionWrong},
		})
		return core.IdsOf(prediction.ToReview(memory.As[*dream.Prediction](items), n.Spec.AsOf, most)), err
	})
	if err != nil || len(ids) == 0 {
		return activities.CallOutcome{}, err
	}
	model, err := n.Catalog.Lookup(n.Spec.Models[dream.Observer])
	if err != nil {
		return activities.CallOutcome{}, err
	}
	judges, batch := model.Judges, 0
	for part := range slices.Chunk(ids, ReviewedAtOnce) {
		batch++
		paused, err := n.reviewSome(ctx, r, fmt.Sprintf("%s/%d", reasoningNote, batch), part, &judges)
		if err != nil || paused.Interrupted() {
			return paused, err
		}
	}
	return activities.CallOutcome{}, nil
}

// argued is a prediction with the memories that it rests on.
type argued struct {
	*dream.Prediction
	memories []dream.Item
}

// reviewSome reviews the predictions of one call. It sets judges to false when no further call is to be made.
func (n replayRun) reviewSome(ctx context.Context, r activities.ReplayRequest, step string, ids []string,
	judges *bool,
) (activities.CallOutcome, error) {
	some, err := n.argued(ctx, ids)
	if err != nil {
		return activities.CallOutcome{}, err
	}
	var answer reasonings
	if *judges {
		done, err := n.askReasoning(ctx, r, step, some, &answer)
		var failed *activities.CallFailed
		switch {
		case errors.As(err, &failed): // the program reviews instead
			*judges = false
		case err != nil || done.Interrupted():
			return done, err
		case done.End == activities.EndCap:
			*judges = false
		}
	}
	for i, p := range some {
		if p.Reasoning != nil { // an earlier attempt of this activity wrote it
			continue
		}
		texts := core.TextsOf(p.memories)
		found := &dream.ReasoningReview{By: dream.ByProgram, Dream: n.Dream, At: n.Now()}
		found.Aligned, found.Reason = prediction.ReviewByProgram(p.Prediction, texts)
		for _, one := range answer.Reasonings {
			if core.TrimRef(one.Ref) == fmt.Sprintf("p%d", i+1) && one.Aligned != nil {
				found.By, found.Aligned = n.Spec.Models[dream.Observer], *one.Aligned
				found.Reason = core.OneLine(one.Reason)
			}
		}
		if err := n.writeReview(ctx, p.ID, found); err != nil {
			return activities.CallOutcome{}, err
		}
	}
	return activities.CallOutcome{}, nil
}

// argued reads predictions with their claims and the memories that they rest on; what was forgotten is left out.
func (n replayRun) argued(ctx context.Context, ids []string) ([]argued, error) {
	items, err := n.Get(ctx, ids...)
	if err != nil {
		return nil, fmt.Errorf("read whose reasoning is reviewed: %w", err)
	}
	if err := memory.ReadClaims(ctx, n.Memory, n.Agent, items); err != nil {
		return nil, err
	}
	var some []argued
	for _, p := range memory.As[*dream.Prediction](items) {
		rests, err := n.Get(ctx, dream.DistinctIDs(append(slices.Clone(p.Episodes), p.Sources...))...)
		if err != nil {
			return nil, fmt.Errorf("read what a prediction rests on: %w", err)
		}
		lived := slices.DeleteFunc(rests, func(item dream.Item) bool { return item.Header().Dream != "" })
		some = append(some, argued{p, lived})
	}
	return some, nil
}

// askReasoning asks the observer's model.
func (n replayRun) askReasoning(ctx context.Context, r activities.ReplayRequest, step string, some []argued,
	answer *reasonings,
) (activities.CallOutcome, error) {
	var view prompt.ReasoningInput
	refs, behind := map[string]string{}, []string(nil)
	for i, p := range some {
		shown := prompt.Argued{Ref: fmt.Sprintf("p%d", i+1), Claim: p.Claim, Trace: p.Trace}
		for _, item := range p.memories[:min(len(p.memories), memoriesOfEach)] {
			id := item.Header().ID
			if refs[id] == "" {
				refs[id] = fmt.Sprintf("m%d", len(refs)+1)
				behind = append(behind, id)
				view.Memories = append(view.Memories,
					prompt.Line{Ref: refs[id], Text: claims.Excerpt(item.Text(), p.Claim+" "+p.Trace, shownOfMemory)})
			}
			shown.Memories = append(shown.Memories, refs[id])
		}
		behind = append(behind, p.ID)
		view.Predictions = append(view.Predictions, shown)
	}
	_, done, err := n.AskFor(ctx, core.Call{
		Phase:  dream.NREM,
		Limit:  r.Limit,
		Tone:   r.Tone,
		Step:   step,
		Role:   dream.Observer,
		Text:   prompt.Reasoning(view),
		Behind: behind,
		Tokens: ReasoningTokens(len(some)),
		Seed:   n.SeedOf(dream.NREM, 0, 60),
	}, answer)
	return done, err
}

// writeReview writes what was found of one prediction, with the hypotheses that rest on it.
func (n replayRun) writeReview(ctx context.Context, id string, found *dream.ReasoningReview) error {
	for try := 1; ; try++ {
		p, err := memory.One[*dream.Prediction](ctx, n.Memory, n.Agent, id)
		if errors.Is(err, memory.ErrNotFound) || err == nil && p.Reasoning != nil {
			return nil
		}
		if err != nil {
			return err
		}
		p.Reasoning = found
		w, err := n.Resolver().Reviewed(ctx, p)
		if err == nil {
			err = n.Write(ctx, w)
		}
		if !errors.Is(err, memory.ErrStale) || try == tries {
			return err
		}
	}
}
