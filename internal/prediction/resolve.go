package prediction

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// ErrResolved says that a prediction has a different verdict already.
var ErrResolved = errors.New("resolved already")

// ErrUndone says that a prediction is archived because its dream was undone.
var ErrUndone = errors.New("archived, as the dream that made it was undone")

// Verdict is the outcome of a prediction and who observed it.
type Verdict struct {
	Status   string   // dream.PredictionRight, PredictionWrong or PredictionVoid
	By       string   // dream.ByPerson, ByHorizon, ByCheck, ByLimit, or a name behind ByTool, ByRule or ByJudge
	Evidence string   // in their own words; may be empty
	Episodes []string // ids of the episodes that decided it; none where somebody else did
	At       time.Time
	Again    bool // it may replace a different verdict
}

// MostEvidence is the most bytes of evidence.
const MostEvidence = 2000

// Resolve writes a verdict into a prediction and returns whether that changed it: repeating a verdict changes
// nothing. ErrResolved when it has a different verdict and Again is not set. Dreams cannot resolve predictions.
func Resolve(p *dream.Prediction, v Verdict) (bool, error) {
	switch {
	case v.Status != dream.PredictionRight && v.Status != dream.PredictionWrong && v.Status != dream.PredictionVoid:
		return false,
			fmt.Errorf("resolve %s as %q: it must be %s, %s or %s", p.ID, v.Status, dream.PredictionRight,
				dream.PredictionWrong, dream.PredictionVoid)
	case !mayResolve(v.By):
		return false,
			fmt.Errorf("resolve %s by %q: it must be %s, %sNAME, %sFEED/RULE, %s, %sMODEL, %s or %s", p.ID, v.By,
				dream.ByPerson, dream.ByTool, dream.ByRule, dream.ByCheck, dream.ByJudge, dream.ByLimit,
				dream.ByHorizon)
	case len(v.Evidence) > MostEvidence:
		return false,
			fmt.Errorf("resolve %s: its evidence is %d bytes long; %d at most", p.ID, len(v.Evidence), MostEvidence)
	case v.At.Before(p.At):
		return false,
			fmt.Errorf("resolve %s as of %s: it was made at %s only", p.ID, v.At.UTC().Format(time.RFC3339),
				p.At.UTC().Format(time.RFC3339))
	case p.State == dream.Archived:
		return false, fmt.Errorf("resolve %s: it is %w", p.ID, ErrUndone)
	case p.Status == v.Status:
		return false, nil
	case p.Status != dream.PredictionOpen && !v.Again:
		return false, fmt.Errorf("%s was %w as %s%s", p.ID, ErrResolved, p.Status, byWhom(p))
	}
	at := v.At.UTC()
	p.Status = v.Status
	p.ResolvedAt = &at
	p.ResolvedBy = v.By
	p.Evidence, p.DecidedBy = v.Evidence, v.Episodes
	p.Residual = nil
	if v.Status != dream.PredictionVoid {
		residual := Residual(v.Status == dream.PredictionRight, p.Confidence)
		p.Residual = &residual
	}
	return true, nil
}

// mayResolve says whether a name is one of those that may resolve a prediction.
func mayResolve(by string) bool {
	tool, isTool := strings.CutPrefix(by, dream.ByTool)
	feed, isRule := strings.CutPrefix(by, dream.ByRule)
	model, isJudge := strings.CutPrefix(by, dream.ByJudge)
	return by == dream.ByPerson || by == dream.ByHorizon || by == dream.ByCheck || by == dream.ByLimit ||
		isTool && tool != "" || isRule && strings.Contains(feed, "/") || isJudge && model != ""
}

// byWhom is who resolved a prediction, and when.
func byWhom(p *dream.Prediction) string {
	text := ""
	if p.ResolvedBy != "" {
		text = " by " + p.ResolvedBy
	}
	if p.ResolvedAt != nil {
		text += " at " + p.ResolvedAt.UTC().Format(time.RFC3339)
	}
	return text
}

// Opposite is wrong for right, right for wrong, and any other status itself.
func Opposite(status string) string {
	switch status {
	case dream.PredictionRight:
		return dream.PredictionWrong
	case dream.PredictionWrong:
		return dream.PredictionRight
	}
	return status
}
