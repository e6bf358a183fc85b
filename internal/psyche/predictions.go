package psyche

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// PredictionCheck is what a check of an agent's predictions came to.
type PredictionCheck struct {
	Object  string              `json:"object"`  // "prediction_check"
	Agent   string              `json:"agent"`   // handle
	Decided []*dream.Prediction `json:"decided"` // resolved by their checks, then those that the model resolved
	Claims  []*dream.Claim      `json:"claims"`  // that passed the gate, or ended
	Judged  *PredictionJudging  `json:"judged,omitempty"`
}

// PredictionJudging is what a model was asked about predictions in prose.
type PredictionJudging struct {
	Model    string                  `json:"model,omitempty"` // empty when none was asked
	Compared int                     `json:"compared"`        // predictions that it was asked about
	Calls    int                     `json:"calls"`
	Cost     budget.Micros           `json:"cost_micros"`
	Ignored  []review.IgnoredVerdict `json:"ignored"`          // verdicts that do not count
	Left     int                     `json:"left"`             // predictions with episodes that it has not seen yet
	Reason   string                  `json:"reason,omitempty"` // why it was not asked, or not about all
}

// CheckPredictions resolves the open predictions of an agent that can be decided by now: by what was lived, and then,
// unless lookOnly is set, by the agent's observer under the cap of its judge. It needs role operator.
func (d *Dreams) CheckPredictions(ctx context.Context, c Caller, agent string, lookOnly bool) (PredictionCheck, error) {
	a, err := d.agent(ctx, c, access.Operator, agent)
	if err != nil {
		return PredictionCheck{}, err
	}
	checked, err := d.Judge().Check(ctx, a, lookOnly)
	if err != nil {
		return PredictionCheck{}, unreadStore(ctx, err)
	}
	done := PredictionCheck{
		Object:  "prediction_check",
		Agent:   a.Handle,
		Decided: append([]*dream.Prediction{}, checked.Decided...),
		Claims:  append([]*dream.Claim{}, checked.Claims...),
	}
	if j := checked.Judged; j != nil {
		done.Decided = append(done.Decided, j.Decided...)
		done.Judged = &PredictionJudging{
			Model:    j.Model,
			Compared: j.Compared,
			Calls:    j.Calls,
			Cost:     j.Cost,
			Ignored:  j.Ignored,
			Left:     j.Left,
			Reason:   j.Reason,
		}
	}
	return done, nil
}

// ResolveRequest is a verdict by hand on one prediction.
type ResolveRequest struct {
	Prediction string `json:"id"`
	Verdict    string `json:"verdict"` // one of Verdicts
	Because    string `json:"because"` // what was seen; may be empty
	Tool       string `json:"tool"`    // the tool that says so; empty: a person does
	Again      bool   `json:"again"`   // it may replace another verdict
}

// PredictionResolution is a prediction after a verdict by hand.
type PredictionResolution struct {
	Object     string              `json:"object"` // "prediction_resolution"
	Agent      string              `json:"agent"`  // handle
	Prediction *dream.Prediction   `json:"prediction"`
	Changed    bool                `json:"changed"` // false: it had this verdict already
	Moved      []*dream.Hypothesis `json:"moved"`   // the hypotheses that rest on it, after the change
}

// Verdicts are what may come of a prediction.
var Verdicts = []string{dream.PredictionRight, dream.PredictionWrong, dream.PredictionVoid}

// PredictionStatuses, ClaimStatuses and HypothesisStatuses are those that lists can be narrowed to.
var (
	PredictionStatuses = append([]string{dream.PredictionOpen}, Verdicts...)
	HypothesisStatuses = review.HypothesisStatuses
	ClaimStatuses      = []string{
		dream.ClaimTried, dream.ClaimPassed, dream.ClaimRetired, dream.ClaimDropped, dream.ClaimLapsed,
	}
)

// longestToolName is the most characters in the name of a tool that resolves a prediction.
const longestToolName = 32

// check says which field is wrong, and what would be right.
func (r ResolveRequest) check() error {
	switch {
	case r.Prediction == "":
		return badParam("id", "id is missing; GET /v1/agents/{agent}/predictions lists those that are open")
	case !slices.Contains(Verdicts, r.Verdict):
		return badParam("verdict", "verdict is %q; it must be %s", r.Verdict, oneOf(Verdicts))
	case len(r.Because) > prediction.MostEvidence:
		return badParam("because", "because is %d bytes long; %d at most", len(r.Because), prediction.MostEvidence)
	case len(r.Tool) > longestToolName || strings.Trim(r.Tool, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
		return badParam("tool", "tool is %q; a tool's name is made of a-z, 0-9, - and _, %d at most", r.Tool, longestToolName)
	}
	return nil
}

func oneOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// ResolvePrediction writes a verdict by hand, with what follows for hypotheses. The same verdict twice changes nothing;
// another one is refused unless Again is set. It needs role operator.
func (d *Dreams) ResolvePrediction(ctx context.Context, c Caller, agent string,
	r ResolveRequest,
) (PredictionResolution, error) {
	a, err := d.agent(ctx, c, access.Operator, agent)
	if err != nil {
		return PredictionResolution{}, err
	}
	if err := r.check(); err != nil {
		return PredictionResolution{}, err
	}
	by := dream.ByPerson
	if r.Tool != "" {
		by = dream.ByTool + r.Tool
	}
	done, err := d.Judge().Resolver.Resolve(ctx, a.ID, r.Prediction,
		prediction.Verdict{Status: r.Verdict, By: by, Evidence: r.Because, Again: r.Again})
	switch {
	case err == nil:
	case errors.Is(err, memory.ErrNotFound):
		return PredictionResolution{}, notFoundFault("id", "prediction_not_found",
			"%s has no prediction %q; GET /v1/agents/%s/predictions lists those it has", a.Handle, r.Prediction, a.Handle)
	case errors.Is(err, prediction.ErrResolved):
		return PredictionResolution{}, conflictFault("prediction_resolved",
			"%s; with again: true this verdict replaces it, and the revisions keep both", err)
	case errors.Is(err, prediction.ErrUndone):
		return PredictionResolution{}, conflictFault("prediction_undone",
			"%s is %s and has no outcome any more", r.Prediction, prediction.ErrUndone)
	case errors.Is(err, review.ErrProposed):
		return PredictionResolution{}, conflictFault("prediction_proposed", "%s", err)
	default:
		return PredictionResolution{}, unreadStore(ctx, err)
	}
	return PredictionResolution{
		Object:     "prediction_resolution",
		Agent:      a.Handle,
		Prediction: done.Prediction,
		Changed:    done.Changed,
		Moved:      done.Moved,
	}, nil
}

// ListPredictions are an agent's newest predictions of a status, the soonest due first; of any status if it is empty.
// It needs role operator.
func (d *Dreams) ListPredictions(ctx context.Context, c Caller, agent, status string,
	limit int,
) (Page[*dream.Prediction], error) {
	return HeldOf[*dream.Prediction](ctx, d, c, agent, memory.Query{
		Kinds: []dream.Kind{dream.KindPrediction}, Sort: memory.SoonestDue, Statuses: onlyStatus(status),
	}, "", limit)
}

// ListClaims are an agent's claims of a status, those that hold most often first; of any status if it is empty. It
// needs role operator.
func (d *Dreams) ListClaims(ctx context.Context, c Caller, agent, status string,
	limit int,
) (Page[*dream.Claim], error) {
	return HeldOf[*dream.Claim](ctx, d, c, agent, memory.Query{
		Kinds: []dream.Kind{dream.KindClaim}, Sort: memory.HighestScore, Statuses: onlyStatus(status),
	}, "", limit)
}

func onlyStatus(status string) []string {
	if status == "" {
		return nil
	}
	return []string{status}
}

// ClaimExplanation says why a claim passed or did not.
type ClaimExplanation struct {
	Object string       `json:"object"` // "claim_explanation"
	Agent  string       `json:"agent"`  // handle
	Claim  *dream.Claim `json:"claim"`  // with its outcomes, and the wealth after each
	review.Explanation
}

// ExplainClaim says what a claim rests on, outcome by outcome. It needs role operator.
func (d *Dreams) ExplainClaim(ctx context.Context, c Caller, agent, id string) (ClaimExplanation, error) {
	handle, found, err := toExplain[*dream.Claim](ctx, d, c, agent, "claim", "claims", id)
	if err != nil {
		return ClaimExplanation{}, err
	}
	behind, err := review.Explain(ctx, d.Memory, found)
	if err != nil {
		return ClaimExplanation{}, unreadStore(ctx, err)
	}
	return ClaimExplanation{Object: "claim_explanation", Agent: handle, Claim: found, Explanation: behind}, nil
}

// toExplain finds what an operator asks about, and its agent's handle. Lists of it are named by the plural.
func toExplain[T dream.Item](ctx context.Context, d *Dreams, c Caller, agent, kind, plural, id string,
) (handle string, found T, err error) {
	a, err := d.agent(ctx, c, access.Operator, agent)
	if err != nil {
		return "", found, err
	}
	found, err = memory.One[T](ctx, d.Memory, a.ID, id)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		err = notFoundFault(kind, kind+"_not_found",
			"%s has no %s %q; GET /v1/agents/%s/%s lists those it has", a.Handle, kind, id, a.Handle, plural)
	case err != nil:
		err = unreadStore(ctx, err)
	}
	return a.Handle, found, err
}

// ListHypotheses are an agent's hypotheses of a status, the most confident first; those that are staged or promoted if
// it is empty. It needs role operator.
func (d *Dreams) ListHypotheses(ctx context.Context, c Caller, agent, status, after string,
	limit int,
) (Page[*dream.Hypothesis], error) {
	return HeldOf[*dream.Hypothesis](ctx, d, c, agent, review.HypothesesOf("", status), after, limit)
}

// HypothesisExplanation says where a hypothesis stands, and what decides it.
type HypothesisExplanation struct {
	Object     string            `json:"object"` // "hypothesis_explanation"
	Agent      string            `json:"agent"`  // handle
	Hypothesis *dream.Hypothesis `json:"hypothesis"`
	review.HypothesisExplanation
}

// ExplainHypothesis says why a hypothesis was promoted or not, outcome by outcome. It needs role operator.
func (d *Dreams) ExplainHypothesis(ctx context.Context, c Caller, agent, id string) (HypothesisExplanation, error) {
	handle, found, err := toExplain[*dream.Hypothesis](ctx, d, c, agent, "hypothesis", "hypotheses", id)
	if err != nil {
		return HypothesisExplanation{}, err
	}
	behind, err := review.ExplainHypothesis(ctx, d.Memory, found, d.Judge().Resolver.Rules.Gate)
	if err != nil {
		return HypothesisExplanation{}, unreadStore(ctx, err)
	}
	return HypothesisExplanation{
		Object: "hypothesis_explanation", Agent: handle, Hypothesis: found, HypothesisExplanation: behind,
	}, nil
}
