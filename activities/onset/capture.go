package onset

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

type ratings struct {
	Ratings []rating `json:"ratings"`
}

type rating struct {
	Ref       string `json:"ref"`
	Rating    string `json:"rating"`
	Reason    string `json:"reason"`
	Criterion string `json:"criterion"`
	Days      int    `json:"days"`
	FirstStep string `json:"first_step"`

	by string // the model, or byComposite
}

// byComposite names the observer's composite as the rater.
const byComposite = "composite"

// Capture rates every kept fragment as promote, stage or discard and records a prediction for each. When the model's
// ratings have no meaning, or there is no money for the call, the best third by the observer's composite is promoted
// and nothing is discarded.
func (o *Onset) Capture(ctx context.Context, r activities.CaptureRequest) (activities.StepResult, error) {
	run, err := o.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	items, err := run.Get(ctx, r.Fragments...)
	if err != nil {
		return activities.StepResult{}, err
	}
	fragments := memory.As[*dream.Fragment](items)
	w := memory.Write{}
	fragments, made, done, err := run.separateBarred(ctx, r, fragments, &w)
	if err != nil || done.Interrupted() {
		return activities.StepResult{CallOutcome: done}, err
	}
	if len(fragments) == 0 {
		return activities.StepResult{Made: inOrder(r.Fragments, made)}, run.Write(ctx, w)
	}
	rated, done, err := run.rate(ctx, r, fragments)
	if err != nil || done.Interrupted() {
		return activities.StepResult{CallOutcome: done}, err
	}
	var predictions []dream.Item
	for i, f := range fragments {
		verdict := rated[i]
		f.Rating = &dream.Rating{Rated: verdict.Rating, By: verdict.by, Reason: verdict.Reason}
		switch verdict.Rating {
		case core.Promote:
			f.Status, f.Reason = dream.FragmentSelected, verdict.Reason
		case core.Discard:
			f.Status, f.Reason = dream.FragmentDiscarded, dream.LucidDiscard+verdict.Reason
			w.Events = append(w.Events, run.Event("capture/"+strings.TrimPrefix(f.ID, r.Dream+"/"),
				event.FragmentDiscarded{
					Fragment: f.ID, Reason: "discarded at lucid capture",
					Composite: f.Verdict.Composite,
				}))
		default:
			f.Reason = verdict.Reason
		}
		w.Change = append(w.Change, f)
		made = append(made,
			activities.MadeItem{
				ID: f.ID, Score: f.Verdict.Composite, Kept: f.Status != dream.FragmentDiscarded,
				Chosen: f.Status == dream.FragmentSelected,
			})
		predictions = append(predictions, run.fragmentPrediction(f, verdict))
	}
	predictions, err = run.Sift(ctx, predictions, &w)
	if err != nil {
		return activities.StepResult{}, err
	}
	w.Add = append(w.Add, predictions...)
	return activities.StepResult{CallOutcome: done, Made: inOrder(r.Fragments, made)}, run.Write(ctx, w)
}

func (o onsetRun) fragmentPrediction(f *dream.Fragment, r rating) *dream.Prediction {
	p := o.Foretell(dream.Onset, strings.TrimPrefix(f.ID, o.Dream+"/onset/")+"/p", "", r.Criterion, r.Days,
		f.Confidence, f.Reason, f.Sources)
	p.Guessed = f.Guessed
	p.Fragment = f.ID // its claim is the fragment's text, which memory.ReadClaims fills in
	return p
}

// rate returns one rating per fragment, in order.
func (o onsetRun) rate(ctx context.Context, r activities.CaptureRequest,
	fragments []*dream.Fragment,
) ([]rating, activities.CallOutcome, error) {
	measured := rateByComposite(fragments)
	model, err := o.Catalog.Lookup(o.Spec.Models[dream.Observer])
	if err != nil || !model.Judges || o.Spec.Tier == dream.Core {
		return measured, activities.CallOutcome{}, err
	}
	self, _, err := o.Self(ctx)
	if err != nil {
		return nil, activities.CallOutcome{}, err
	}
	existing, err := o.Playbook(ctx)
	if err != nil {
		return nil, activities.CallOutcome{}, err
	}
	texts := make([]string, len(fragments))
	for i, f := range fragments {
		texts[i] = f.Content
	}
	lines := prompt.Lines("f", texts...)
	c := core.Call{
		Phase:       dream.Onset,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        "capture",
		Role:        dream.Observer,
		Temperature: r.Temperature,
		Behind:      core.IdsOf(fragments),
		Text:        prompt.Capture(prompt.CaptureInput{Self: self, Fragments: lines, Playbook: existing}),
		Tokens:      o.Spec.Knobs.AnswerTokens + 60*len(fragments),
		Seed:        o.SeedOf(dream.Onset, 99, 0),
	}
	var answer ratings
	_, done, err := o.AskFor(ctx, c, &answer)
	if err == nil && done.End == activities.EndUnreadable {
		return measured, activities.CallOutcome{}, nil // the ratings by composite are used instead
	}
	if err != nil || done.End != activities.EndDone {
		// without money the composite decides: every fragment is rated and makes a prediction
		return measured, done, err
	}
	for i, line := range lines {
		for _, rated := range answer.Ratings {
			if core.TrimRef(rated.Ref) == line.Ref &&
				(rated.Rating == core.Promote || rated.Rating == core.Stage || rated.Rating == core.Discard) {
				rated.by = model.Name
				measured[i] = rated
			}
		}
	}
	return measured, done, nil
}

// rateByComposite promotes the best third, at least one, and stages the rest.
func rateByComposite(fragments []*dream.Fragment) []rating {
	ranks := make([]int, len(fragments))
	for i := range ranks {
		ranks[i] = i
	}
	sort.SliceStable(ranks, func(a, b int) bool {
		x, y := fragments[ranks[a]], fragments[ranks[b]]
		if x.Verdict.Composite != y.Verdict.Composite {
			return x.Verdict.Composite > y.Verdict.Composite
		}
		return x.Content < y.Content
	})
	best := (len(fragments) + 2) / 3
	rated := make([]rating, len(fragments))
	for rank, i := range ranks {
		rated[i] = rating{
			by: byComposite, Rating: core.Stage,
			Reason: fmt.Sprintf("rank %d of %d by composite", rank+1, len(fragments)),
		}
		if rank < best {
			rated[i].Rating = core.Promote
		}
	}
	return rated
}
