package activities

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// CaptureRequest is the input of Onset.Capture and Onset.Hold.
type CaptureRequest struct {
	StepRequest
	Fragments []string `json:"fragments"` // ids, in order of capture
}

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

// Ratings of lucid capture.
const (
	promote = "promote"
	stage   = "stage"
	discard = "discard"
)

// Capture rates every kept fragment as promote, stage or discard and records a prediction for each. When the model's
// ratings have no meaning, or there is no money for the call, the best third by the observer's composite is promoted
// and nothing is discarded.
func (o *Onset) Capture(ctx context.Context, r CaptureRequest) (StepResult, error) {
	spec, err := o.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	items, err := o.Memory.Get(ctx, r.Agent, r.Fragments...)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	fragments := memory.As[*dream.Fragment](items)
	w := memory.Write{}
	fragments, made, done, err := o.separateBarred(ctx, r, spec, fragments, &w)
	if err != nil || done.Interrupted() {
		return StepResult{Done: done}, toApplicationError(err)
	}
	if len(fragments) == 0 {
		return StepResult{Made: inOrder(r.Fragments, made)}, toApplicationError(o.write(ctx, r.Stretch, w))
	}
	rated, done, err := o.rate(ctx, r, spec, fragments)
	if err != nil || done.Interrupted() {
		return StepResult{Done: done}, toApplicationError(err)
	}
	var predictions []dream.Item
	for i, f := range fragments {
		verdict := rated[i]
		f.Rating = &dream.Rating{Rated: verdict.Rating, By: verdict.by, Reason: verdict.Reason}
		switch verdict.Rating {
		case promote:
			f.Status, f.Reason = dream.FragmentSelected, verdict.Reason
		case discard:
			f.Status, f.Reason = dream.FragmentDiscarded, dream.LucidDiscard+verdict.Reason
			w.Events = append(w.Events, o.event(r.Stretch, "capture/"+strings.TrimPrefix(f.ID, r.Dream+"/"),
				event.FragmentDiscarded{
					Fragment: f.ID, Reason: "discarded at lucid capture",
					Composite: f.Verdict.Composite,
				}))
		default:
			f.Reason = verdict.Reason
		}
		w.Change = append(w.Change, f)
		made = append(made,
			Made{
				ID: f.ID, Score: f.Verdict.Composite, Kept: f.Status != dream.FragmentDiscarded,
				Chosen: f.Status == dream.FragmentSelected,
			})
		predictions = append(predictions, fragmentPrediction(spec, f, verdict))
	}
	predictions, err = o.sift(r.Stretch, spec, predictions, &w)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	w.Add = append(w.Add, predictions...)
	return StepResult{Done: done, Made: inOrder(r.Fragments, made)}, toApplicationError(o.write(ctx, r.Stretch, w))
}

func fragmentPrediction(spec Spec, f *dream.Fragment, r rating) *dream.Prediction {
	p := foretell(spec, dream.Onset, strings.TrimPrefix(f.ID, spec.Dream+"/onset/")+"/p", "", r.Criterion, r.Days,
		f.Confidence, f.Reason, f.Sources)
	p.Fragment = f.ID // its claim is the fragment's text, which memory.ReadClaims fills in
	return p
}

// defaultHorizon is the horizon in days of a claim that names none.
const defaultHorizon = 14

// foretell makes a complete prediction, with the confidence held in the range of its phase.
func foretell(spec Spec, phase dream.Phase, step, claim, criterion string, days int, confidence float64, trace string,
	episodes []string,
) *dream.Prediction {
	if days < 1 || days > 365 {
		days = defaultHorizon
	}
	if strings.TrimSpace(criterion) == "" {
		criterion = fmt.Sprintf(
			"Within %d days something happens that this describes; a person or a rule says so. Otherwise it was wrong.",
			days)
	}
	return &dream.Prediction{
		Head:       head(spec, phase, dream.KindPrediction, step, episodes),
		Source:     dream.Creative,
		Claim:      claim,
		Criterion:  criterion,
		Horizon:    spec.AsOf.Add(time.Duration(days) * 24 * time.Hour),
		Confidence: prediction.Clamp(phase, confidence),
		Session:    spec.Dream,
		Episodes:   episodes,
		Trace:      trace,
		Status:     dream.PredictionOpen,
	}
}

// rate returns one rating per fragment, in order.
func (o *Onset) rate(ctx context.Context, r CaptureRequest, spec Spec,
	fragments []*dream.Fragment,
) ([]rating, Done, error) {
	measured := rateByComposite(fragments)
	model, err := o.Catalog.Lookup(spec.Models[dream.Observer])
	if err != nil || !model.Judges || spec.Tier == dream.Core {
		return measured, Done{}, err
	}
	self, _, err := o.self(ctx, r.Stretch)
	if err != nil {
		return nil, Done{}, err
	}
	existing, err := o.playbook(ctx, r.Stretch)
	if err != nil {
		return nil, Done{}, err
	}
	texts := make([]string, len(fragments))
	for i, f := range fragments {
		texts[i] = f.Content
	}
	lines := prompt.Lines("f", texts...)
	c := call{
		spec:        spec,
		phase:       dream.Onset,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        "capture",
		role:        dream.Observer,
		temperature: r.Temperature,
		behind:      idsOf(fragments),
		text:        prompt.Capture(prompt.Capturing{Self: self, Fragments: lines, Playbook: existing}),
		tokens:      spec.Knobs.AnswerTokens + 60*len(fragments),
		seed:        seedOf(spec, dream.Onset, 99, 0),
	}
	var answer ratings
	_, done, err := o.askFor(ctx, c, &answer)
	if err == nil && done.End == EndUnreadable {
		return measured, Done{}, nil // the ratings by composite are used instead
	}
	if err != nil || done.End != EndDone {
		// without money the composite decides: every fragment is rated and makes a prediction
		return measured, done, err
	}
	for i, line := range lines {
		for _, rated := range answer.Ratings {
			if trimRef(rated.Ref) == line.Ref &&
				(rated.Rating == promote || rated.Rating == stage || rated.Rating == discard) {
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
			by: byComposite, Rating: stage,
			Reason: fmt.Sprintf("rank %d of %d by composite", rank+1, len(fragments)),
		}
		if rank < best {
			rated[i].Rating = promote
		}
	}
	return rated
}
