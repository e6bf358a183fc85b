package prediction

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// Confidence of a hypothesis: its range when staged, and the steps of an outcome. No status follows from it.
const (
	stagedLow, stagedHigh = .2, .3
	confirmation          = .1
	contradiction         = .05
)

const (
	// Attempts is how many independent outcomes decide a hypothesis in prose.
	Attempts = 3
	// against is by how many independent outcomes those against a promoted hypothesis must outnumber those for it.
	against = 2
	// leastWords is how many words a claim must have for another one with the same words to say the same.
	leastWords = 3
)

// StagedConfidence clamps the first confidence of a hypothesis between 0.2 and 0.3.
func StagedConfidence(c float64) float64 { return clamp(c, stagedLow, stagedHigh) }

// Support is what the outcome of a prediction rests on, for telling whether two outcomes are independent.
type Support struct {
	Sources []string // ids of the episodes that the prediction was made from and that are evidence, or its author
	Events  []string // ids of the episodes that decided it, or who decided it when
	Guessed bool     // the prediction names no source; the nearest memories were taken
}

// EventsOf identifies what decided a prediction: the episodes, or who did so with which words. Without words all that
// the same name decides in a day is one event. Empty for an open prediction.
func EventsOf(p *dream.Prediction) []string {
	if p.ResolvedAt == nil || len(p.DecidedBy) > 0 {
		return p.DecidedBy
	}
	terms := words.Of(p.Evidence).Terms
	if len(terms) == 0 || p.ResolvedBy == dream.ByHorizon {
		return []string{p.ResolvedBy + ": " + p.ResolvedAt.UTC().Format(time.DateOnly)}
	}
	sum := sha256.Sum256([]byte(strings.Join(terms, " "))) // the words themselves would outlive their forgetting
	return []string{p.ResolvedBy + ": " + hex.EncodeToString(sum[:8])}
}

// Test applies the outcome of a prediction to a hypothesis that rests on it, and returns whether it changed. Its
// confidence rises by 0.1 when the prediction came true and falls by 0.05 when it did not. Each prediction counts
// once; a reversed or withdrawn outcome reverses its step, and one that was luck gives no credit. One in prose then
// gets the status that its outcomes give; strict says that it may be promoted. A hypothesis that has ended accepts only
// corrections.
func Test(h *dream.Hypothesis, p *dream.Prediction, from Support, strict bool) bool {
	confirmed, contradicted := slices.Contains(h.Confirmed, p.ID), slices.Contains(h.Contradicted, p.ID)
	found := confirmed || contradicted
	if !found && (!Watched(h) || h.State == dream.Archived) {
		return false
	}
	right := p.Status == dream.PredictionRight && p.Quadrant() != dream.MisalignedCorrect
	wrong := p.Status == dream.PredictionWrong
	if confirmed == right && contradicted == wrong {
		return false
	}
	by := 0.0
	h.Confirmed, by = toggled(h.Confirmed, p.ID, confirmed, right, confirmation, by)
	h.Contradicted, by = toggled(h.Contradicted, p.ID, contradicted, wrong, -contradiction, by)
	h.Confidence = step(h.Confidence, by)
	h.Outcomes = slices.DeleteFunc(slices.Clone(h.Outcomes),
		func(o dream.HypothesisOutcome) bool { return o.Prediction == p.ID })
	if (right || wrong) && p.ResolvedAt != nil {
		o := dream.HypothesisOutcome{
			Prediction: p.ID,
			Right:      right,
			At:         *p.ResolvedAt,
			Sources:    from.Sources,
			Events:     from.Events,
		}
		if from.Guessed {
			o.Dependent = guessedSources
		}
		h.Outcomes = append(h.Outcomes, o)
	}
	markIndependent(h.Outcomes)
	if h.InProse() && p.ResolvedAt != nil {
		decide(h, strict, *p.ResolvedAt)
	}
	return true
}

const guessedSources = "its sources were guessed"

// markIndependent says of each outcome why it is not independent of those before it. Independent are two outcomes of
// predictions that rest on other episodes and were decided by other ones.
func markIndependent(outcomes []dream.HypothesisOutcome) {
	slices.SortStableFunc(outcomes, func(a, b dream.HypothesisOutcome) int { return a.At.Compare(b.At) })
	sources, events := map[string]string{}, map[string]string{}
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Dependent == guessedSources:
			continue
		case len(o.Sources) == 0:
			o.Dependent = "it rests on no episode that a person or a tool gave"
		case len(o.Events) == 0:
			o.Dependent = "what decided it is unknown"
		default:
			o.Dependent = shared("it rests on the same episode as ", o.Sources, sources) +
				shared("it was decided by the same as ", o.Events, events)
		}
		if o.Dependent != "" {
			continue
		}
		for _, id := range o.Sources {
			sources[id] = o.Prediction
		}
		for _, id := range o.Events {
			events[id] = o.Prediction
		}
	}
}

// shared names the prediction that has one of the ids already; empty for none.
func shared(what string, ids []string, of map[string]string) string {
	for _, id := range ids {
		if of[id] != "" {
			return what + of[id]
		}
	}
	return ""
}

// Independent are the independent outcomes of a hypothesis, in order.
func Independent(h *dream.Hypothesis) []dream.HypothesisOutcome {
	return slices.DeleteFunc(slices.Clone(h.Outcomes), func(o dream.HypothesisOutcome) bool { return o.Dependent != "" })
}

// Held is how many of the independent outcomes of a hypothesis came true, and of how many.
func Held(h *dream.Hypothesis) (held, of int) {
	all := Independent(h)
	return rights(all), len(all)
}

// decide gives a hypothesis in prose the status of its independent outcomes. If the first three came true it is
// promoted where the preset is strict, and retired when later ones against it outnumber those for it by two. If none of
// the first three came true it is refuted. Otherwise it stays staged, and can only lapse.
func decide(h *dream.Hypothesis, strict bool, at time.Time) {
	was := h.Status
	strict = strict || was == dream.HypothesisPromoted || was == dream.HypothesisRetired
	outcomes := Independent(h)
	first := outcomes[:min(len(outcomes), Attempts)]
	hits := rights(first)
	switch {
	case hits == Attempts && strict:
		h.Status = dream.HypothesisPromoted
		lead := 0
		for _, o := range outcomes[Attempts:] {
			lead = max(0, lead+1-2*rights([]dream.HypothesisOutcome{o}))
			if lead >= against {
				h.Status = dream.HypothesisRetired
			}
		}
	case len(first) == Attempts && hits == 0:
		h.Status = dream.HypothesisRefuted
	case was != dream.HypothesisLapsed && was != dream.HypothesisRested:
		h.Status = dream.HypothesisStaged
	}
	if h.Status == was {
		return
	}
	reason := ""
	switch h.Status {
	case dream.HypothesisRetired:
		reason = "it comes true too seldom since it was promoted"
	case dream.HypothesisRefuted:
		reason = fmt.Sprintf("its first %d independent predictions did not come true", Attempts)
	}
	Become(h, h.Status, reason, at)
}

func rights(outcomes []dream.HypothesisOutcome) int {
	n := 0
	for _, o := range outcomes {
		if o.Right {
			n++
		}
	}
	return n
}

// Become gives a hypothesis a status with its reason; those that are over are archived.
func Become(h *dream.Hypothesis, status, reason string, at time.Time) {
	h.Status, h.Reason = status, reason
	h.Ended, h.State = time.Time{}, dream.Live
	if !Watched(h) {
		h.Ended, h.State = at, dream.Archived
	}
	if status == dream.HypothesisPromoted {
		h.Promoted = at
	}
}

// Watched says whether new outcomes count for a hypothesis.
func Watched(h *dream.Hypothesis) bool {
	return h.Status == dream.HypothesisStaged || h.Status == dream.HypothesisPromoted
}

// toggled adds a prediction to a list or removes it, and returns the change of confidence.
func toggled(list []string, id string, was, is bool, worth, by float64) ([]string, float64) {
	switch {
	case was && !is:
		return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == id }), by - worth
	case is && !was:
		return append(slices.Clone(list), id), by + worth
	}
	return list, by
}

// RestsOn says whether a hypothesis was made from a prediction, or from the prediction's fragment or scenario, or the
// prediction says the same as the hypothesis.
func RestsOn(h *dream.Hypothesis, p *dream.Prediction) bool {
	return slices.Contains(p.Sources, h.ID) || SameWords(h.Claim, p.Claim) ||
		slices.ContainsFunc(h.Sources, func(id string) bool {
			return id != "" && (id == p.ID || id == p.Fragment || id == p.Scenario)
		})
}

// SameWords says whether two claims have the same words in the same order, whatever their case and punctuation, and at
// least three of them.
func SameWords(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x := plainWords(a)
	return len(x) >= leastWords && slices.Equal(x, plainWords(b))
}

func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// step stays in [0, 1] and rounds to millionths, so that steps of a tenth reach the limits exactly.
func step(c, by float64) float64 { return clamp(math.Round((c+by)*1e6)/1e6, 0, 1) }
