package dream

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Head is the common part of all items.
type Head struct {
	// derived from the content of lived items, or from dream, phase and counter of dreamt ones
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Kind    Kind      `json:"kind"`
	At      time.Time `json:"at"` // when it happened or was made, UTC
	State   State     `json:"state"`
	Taint   Taint     `json:"taint"`
	Dream   string    `json:"dream,omitempty"`   // the dream that made it; empty for lived items
	Phase   Phase     `json:"phase,omitempty"`   // the phase that made it
	Sources []string  `json:"sources,omitempty"` // ids of the items it was made from
	Derived []string  `json:"derived,omitempty"` // names of fields that a local rule filled in
	NewerID string    `json:"newer,omitempty"`   // the item that superseded it

	Revision int `json:"-"` // set by the store that read the item; 0 otherwise
}

// Header returns the common part; types that embed Head get this method of Item.
func (h *Head) Header() *Head { return h }

// Marks are the values that a store sorts and filters by. Scores lie in [0, 1].
type Marks struct {
	Salience float64
	Surprise float64
	Score    float64   // strength, novelty, confidence or significance, by kind
	Due      time.Time // when a semantic entry fades or a prediction falls due; zero for never
	Status   string
	Session  string
	Owner    string // who said it in a talk (TalkOrigin); empty for what belongs to the agent alone
}

// TalkOrigin is the prefix of the origin of an episode from a talk; the whole origin identifies the speaker.
const TalkOrigin = "talk/"

// Dreamt says whether a dream made the item or its text. A gist with the taint of its source counts as the source.
func (h *Head) Dreamt() bool {
	return h.Taint == FromDream || h.Dream != "" && h.Kind != KindGist
}

// Item is anything stored in memory.
type Item interface {
	Header() *Head
	Marks() Marks
	// Text is what is embedded and shown by a search.
	Text() string
}

// Episode is an event: context, action, outcome.
type Episode struct {
	Head
	Context  string   `json:"context,omitempty"`
	Action   string   `json:"action,omitempty"`
	Outcome  string   `json:"outcome,omitempty"`
	Content  string   `json:"content"`
	Salience float64  `json:"salience"` // [0, 1]
	Surprise float64  `json:"surprise"` // [0, 1]
	Affect   mood.PAD `json:"affect"`
	Session  string   `json:"session,omitempty"`
	Origin   string   `json:"origin,omitempty"` // where it came from: file and line, room, client
	Speaker  string   `json:"speaker,omitempty"`

	Replaces []EarlierVersion `json:"replaces,omitempty"` // what it corrects, newest first
}

// EarlierVersion is an earlier version that an episode corrected.
type EarlierVersion struct {
	ID      string    `json:"id"`
	Content string    `json:"content"`
	Until   time.Time `json:"until"` // when it was corrected, UTC
}

// Marks of an episode.
func (e *Episode) Marks() Marks {
	m := Marks{Salience: e.Salience, Surprise: e.Surprise, Session: e.Session}
	if strings.HasPrefix(e.Origin, TalkOrigin) {
		m.Owner = e.Origin
	}
	return m
}

// BeforeCorrection is the prefix of the lines of a text that state earlier versions.
const BeforeCorrection = "(until "

// Text of an episode, with its earlier versions.
func (e *Episode) Text() string {
	if len(e.Replaces) == 0 {
		return e.Content
	}
	var b strings.Builder
	b.WriteString(e.Content)
	for _, r := range e.Replaces {
		fmt.Fprintf(&b, "\n"+BeforeCorrection+"%s: %s)", r.Until.UTC().Format(time.DateOnly), r.Content)
	}
	return b.String()
}

// Semantic is a piece of knowledge with a strength that fades (demurrage).
type Semantic struct {
	Head
	Content  string  `json:"content"`
	Strength float64 `json:"strength"` // [0, 1] at At
	// when its strength reaches the demurrage threshold, without volatility or further use
	Due    time.Time `json:"due"`
	Uses   int       `json:"uses,omitempty"` // how often it was recalled or mentioned, at most once a day
	Used   time.Time `json:"used,omitzero"`  // the last time of that
	Affect mood.PAD  `json:"affect"`
}

// Marks of a semantic entry.
func (s *Semantic) Marks() Marks { return Marks{Score: s.Strength, Due: s.Due} }

// Text of a semantic entry.
func (s *Semantic) Text() string { return s.Content }

// Statuses of a fragment.
const (
	FragmentRaw       = "raw"
	FragmentSelected  = "selected"
	FragmentDeveloped = "developed"
	FragmentPromoted  = "promoted"
	FragmentDiscarded = "discarded"
)

// LucidDiscard is the prefix of the reason of a fragment that the observer kept and lucid capture discarded.
const LucidDiscard = "lucid capture: "

// Fragment is a thought from the onset. Rejected ones are stored as well, as discarded.
type Fragment struct {
	Head
	Content    string   `json:"content"`
	Verdict    Verdict  `json:"verdict"`
	Tone       mood.PAD `json:"tone"`
	Cycle      int      `json:"cycle"` // Dali cycle, from 1; 0 for the induction
	Stage      Stage    `json:"stage"`
	Confidence float64  `json:"confidence"` // 0.10 to 0.20
	Status     string   `json:"status"`
	Reason     string   `json:"reason,omitempty"` // why discarded, or the rating at lucid capture
	Scenario   string   `json:"scenario,omitempty"`
	Hypothesis string   `json:"hypothesis,omitempty"`
	Settings   Settings `json:"settings"`
	Flags      []Flag   `json:"flags,omitempty"`   // results of policy and hooks
	Guessed    bool     `json:"guessed,omitempty"` // it names no source; the nearest memories were taken
	// at lucid capture; nil for a fragment that was not rated
	Rating *Rating `json:"rating,omitempty"`
	// identifies the rules in words that it was judged by; empty: none
	HeldTo string `json:"held_to,omitempty"`
}

// Rating is the result of lucid capture for a fragment.
type Rating struct {
	Rated  string `json:"rated"` // promote, stage or discard
	By     string `json:"by"`    // the model, or "composite" when none was called
	Reason string `json:"reason,omitempty"`
}

// Flag is the result of a policy rule or hook for a fragment.
type Flag struct {
	By     string `json:"by"` // "policy/<rule>" or "hook/<name>"
	Reason string `json:"reason"`
	Bars   bool   `json:"bars"` // it may never be developed; false: a person should look at it

	Lifted time.Time `json:"lifted,omitzero"` // since then it no longer bars, by a person's decision
}

// Barring is the reason for archiving what a flag bars.
func (f Flag) Barring() string { return "barred by " + f.By }

// Barred returns the flag that bars a fragment, if there is one.
func (f *Fragment) Barred() (Flag, bool) {
	for _, flag := range f.Flags {
		if flag.Bars && flag.Lifted.IsZero() {
			return flag, true
		}
	}
	return Flag{}, false
}

// Marks of a fragment.
func (f *Fragment) Marks() Marks { return Marks{Score: f.Verdict.Composite, Status: f.Status} }

// Text of a fragment.
func (f *Fragment) Text() string { return f.Content }

// Settings records the requested settings of a generation and those that were sent to the provider.
type Settings struct {
	Model       string   `json:"model"`
	Temperature *float64 `json:"temperature,omitempty"` // requested
	MinP        *float64 `json:"min_p,omitempty"`       // requested
	Effective   string   `json:"effective,omitempty"`   // what was sent, such as "temperature=1.31 min_p=0.1"

	// how its model was loosened; empty in old records
	Loosening   Loosening `json:"loosening,omitempty"`
	Probability *float64  `json:"probability,omitempty"` // the model's own estimate; nil when it was not asked for
	// the steering vector, such as "muse x 0.25 at layer 11"
	Steering string `json:"steering,omitempty"`
}

// Scenario is a scene imagined in REM from fragments and recombined episodes.
type Scenario struct {
	Head
	Content        string  `json:"content"`
	Premise        string  `json:"premise,omitempty"`
	Counterfactual bool    `json:"counterfactual"`
	Synthetic      bool    `json:"synthetic"`         // recombined from episodes that did not happen together
	Guessed        bool    `json:"guessed,omitempty"` // its fragment names no source; the nearest memories were taken
	Score          float64 `json:"score"`             // [0, 1]
	Kept           bool    `json:"kept"`
	Parent         string  `json:"parent,omitempty"` // the first fragment it develops
	Reason         string  `json:"reason,omitempty"` // why it was not kept

	// Of a scenario made by a search.
	Operation   Operation `json:"operation,omitempty"`
	Round       int       `json:"round,omitempty"`        // of the search, from 1
	Turn        int       `json:"turn,omitempty"`         // its number in the search, from 1
	Parents     []string  `json:"parents,omitempty"`      // scenarios it was made from
	Seeds       []string  `json:"seeds,omitempty"`        // fragments it develops, including those of its parents
	Worth       *Worth    `json:"worth,omitempty"`        // the parts of its score; nil: not weighed
	JudgeReason string    `json:"judge_reason,omitempty"` // the judge's own reason

	Flags []Flag `json:"flags,omitempty"` // why the policy bars it; it is archived then
	// the open prediction that said already what this scenario claims; empty when it makes one of its own
	Foretold string `json:"foretold,omitempty"`

	Ended string `json:"ended,omitempty"` // on the last scenario of a search: why the search ended
}

// Operation is how a search made a scenario: from fragment and memory alone, from one scenario, or from two.
type Operation string

// The operations.
const (
	Branch Operation = "branch"
	Refine Operation = "refine"
	Merge  Operation = "merge"
)

// Worth are the parts of a scenario's score, each in [0, 1].
type Worth struct {
	Novelty   float64 `json:"novelty"`
	Plausible float64 `json:"plausible"`
	Relevance float64 `json:"matters"`
	Judge     string  `json:"judge"` // the model, or "embedder" when the numbers were measured
}

// Develops lists the fragments that the scenario was made from.
func (s *Scenario) Develops() []string {
	if len(s.Seeds) == 0 && s.Parent != "" {
		return []string{s.Parent}
	}
	return s.Seeds
}

// Marks of a scenario.
func (s *Scenario) Marks() Marks {
	status := "dropped"
	if s.Kept {
		status = "kept"
	}
	return Marks{Score: s.Score, Status: status}
}

// Text of a scenario.
func (s *Scenario) Text() string { return s.Content }

// Statuses of a hypothesis.
const (
	HypothesisStaged   = "staged"
	HypothesisPromoted = "promoted"
	HypothesisRefuted  = "refuted"
	HypothesisBarred   = "barred"  // by the policy: never staged
	HypothesisRested   = "rested"  // archived to make room for a newer one; a person may restore it
	HypothesisLapsed   = "lapsed"  // nothing can decide it any more; a person may restore it
	HypothesisRetired  = "retired" // it was promoted, and has stopped holding
)

// Hypothesis is a claim staged for the playbook. One whose predictions all carry a check becomes what the claims of
// these checks become. One in prose is decided by independent outcomes.
type Hypothesis struct {
	Head
	Claim      string  `json:"claim"`
	FirstStep  string  `json:"first_step,omitempty"`
	Confidence float64 `json:"confidence"` // 0.2 to 0.3 at first; each outcome moves it
	Status     string  `json:"status"`
	Reason     string  `json:"reason,omitempty"` // why it ended

	Confirmed    []string            `json:"confirmed,omitempty"`    // its predictions that came true
	Contradicted []string            `json:"contradicted,omitempty"` // its predictions that did not
	Outcomes     []HypothesisOutcome `json:"outcomes,omitempty"`     // of these predictions, in the order of their outcomes

	Claims   []string `json:"claim_ids,omitempty"`    // claims that decide it; none: it is in prose
	Playbook []string `json:"playbook_ids,omitempty"` // entries that it is promoted by
	// whose talks show it (TalkOrigin); as for a claim
	Owners []string `json:"owners,omitempty"`

	Promoted time.Time `json:"promoted_at,omitzero"`
	Ended    time.Time `json:"ended_at,omitzero"`
	Restored time.Time `json:"restored_at,omitzero"` // when a person last restored it

	Flags []Flag `json:"flags,omitempty"` // why the policy bars it; it is archived then
}

// HypothesisOutcome is the outcome of one prediction that a hypothesis rests on.
type HypothesisOutcome struct {
	Prediction string    `json:"prediction_id"`
	Right      bool      `json:"right"`
	At         time.Time `json:"at"`
	Sources    []string  `json:"source_ids,omitempty"` // the episodes that the prediction rests on, or its author
	Events     []string  `json:"event_ids,omitempty"`  // the episodes that decided it, or who decided it when
	// why it counts for nothing; empty: it is independent of those before
	Dependent string `json:"dependent,omitempty"`
}

// InProse says whether no claim with a check decides the hypothesis.
func (h *Hypothesis) InProse() bool { return len(h.Claims) == 0 }

// Marks of a hypothesis.
func (h *Hypothesis) Marks() Marks { return Marks{Score: h.Confidence, Status: h.Status} }

// Text of a hypothesis.
func (h *Hypothesis) Text() string { return h.Claim }

// Gist is the general lesson of a knowledge entry that fades, without numbers, dates or addresses.
type Gist struct {
	Head
	Content string `json:"content"`
	Flags   []Flag `json:"flags,omitempty"` // why the policy bars it; it is archived then
}

// Marks of a gist.
func (g *Gist) Marks() Marks { return Marks{} }

// Text of a gist.
func (g *Gist) Text() string { return g.Content }

// Playbook is a heuristic that the agent acts by.
type Playbook struct {
	Head
	Content    string  `json:"content"`
	Confidence float64 `json:"confidence"`
	Hypothesis string  `json:"hypothesis,omitempty"` // the hypothesis it came from; empty when a person wrote it
	Claim      string  `json:"claim,omitempty"`      // the claim that it says; empty for any other
	Owner      string  `json:"owner,omitempty"`      // whose talks show it (TalkOrigin); nobody else is told
}

// Marks of a playbook entry.
func (p *Playbook) Marks() Marks { return Marks{Score: p.Confidence, Owner: p.Owner} }

// Text of a playbook entry.
func (p *Playbook) Text() string { return p.Content }

// Sources and statuses of a prediction.
const (
	Creative        = "creative"
	Analytical      = "analytical"
	PredictionOpen  = "open"
	PredictionRight = "correct"
	PredictionWrong = "incorrect"
	PredictionVoid  = "void" // the horizon passed and the outcome is unknown
)

// Prediction is a claim that can turn out right or wrong. Every creative result makes one.
type Prediction struct {
	Head
	Source     string     `json:"source"`
	Claim      string     `json:"claim"`     // empty if Fragment has it
	Criterion  string     `json:"criterion"` // what would show it right or wrong
	Horizon    time.Time  `json:"horizon"`   // the time until which it applies
	Confidence float64    `json:"confidence"`
	Session    string     `json:"session"`            // the dream it came from
	Episodes   []string   `json:"episodes,omitempty"` // the episodes it rests on
	Scenario   string     `json:"scenario,omitempty"`
	Fragment   string     `json:"fragment,omitempty"`
	Trace      string     `json:"trace,omitempty"` // the reasoning given for it
	Status     string     `json:"status"`
	ResolvedAt *time.Time `json:"resolved_at,omitempty"`
	Residual   *float64   `json:"residual,omitempty"` // outcome (1 or 0) - confidence
	ResolvedBy string     `json:"resolved_by,omitempty"`
	Evidence   string     `json:"evidence,omitempty"`   // what was observed, in the words of the resolver
	DecidedBy  []string   `json:"decided_by,omitempty"` // ids of the episodes that decided it
	Guessed    bool       `json:"guessed,omitempty"`    // it names no source; the nearest memories were taken
	Watch      *Watch     `json:"watch,omitempty"`
	Check      *Check     `json:"check,omitempty"`

	Reasoning *ReasoningReview `json:"reasoning,omitempty"` // what a dream found of Trace; nil: not reviewed

	Flags []Flag `json:"flags,omitempty"` // why the policy bars it; it is void and archived then
}

// ReasoningReview is what a dream found of the reasoning behind a resolved prediction, without knowing the outcome.
type ReasoningReview struct {
	Aligned bool      `json:"aligned"` // the claim follows from it and from what the prediction rests on
	By      string    `json:"by"`      // the model, or ByProgram
	Reason  string    `json:"reason,omitempty"`
	Dream   string    `json:"dream"`
	At      time.Time `json:"at"`
}

// ByProgram is who reviewed a reasoning where no model did.
const ByProgram = "program"

// The results of comparing the reasoning behind a prediction with its outcome.
const (
	AlignedCorrect      = "aligned-correct"
	AlignedIncorrect    = "aligned-incorrect"    // sound reasoning from a wrong idea of the world
	MisalignedCorrect   = "misaligned-correct"   // luck
	MisalignedIncorrect = "misaligned-incorrect" // the reasoning was wrong as well
)

// Quadrant compares the reasoning with the outcome; empty for a prediction that was not reviewed or has no outcome.
func (p *Prediction) Quadrant() string {
	if p.Reasoning == nil {
		return ""
	}
	aligned := p.Reasoning.Aligned
	switch {
	case p.Status == PredictionRight && aligned:
		return AlignedCorrect
	case p.Status == PredictionRight:
		return MisalignedCorrect
	case p.Status == PredictionWrong && aligned:
		return AlignedIncorrect
	case p.Status == PredictionWrong:
		return MisalignedIncorrect
	}
	return ""
}

// Watch lets a rule of a feed resolve a prediction when it fires before the horizon. If the horizon passes first, the
// prediction gets the opposite result.
type Watch struct {
	Feed string `json:"feed"`
	Rule string `json:"rule"`
	// the result when the rule fires: PredictionRight or PredictionWrong
	Means string `json:"means"`

	Since time.Time `json:"since,omitzero"` // the beginning of the watch; earlier firings do not count
}

// Who resolved a prediction. ByTool is followed by the tool's name, as in "tool/ledger-bot", and ByRule by the
// rule's, as in "rule/harbour/quay-price". ByCheck is its own check, looked up in what was lived. ByJudge is followed
// by the model that compared it with what was lived, as in "judge/openai/gpt-4o-mini", and whose quotation a program
// found. Dreams do not resolve predictions.
const (
	ByPerson  = "person"
	ByTool    = "tool/"
	ByRule    = "rule/"
	ByHorizon = "horizon" // the horizon passed
	ByCheck   = "check"
	ByJudge   = "judge/"
	ByLimit   = "limit" // more were open than may be
)

// Checked says that the prediction's check resolves it; while a rule watches it, the rule does.
func (p *Prediction) Checked() bool { return p.Check != nil && p.Watch == nil }

// Marks of a prediction.
func (p *Prediction) Marks() Marks {
	return Marks{Score: p.Confidence, Status: p.Status, Due: p.Horizon, Session: p.Session}
}

// Text of a prediction.
func (p *Prediction) Text() string { return p.Claim }

// Journal is an entry of the dream journal.
type Journal struct {
	Head
	Content      string        `json:"content"`
	Significance float64       `json:"significance"` // [0, 1]
	Affect       mood.PAD      `json:"affect"`
	Duration     time.Duration `json:"duration"`
	Interrupted  bool          `json:"interrupted"`
	Topics       []string      `json:"topics,omitempty"`
	// the times of the wake that made this entry; nil when the dream was not interrupted
	Wake *WakeTimes `json:"wake,omitempty"`

	Flags []Flag `json:"flags,omitempty"` // why the policy bars it; it is archived then
}

// WakeTimes are the four phases of a wake, each measured by the clock of the process that did it.
type WakeTimes struct {
	// from the request until epoch, affect and digest are durable and the caller may go on
	Receipt  time.Duration `json:"receipt"`
	Stop     time.Duration `json:"stop"`     // from there until the last stream was closed; 0 in light sleep
	Preserve time.Duration `json:"preserve"` // from there until the text of the calls was durable
	Switch   time.Duration `json:"switch"`   // from there until the stretch was closed and the slot free
	Light    bool          `json:"light"`    // no call was running
	Forced   bool          `json:"forced"`   // a call did not stop in time and was left running
}

// Total is the whole wake.
func (w WakeTimes) Total() time.Duration { return w.Receipt + w.Stop + w.Preserve + w.Switch }

// Marks of a journal entry.
func (j *Journal) Marks() Marks { return Marks{Score: j.Significance} }

// Text of a journal entry.
func (j *Journal) Text() string { return j.Content }

// Decode reads an item of the given kind from its JSON.
func Decode(kind Kind, body []byte) (Item, error) {
	var item Item
	switch kind {
	case KindEpisode:
		item = new(Episode)
	case KindSemantic:
		item = new(Semantic)
	case KindFragment:
		item = new(Fragment)
	case KindScenario:
		item = new(Scenario)
	case KindHypothesis:
		item = new(Hypothesis)
	case KindGist:
		item = new(Gist)
	case KindPlaybook:
		item = new(Playbook)
	case KindPrediction:
		item = new(Prediction)
	case KindJournal:
		item = new(Journal)
	case KindRecord:
		item = new(Record)
	case KindMarker:
		item = new(Marker)
	case KindProposal:
		item = new(Proposal)
	case KindClaim:
		item = new(Claim)
	default:
		return nil, fmt.Errorf("unknown kind of memory %q", kind)
	}
	if err := json.Unmarshal(body, item); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return item, nil
}

// DistinctIDs removes duplicates and keeps the order.
func DistinctIDs(ids []string) []string {
	var once []string
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once
}
