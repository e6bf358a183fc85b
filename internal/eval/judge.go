package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// What is needed before anything is concluded; our own choices.
const (
	// LeastOutcomes is how many outcomes the claims of an arm need.
	LeastOutcomes = 20
	// LeastGroups is how many groups of claims that share no name they need.
	LeastGroups = 4
	// LeastQuestions is how many questions it takes to say that recall is not worse.
	LeastQuestions = 100
)

// alpha is the error rate of either word over all arms together.
const alpha = .05

// Judge computes the verdict of a result. Its rules:
//
// Lift is the share of a claim's outcomes that came true, less that of its decoys, over all claims that were tried or
// had passed at the split. Recall is the share of questions that find their memory among the first ten, less that of
// raw. All intervals are of 95 %.
//
//   - harms: the interval of recall or of the lift lies wholly below 0, and its estimate is below minus its margin.
//   - helps: the intervals of the lift and of the lift less the placebo's lie wholly above 0, and recall is not worse:
//     its interval lies wholly above minus the margin, or, where the questions are so few that it could not even if
//     none changed, the questions lost net are at most MostLost of the plan. Where nothing that the placebo foretold
//     was decided, the decoys alone are compared with; one group of its claims is too few to compare with, and
//     without a finished placebo no arm that dreams helps.
//   - no difference seen: the interval of the lift less the placebo's (of the lift, where nothing of the placebo was
//     decided) lies within its margin, and so does that of recall, or the questions lost or gained net are at most
//     MostLost where they are few.
//   - too little to say: everything else, and always an arm or a result that was not finished. The lift counts from
//     LeastOutcomes outcomes in LeastGroups groups on, and recall is not worse from LeastQuestions questions on.
//
// Dedupe dreams nothing and foretells nothing. It is judged by recall alone: it helps where the interval lies wholly
// above 0 and the estimate above the margin. The placebo is the control: it never helps, whatever its own past said,
// and is compared with raw and with its decoys only.
//
// The chance that any useless arm is said to help is at most 5 %, and so is the chance that any is said to
// harm: the words are given by Holm's procedure (1979) over the arms, for harms counting both measures (Bonferroni).
// An arm whose interval excludes 0, but not far enough for so many arms, is too little to say.
func Judge(r Result) Verdict {
	v := Verdict{Plan: r.Plan.Hash()}
	raw, _ := r.arm(Raw)
	v.Raw = count(raw.Answers)
	j := judge{plan: r.Plan, finished: r.Finished, raw: raw}
	if p, found := r.arm(Placebo); found && p.Dropped == "" {
		j.placebo = true
		j.control = measure(p.Claims, r.Plan.Resamples, r.Plan.Seed)
	}
	var all []measured
	for _, arm := range r.Arms {
		if arm.Name != Raw {
			all = append(all, j.measure(arm))
		}
	}
	var helps, harms []float64
	for _, m := range all {
		harms = append(harms, m.harm())
		if m.arm.Name != Placebo {
			helps = append(helps, m.help(j))
		}
	}
	j.arms = [2]int{len(helps), len(harms)}
	mayHelp, mayHarm := holm(helps), holm(harms)
	for i, m := range all {
		m.mayHarm = mayHarm[i]
		if m.arm.Name != Placebo {
			m.mayHelp, mayHelp = mayHelp[0], mayHelp[1:]
		}
		a := m.figures()
		a.Word, a.Reason = j.word(m)
		v.Arms = append(v.Arms, a)
	}
	return v
}

func (r Result) arm(name string) (Arm, bool) {
	i := slices.IndexFunc(r.Arms, func(a Arm) bool { return a.Name == name })
	if i < 0 {
		return Arm{}, false
	}
	return r.Arms[i], true
}

// holm says which of several tests reject together at the level alpha, whatever their dependence (Holm 1979).
func holm(p []float64) []bool {
	ranked := make([]int, len(p))
	for i := range ranked {
		ranked[i] = i
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	rejects := make([]bool, len(p))
	for k, i := range ranked {
		if !(p[i] <= alpha/float64(len(p)-k)) {
			break
		}
		rejects[i] = true
	}
	return rejects
}

// judge is what all arms are compared with.
type judge struct {
	plan     Plan
	finished bool
	raw      Arm
	placebo  bool // it was played to its end
	control  lift // of the placebo
	arms     [2]int
}

// measured is an arm with its figures.
type measured struct {
	arm     Arm
	lift    lift
	passed  lift
	change  change
	over    *difference // lift less the placebo's
	mayHelp bool        // by Holm's procedure
	mayHarm bool
}

func (j judge) measure(arm Arm) measured {
	m := measured{arm: arm, lift: measure(arm.Claims, j.plan.Resamples, j.plan.Seed)}
	var passed []Claim
	for _, c := range arm.Claims {
		if c.Status == dream.ClaimPassed {
			passed = append(passed, c)
		}
	}
	m.passed = measure(passed, j.plan.Resamples, j.plan.Seed)
	m.change = compare(j.raw.Answers, arm.Answers)
	if arm.Name != Placebo && m.lift.judged > 0 && j.control.groups > 1 {
		d := m.lift.less(j.control)
		m.over = &d
	}
	return m
}

func (l lift) enough() bool { return l.outcomes >= LeastOutcomes && l.groups >= LeastGroups }

func (m measured) byRecallOnly() bool { return m.arm.Name == Dedupe }

// help is the probability of what would speak for the arm, where it changes nothing.
func (m measured) help(j judge) float64 {
	switch {
	case m.arm.Dropped != "" || !j.placebo && !m.byRecallOnly():
		return 1
	case m.byRecallOnly():
		if m.change.questions < LeastQuestions {
			return 1
		}
		return m.change.above()
	case !m.lift.enough() || j.control.groups == 1:
		return 1
	case m.over != nil:
		return max(m.lift.above(), m.over.above())
	}
	return m.lift.above()
}

// harm is the probability of what would speak against the arm, where it changes nothing.
func (m measured) harm() float64 {
	if m.arm.Dropped != "" {
		return 1
	}
	p := 1.0
	if m.change.questions > 0 {
		p = min(p, m.change.below())
	}
	if m.lift.enough() {
		p = min(p, m.lift.below())
	}
	return min(1, 2*p)
}

func (m measured) figures() Assessment {
	a := Assessment{
		Name:     m.arm.Name,
		Spent:    m.arm.Spent,
		Claims:   len(m.arm.Claims),
		Judged:   m.lift.judged,
		Groups:   m.lift.groups,
		Outcomes: m.lift.outcomes,
		Hits:     m.lift.hits,
		Rate:     m.lift.rate,
		Chance:   m.lift.chance,
		Recall:   count(m.arm.Answers),
		Lost:     m.change.lost,
		Gained:   m.change.gained,
	}
	for _, c := range m.arm.Claims {
		if c.Status == dream.ClaimPassed {
			a.Passed++
		}
	}
	if m.lift.judged > 0 {
		a.Lift = new(m.lift.interval())
	}
	if m.over != nil {
		a.OverPlacebo = new(m.over.interval())
	}
	if m.passed.judged > 0 {
		a.PassedLift = new(m.passed.interval())
	}
	if m.change.questions > 0 {
		a.RecallChange = new(m.change.interval())
	}
	return a
}

// word applies the rules to one arm.
func (j judge) word(m measured) (Word, string) {
	switch {
	case m.arm.Dropped != "":
		return TooLittle, "The arm was not finished: " + m.arm.Dropped + "."
	case !j.finished:
		return TooLittle, "The evaluation is not finished; what it shows so far would change with when one looks."
	}
	if word, reason, is := j.harms(m); is {
		return word, reason
	}
	if m.byRecallOnly() {
		return j.recallOnly(m)
	}
	if m.arm.Name == Placebo {
		return j.ofControl(m)
	}
	if problem := j.notHelping(m); problem != "" {
		if j.same(m) {
			return NoDifference,
				fmt.Sprintf("Neither foretelling nor recall differs by more than the margins (%s and %s "+
					"points): %s; %s.", points(j.plan.LiftMargin), points(j.plan.RecallMargin), m.foretold(),
					m.found(j))
		}
		return TooLittle, problem
	}
	return Helps, fmt.Sprintf("What it foretold came true more often than %s, and recall is not worse: %s; %s.",
		j.compared(), m.foretold(), m.found(j))
}

// compared names what the lift of an arm was compared with.
func (j judge) compared() string {
	if j.control.judged == 0 {
		return "chance (nothing that the placebo foretold was decided)"
	}
	return "chance and than what the placebo foretold"
}

func (j judge) harms(m measured) (Word, string, bool) {
	lost, less := false, false
	if m.change.questions > 0 {
		e := m.change.interval()
		lost = e.High < 0 && e.Mean < -j.plan.RecallMargin
	}
	if m.lift.enough() {
		e := m.lift.interval()
		less = e.High < 0 && e.Mean < -j.plan.LiftMargin
	}
	switch {
	case !lost && !less:
		return "", "", false
	case !m.mayHarm:
		return TooLittle, fmt.Sprintf("It looks harmful, but not clearly enough for one of %d arms: %s; %s.", j.arms[1],
			m.foretold(), m.found(j)), true
	case lost:
		return Harms, "It finds less than without nights: " + m.found(j) + ".", true
	}
	return Harms, "What it foretold came true less often than chance: " + m.foretold() + ".", true
}

func (j judge) recallOnly(m measured) (Word, string) {
	if m.change.questions < LeastQuestions {
		return TooLittle, fmt.Sprintf("Only %d questions; %d are needed.", m.change.questions, LeastQuestions)
	}
	e := m.change.interval()
	switch {
	case e.Low > 0 && e.Mean > j.plan.RecallMargin && m.mayHelp:
		return Helps, "It finds more than raw: " + m.found(j) + "."
	case j.sameRecall(m.change):
		return NoDifference, fmt.Sprintf("Recall differs by no more than the margin (%s): %s.", j.margin(m.change),
			m.found(j))
	}
	return TooLittle, "Recall may differ by more than the margin, and may not: " + m.found(j) + "."
}

func (j judge) ofControl(m measured) (Word, string) {
	const control = "This is the control; the other arms must exceed it: "
	switch {
	case !m.lift.enough():
		return TooLittle, control + m.tooFew() + "; " + m.found(j) + "."
	case j.same(m):
		return NoDifference, control + m.foretold() + "; " + m.found(j) + "."
	case m.lift.interval().Low > 0:
		return TooLittle,
			control + "even from shuffled days, sentences alone foretell something: " + m.foretold() + "; " +
				m.found(j) + "."
	}
	return TooLittle, control + m.foretold() + "; " + m.found(j) + "."
}

// notHelping returns why an arm is not said to help; nothing where it is.
func (j judge) notHelping(m measured) string {
	switch {
	case j.raw.Name == "" || j.raw.Dropped != "":
		return "There is no finished arm raw to compare recall with: " + m.foretold() + "."
	case !j.placebo:
		return "There is no finished placebo to compare with: " + m.foretold() + "; " + m.found(j) + "."
	case !m.lift.enough():
		return fmt.Sprintf("Too few outcomes: %s; %s.", m.tooFew(), m.found(j))
	case m.lift.interval().Low <= 0:
		return "What it foretold came true no more often than chance may explain: " + m.foretold() + "; " +
			m.found(j) + "."
	case j.control.groups == 1:
		return "It foretold better than chance, but the placebo only one group of claims, too few to compare with: " +
			m.foretold() + "; " + m.found(j) + "."
	case m.over != nil && m.over.interval().Low <= 0:
		return fmt.Sprintf(
			"It foretold better than chance, but not clearly better than the placebo (%+.0f points): %s; %s.",
			100*j.control.mean, m.foretold(), m.found(j))
	case !m.mayHelp:
		return fmt.Sprintf("It foretold better than chance, but not clearly enough for one of %d arms: %s; %s.",
			j.arms[0],
			m.foretold(), m.found(j))
	case m.change.questions < LeastQuestions:
		return fmt.Sprintf(
			"It foretold better than chance, but %d questions are too few to say that recall is not worse; "+
				"%d are needed: %s.", m.change.questions, LeastQuestions, m.foretold())
	case !j.notWorse(m.change):
		return fmt.Sprintf(
			"It foretold better than chance, but recall may be worse by more than the margin (%s): %s; %s.",
			j.margin(m.change), m.foretold(), m.found(j))
	}
	return ""
}

func (j judge) notWorse(c change) bool {
	return c.interval().Low > -j.plan.RecallMargin || c.few(j.plan.RecallMargin) && c.lost-c.gained <= j.plan.MostLost
}

func (j judge) sameRecall(c change) bool {
	if c.questions < LeastQuestions || !j.notWorse(c) {
		return false
	}
	return c.interval().High < j.plan.RecallMargin || c.few(j.plan.RecallMargin) && c.gained-c.lost <= j.plan.MostLost
}

// same says whether neither measure differs by more than its margin.
func (j judge) same(m measured) bool {
	if !m.lift.enough() {
		return false
	}
	e := m.lift.interval()
	if m.over != nil {
		e = m.over.interval()
	}
	return max(-e.Low, e.High) < j.plan.LiftMargin && j.sameRecall(m.change)
}

// margin names the margin that applies to so many questions.
func (j judge) margin(c change) string {
	if c.few(j.plan.RecallMargin) {
		return fmt.Sprintf("%d of %d questions", j.plan.MostLost, c.questions)
	}
	return points(j.plan.RecallMargin) + " points"
}

func (m measured) tooFew() string {
	if m.lift.judged == 0 {
		return "nothing that it foretold was decided on the judging days"
	}
	return fmt.Sprintf("%d in %d groups of claims, of at least %d in %d (%s)", m.lift.outcomes, m.lift.groups,
		LeastOutcomes, LeastGroups, m.foretold())
}

// foretold describes the lift, such as "27 of 42 outcomes came true (64 %), of decoys 8 %, +56 points [31, 81]".
func (m measured) foretold() string {
	if m.lift.judged == 0 {
		return "nothing that it foretold was decided"
	}
	text := fmt.Sprintf("%d of %d outcomes came true (%.0f %%), of decoys %.0f %%, %s", m.lift.hits, m.lift.outcomes,
		100*m.lift.rate, 100*m.lift.chance, inPoints(m.lift.interval(), 0))
	if m.over != nil {
		text += ", against the placebo " + inPoints(m.over.interval(), 0)
	}
	return text
}

// found describes the change of recall.
func (m measured) found(j judge) string {
	if m.change.questions == 0 {
		return "recall was not compared"
	}
	own, raw := count(m.arm.Answers), count(j.raw.Answers)
	return fmt.Sprintf("of %d questions it finds %d among the first ten and raw %d (%d lost, %d gained, %s)",
		m.change.questions, own.Found, raw.Found, m.change.lost, m.change.gained, inPoints(m.change.interval(), 1))
}

// inPoints writes an estimate in percentage points, such as "+56 points [31, 81]".
func inPoints(e Estimate, decimals int) string {
	return fmt.Sprintf("%+.*f points [%.*f, %.*f]", decimals, positive(100*e.Mean, decimals), decimals,
		positive(100*e.Low, decimals), decimals, positive(100*e.High, decimals))
}

// positive is a number that is not written as "-0".
func positive(x float64, decimals int) float64 {
	scale := math.Pow(10, float64(decimals))
	return math.Round(x*scale)/scale + 0
}

func points(share float64) string { return fmt.Sprintf("%g", math.Round(share*1e4)/100) }
