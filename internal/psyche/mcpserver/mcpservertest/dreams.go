package mcpservertest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Endless is the theme of a dream that ends only when it is cancelled.
const Endless = "endless"

// Dreams are dreams that reach their next phase each time they are read.
type Dreams struct {
	Being  *Service
	Looked chan string // gets the id of each dream that is read; may be nil

	mu  sync.Mutex
	all []psyche.Dream
}

var (
	_ mcpserver.Dreams      = (*Dreams)(nil)
	_ mcpserver.Predictions = (*Dreams)(nil)
)

// Begin starts a dream.
func (d *Dreams) Begin(_ context.Context, c psyche.Caller, w psyche.DreamRequest) (psyche.Dream, error) {
	if err := d.Being.ask("Begin", c, w.Agent, access.Operator); err != nil {
		return psyche.Dream{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := fmt.Sprintf("dream_%s_%04d", w.Agent, len(d.all)+1)
	n := psyche.Dream{
		ID:     id,
		Agent:  w.Agent,
		Status: dream.StatusRunning,
		Record: &psyche.Record{Theme: w.Theme},
		Reason: Secret,
	}
	if w.Budget != nil {
		n.Record.Budget = *w.Budget
	}
	d.all = append(d.all, n)
	return n, nil
}

// Dream returns one, in its next phase.
func (d *Dreams) Dream(_ context.Context, c psyche.Caller, id string) (psyche.Dream, error) {
	if d.Looked != nil {
		d.Looked <- id
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find(c, id)
	if err != nil {
		return psyche.Dream{}, err
	}
	if phases := n.Record.Phases; !n.Status.Over() && len(phases) < len(dream.Phases) {
		n.Record.Phases = append(phases, dream.Tally{Phase: dream.Phases[len(phases)]})
	} else if n.Record.Theme != Endless && !n.Status.Over() {
		n.Status, n.Outcome = dream.StatusCompleted, dream.Completed
	}
	v := shown(*n, c)
	if v.Record != nil {
		record := *v.Record
		s := screen.Summarize(screen.DreamReport{Agent: v.Agent, Record: dream.Record{Outcome: v.Outcome}})
		record.Summary, v.Record = &s, &record
	}
	return v, nil
}

// List returns all.
func (d *Dreams) List(_ context.Context, c psyche.Caller, _ psyche.ListRequest) (psyche.Page[psyche.Dream], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var page psyche.Page[psyche.Dream]
	for _, n := range d.all {
		if c.Key.Reaches(n.Agent) {
			page.Data = append(page.Data, shown(n, c))
		}
	}
	return page, nil
}

// Cancel ends one at once.
func (d *Dreams) Cancel(_ context.Context, c psyche.Caller, id string) (psyche.Dream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find(c, id)
	if err != nil {
		return psyche.Dream{}, err
	}
	if err := d.Being.ask("Cancel", c, n.Agent, access.Operator); err != nil {
		return psyche.Dream{}, err
	}
	n.Status, n.Outcome = dream.StatusCanceled, dream.Canceled
	return shown(*n, c), nil
}

// Morning reports one claim that has passed.
func (d *Dreams) Morning(_ context.Context, c psyche.Caller, agent string, since time.Time) (morning.Report, error) {
	if err := d.Being.ask("Morning", c, agent, access.Operator); err != nil {
		return morning.Report{}, err
	}
	return morning.Of(morning.Memory{
		Agent: agent,
		Claims: []*dream.Claim{{
			Head:   dream.Head{ID: "cl_0000000000000001"},
			Says:   "Where storm comes up, leak comes up too.",
			Status: dream.ClaimPassed,
			Hits:   4,
			Passed: since.Add(time.Hour),
		}},
	}, since, since.Add(morning.Usual)), nil
}

func (d *Dreams) find(c psyche.Caller, id string) (*psyche.Dream, error) {
	for i := range d.all {
		if d.all[i].ID == id && c.Key.Reaches(d.all[i].Agent) {
			return &d.all[i], nil
		}
	}
	return nil,
		psyche.Refuse(http.StatusNotFound, "dream_not_found", "", "there is no dream %q", id)
}

// shown hides what only operators see.
func shown(n psyche.Dream, c psyche.Caller) psyche.Dream {
	if !c.Key.Role.Includes(access.Operator) {
		n.Reason, n.Record = "", nil
	}
	return n
}

// CheckPredictions resolves one prediction, and asks a model about others unless lookOnly is set.
func (d *Dreams) CheckPredictions(_ context.Context, c psyche.Caller, agent string,
	lookOnly bool,
) (psyche.PredictionCheck, error) {
	if err := d.Being.ask("CheckPredictions", c, agent, access.Operator); err != nil || lookOnly {
		return psyche.PredictionCheck{}, err
	}
	return psyche.PredictionCheck{
		Decided: []*dream.Prediction{{
			Head:     dream.Head{ID: "pr_1"},
			Claim:    "It leaks.",
			Status:   dream.PredictionRight,
			Evidence: `"There is a leak." (ep_1)`,
		}},
		Claims: []*dream.Claim{{
			Head:   dream.Head{ID: "cl_1"},
			Status: dream.ClaimPassed,
			Says:   "Where storm comes up, leak comes up too.",
		}},
		Judged: &psyche.PredictionJudging{
			Model:    "house/small",
			Compared: 2,
			Calls:    1,
			Cost:     312,
			Left:     3,
			Reason:   "the cap of the day",
		},
	}, nil
}

// ResolvePrediction resolves the prediction pr_1, which has no verdict yet.
func (d *Dreams) ResolvePrediction(_ context.Context, c psyche.Caller, agent string,
	r psyche.ResolveRequest,
) (psyche.PredictionResolution, error) {
	if err := d.Being.ask("ResolvePrediction", c, agent, access.Operator); err != nil {
		return psyche.PredictionResolution{}, err
	}
	if r.Prediction != "pr_1" {
		return psyche.PredictionResolution{},
			psyche.Refuse(http.StatusNotFound, "prediction_not_found", "id", "%s has no prediction %q", agent, r.Prediction)
	}
	residual := .7
	return psyche.PredictionResolution{
		Prediction: &dream.Prediction{
			Head:       dream.Head{ID: r.Prediction},
			Status:     r.Verdict,
			Residual:   &residual,
			Evidence:   r.Because,
			ResolvedBy: dream.ByTool + r.Tool,
		},
		Changed: !r.Again,
		Moved: []*dream.Hypothesis{{
			Head:       dream.Head{ID: "h_1"},
			Status:     dream.HypothesisStaged,
			Confidence: .3,
		}},
	}, nil
}

// ListPredictions lists one open prediction.
func (d *Dreams) ListPredictions(_ context.Context, c psyche.Caller, agent, status string,
	_ int,
) (psyche.Page[*dream.Prediction], error) {
	if err := d.Being.ask("ListPredictions", c, agent, access.Operator); err != nil || status != dream.PredictionOpen {
		return psyche.Page[*dream.Prediction]{}, err
	}
	return psyche.Page[*dream.Prediction]{Data: []*dream.Prediction{{
		Head:       dream.Head{ID: "pr_1"},
		Claim:      "It leaks.",
		Criterion:  "Somebody says so.",
		Horizon:    time.Unix(0, 0),
		Confidence: .3,
		Status:     status,
	}}}, nil
}

// ListClaims lists one claim that has passed.
func (d *Dreams) ListClaims(_ context.Context, c psyche.Caller, agent, status string,
	_ int,
) (psyche.Page[*dream.Claim], error) {
	if err := d.Being.ask("ListClaims", c, agent, access.Operator); err != nil ||
		status != "" && status != dream.ClaimPassed {
		return psyche.Page[*dream.Claim]{}, err
	}
	return psyche.Page[*dream.Claim]{Data: []*dream.Claim{claim()}, More: true}, nil
}

// ExplainClaim explains the claim cl_1.
func (d *Dreams) ExplainClaim(_ context.Context, c psyche.Caller, agent, id string) (psyche.ClaimExplanation, error) {
	if err := d.Being.ask("ExplainClaim", c, agent, access.Operator); err != nil {
		return psyche.ClaimExplanation{}, err
	}
	if id != "cl_1" {
		return psyche.ClaimExplanation{},
			psyche.Refuse(http.StatusNotFound, "claim_not_found", "claim", "%s has no claim %q", agent, id)
	}
	return psyche.ClaimExplanation{
		Claim: claim(),
		Explanation: review.Explanation{
			SaidBy:   []review.SourceText{{ID: "pr_1", Text: "A storm brings a leak."}},
			Evidence: []review.SourceText{{ID: "ep_1", Text: "The storm came and there was a leak."}},
		},
	}, nil
}

// ListHypotheses lists one hypothesis that is staged.
func (d *Dreams) ListHypotheses(_ context.Context, c psyche.Caller, agent, status, _ string,
	_ int,
) (psyche.Page[*dream.Hypothesis], error) {
	if err := d.Being.ask("ListHypotheses", c, agent, access.Operator); err != nil ||
		status != "" && status != dream.HypothesisStaged {
		return psyche.Page[*dream.Hypothesis]{}, err
	}
	return psyche.Page[*dream.Hypothesis]{Data: []*dream.Hypothesis{hypothesis()}}, nil
}

// ExplainHypothesis explains the hypothesis dream/iris/0001/integration/1.
func (d *Dreams) ExplainHypothesis(_ context.Context, c psyche.Caller, agent,
	id string,
) (psyche.HypothesisExplanation, error) {
	if err := d.Being.ask("ExplainHypothesis", c, agent, access.Operator); err != nil {
		return psyche.HypothesisExplanation{}, err
	}
	h := hypothesis()
	if id != h.ID {
		return psyche.HypothesisExplanation{},
			psyche.Refuse(http.StatusNotFound, "hypothesis_not_found", "hypothesis", "%s has no hypothesis %q", agent, id)
	}
	stands := review.StandingOf(h, "")
	stands.Predictions = []review.SourceText{{ID: "pr_1", Text: "A storm brings a leak."}}
	stands.Claims = []review.SourceText{{ID: "cl_1", Text: claim().Says}}
	return psyche.HypothesisExplanation{Hypothesis: h, HypothesisExplanation: stands}, nil
}

func hypothesis() *dream.Hypothesis {
	return &dream.Hypothesis{
		Head:       dream.Head{ID: "dream/iris/0001/integration/1"},
		Claim:      "Storms open the roof.",
		Confidence: .3,
		Status:     dream.HypothesisStaged,
		Confirmed:  []string{"pr_1"},
		Claims:     []string{"cl_1"},
		Outcomes:   []dream.HypothesisOutcome{{Prediction: "pr_1", Right: true, At: time.Unix(0, 0)}},
	}
}

func claim() *dream.Claim {
	return &dream.Claim{
		Head:        dream.Head{ID: "cl_1"},
		Says:        "Where storm comes up, leak comes up too.",
		Status:      dream.ClaimPassed,
		Hits:        1,
		Misses:      0,
		DecoyHits:   2,
		DecoyMisses: 55,
		Chance:      .04,
		Wealth:      13.1,
		Decoys:      []dream.Decoy{{Name: "gull"}, {Name: "moth"}},
		Outcomes: []dream.ClaimOutcome{{
			At:       time.Unix(0, 0),
			Right:    true,
			Evidence: []string{"ep_1"},
			Wealth:   13.1,
		}},
	}
}
