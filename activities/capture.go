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

// CaptureRequest asks for the lucid capture of the kept fragments.
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

	by string // who rated: the model, or the composite
}

// byComposite rated what no model did.
const byComposite = "composite"

// Ratings of lucid capture.
const (
	promote = "promote"
	stage   = "stage"
	discard = "discard"
)

// Capture rates every kept fragment promote, stage or discard (H7) and writes down what each predicts (E2). A model
// whose ratings mean nothing is not asked, and one there is no money for cannot be: then the best third is promoted by
// the observer's composite, and nothing discarded.
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
	fragments, made, done, err := o.uncaged(ctx, r, spec, fragments, &w)
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

func fragmentPrediction(o Spec, f *dream.Fragment, r rating) *dream.Prediction {
	p := foretell(o, dream.Onset, strings.TrimPrefix(f.ID, o.Dream+"/onset/")+"/p", "", r.Criterion, r.Days,
		f.Confidence, f.Reason, f.Sources)
	p.Fragment = f.ID // its claim is the fragment's text: memory.ReadClaims
	return p
}

// untold is the horizon of a claim that names none, in days, and its criterion.
const untold = 14

// foretell makes a complete prediction, confidence held in the range of its phase.
func foretell(o Spec, phase dream.Phase, step, claim, criterion string, days int, confidence float64, trace string,
	episodes []string,
) *dream.Prediction {
	if days < 1 || days > 365 {
		days = untold
	}
	if strings.TrimSpace(criterion) == "" {
		criterion = fmt.Sprintf(
			"Within %d days something happens that this describes; a person or a rule says so. Otherwise it was wrong.",
			days)
	}
	return &dream.Prediction{
		Head:       head(o, phase, dream.KindPrediction, step, episodes),
		Source:     dream.Creative,
		Claim:      claim,
		Criterion:  criterion,
		Horizon:    o.AsOf.Add(time.Duration(days) * 24 * time.Hour),
		Confidence: prediction.Clamp(phase, confidence),
		Session:    o.Dream,
		Episodes:   episodes,
		Trace:      trace,
		Status:     dream.PredictionOpen,
	}
}

// rate answers one rating per fragment, in order.
func (o *Onset) rate(ctx context.Context, r CaptureRequest, order Spec,
	fragments []*dream.Fragment,
) ([]rating, Done, error) {
	measured := rateByComposite(fragments)
	spec, err := o.Catalog.Lookup(order.Models[dream.Observer])
	if err != nil || !spec.Judges || order.Tier == dream.Core {
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
		spec:        order,
		phase:       dream.Onset,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        "capture",
		role:        dream.Observer,
		temperature: r.Temperature,
		behind:      idsOf(fragments),
		text:        prompt.Capture(prompt.Capturing{Self: self, Fragments: lines, Playbook: existing}),
		tokens:      order.Knobs.AnswerTokens + 60*len(fragments),
		seed:        seedOf(order, dream.Onset, 99, 0),
	}
	var answer ratings
	_, done, err := o.askFor(ctx, c, &answer)
	if err == nil && done.End == EndUnreadable {
		return measured, Done{}, nil // a phase leaves aside what an unreadable step made, and these ratings stand
	}
	if err != nil || done.End != EndDone {
		// out of money the composite decides: every fragment is rated and foretells something
		return measured, done, err
	}
	for i, line := range lines {
		for _, said := range answer.Ratings {
			if trimRef(said.Ref) == line.Ref &&
				(said.Rating == promote || said.Rating == stage || said.Rating == discard) {
				said.by = spec.Name
				measured[i] = said
			}
		}
	}
	return measured, done, nil
}

// rateByComposite promotes the best third, at least one, and stages the rest.
func rateByComposite(fragments []*dream.Fragment) []rating {
	order := make([]int, len(fragments))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool {
		x, y := fragments[order[a]], fragments[order[b]]
		if x.Verdict.Composite != y.Verdict.Composite {
			return x.Verdict.Composite > y.Verdict.Composite
		}
		return x.Content < y.Content
	})
	best := (len(fragments) + 2) / 3
	rated := make([]rating, len(fragments))
	for rank, i := range order {
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
