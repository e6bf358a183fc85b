package dream

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Head is what every remembered thing carries.
type Head struct {
	// derived: from content for what was lived, from dream, phase and counter for what was dreamt
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Kind    Kind      `json:"kind"`
	At      time.Time `json:"at"` // when it happened or was made, UTC
	State   State     `json:"state"`
	Taint   Taint     `json:"taint"`
	Dream   string    `json:"dream,omitempty"`   // the dream that made it; empty when lived
	Phase   Phase     `json:"phase,omitempty"`   // the phase that made it
	Sources []string  `json:"sources,omitempty"` // ids of the items it was made from
	Derived []string  `json:"derived,omitempty"` // names of fields that a local rule filled in
	NewerID string    `json:"newer,omitempty"`   // the item that superseded it

	Revision int `json:"-"` // which revision this is, set by the store that read it; 0 when no store did
}

// Header gives the common part; with it every noun that embeds Head is half an Item.
func (h *Head) Header() *Head { return h }

// Marks are the numbers and labels that a store sorts and filters by. Scores lie in [0, 1].
type Marks struct {
	Salience float64
	Surprise float64
	Score    float64   // strength, novelty, confidence or significance, by kind
	Due      time.Time // when a semantic entry fades or a prediction falls due; zero for never
	Status   string
	Session  string
	Owner    string // whose talk it was said in (TalkOrigin); empty for what is the agent's own
}

// TalkOrigin begins the origin of an episode that was said in a talk. The whole origin names who talked.
const TalkOrigin = "talk/"

// Dreamt says whether a dream made the item or its words. A gist that carries the label of its source says what that
// said, and stands where it stood.
func (h *Head) Dreamt() bool {
	return h.Taint == FromDream || h.Dream != "" && h.Kind != KindGist
}

// Item is anything remembered.
type Item interface {
	Header() *Head
	Marks() Marks
	// Text is what an embedder reads and a search shows.
	Text() string
}

// Episode is something that happened: context, action, outcome.
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

	Replaces []Replaced `json:"replaces,omitempty"` // what it corrects, the newest first
}

// Replaced is what an episode took the place of.
type Replaced struct {
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

// BeforeCorrection begins the lines of a text that tell what was so before.
const BeforeCorrection = "(until "

// Text of an episode, and what was so before.
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
	Content  string    `json:"content"`
	Strength float64   `json:"strength"`       // [0, 1] at At
	Due      time.Time `json:"due"`            // when, undisturbed, its strength reaches the demurrage threshold
	Uses     int       `json:"uses,omitempty"` // how often it was recalled or mentioned, days apart
	Used     time.Time `json:"used,omitzero"`  // when it was last
	Affect   mood.PAD  `json:"affect"`
}

// Marks of a semantic entry.
func (s *Semantic) Marks() Marks { return Marks{Score: s.Strength, Due: s.Due} }

// Text of a semantic entry.
func (s *Semantic) Text() string { return s.Content }

// Fragment states (FragmentStatus).
const (
	FragmentRaw       = "raw"
	FragmentSelected  = "selected"
	FragmentDeveloped = "developed"
	FragmentPromoted  = "promoted"
	FragmentDiscarded = "discarded"
)

// LucidDiscard begins the reason of a fragment that the observer kept and lucid capture discarded.
const LucidDiscard = "lucid capture: "

// Fragment is a thought caught at sleep onset (HypnagogicFragment). Rejected ones are stored too, as discarded.
type Fragment struct {
	Head
	Content    string   `json:"content"`
	Verdict    Verdict  `json:"verdict"`
	Tone       mood.PAD `json:"tone"`
	Cycle      int      `json:"cycle"` // Dali cycle, from 1; 0 for the induction
	Stage      Stage    `json:"stage"`
	Confidence float64  `json:"confidence"` // .10-.20
	Status     string   `json:"status"`
	Reason     string   `json:"reason,omitempty"` // why discarded, or the rating at lucid capture
	Scenario   string   `json:"scenario,omitempty"`
	Hypothesis string   `json:"hypothesis,omitempty"`
	Settings   Settings `json:"settings"`
	Flags      []Flag   `json:"flags,omitempty"` // what the policy and hooks said of it
	// at lucid capture; nil for one that never got there, or was caught before ratings were kept
	Rating *Rating `json:"rating,omitempty"`
	// the mark of the rules in words that somebody was asked about; empty: about none
	HeldTo string `json:"held_to,omitempty"`
}

// Rating is what lucid capture made of a fragment.
type Rating struct {
	Rated  string `json:"rated"` // promote, stage or discard
	By     string `json:"by"`    // the model, or "composite" when none was asked
	Reason string `json:"reason,omitempty"`
}

// Flag is what a rule of the policy or a hook said of a fragment.
type Flag struct {
	By     string `json:"by"` // "policy/<rule>" or "hook/<name>"
	Reason string `json:"reason"`
	Bars   bool   `json:"bars"` // it may never be developed; false: it is only to be looked at

	Lifted time.Time `json:"lifted,omitzero"` // since a person has lifted it, it bars no longer
}

// Barred says whether a fragment may never be developed, and who says so.
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

// Settings records what a generation was asked for and what the provider was really sent.
type Settings struct {
	Model       string   `json:"model"`
	Temperature *float64 `json:"temperature,omitempty"` // requested
	MinP        *float64 `json:"min_p,omitempty"`       // requested
	Effective   string   `json:"effective,omitempty"`   // what was sent, such as "temperature=1.31 min_p=0.1"

	// the way its model was loosened; empty for those of old orders
	Loosening   Loosening `json:"loosening,omitempty"`
	Probability *float64  `json:"probability,omitempty"` // how likely the model called it; nil when it was not asked
	// the vector it was made under, such as "muse x 0.25 at layer 11"
	Steering string `json:"steering,omitempty"`
}

// Scenario is something imagined in REM from fragments and recombined episodes.
type Scenario struct {
	Head
	Content        string  `json:"content"`
	Premise        string  `json:"premise,omitempty"`
	Counterfactual bool    `json:"counterfactual"`
	Synthetic      bool    `json:"synthetic"` // recombined from episodes that never happened together
	Score          float64 `json:"score"`     // [0, 1]
	Kept           bool    `json:"kept"`
	Parent         string  `json:"parent,omitempty"` // the first fragment it develops
	Reason         string  `json:"reason,omitempty"` // why it was let go

	// Of a scenario that a search made.
	Operation Operation `json:"operation,omitempty"`
	Round     int       `json:"round,omitempty"`   // of the search, from 1
	Turn      int       `json:"turn,omitempty"`    // its place in the search, from 1
	Parents   []string  `json:"parents,omitempty"` // scenarios it was made from
	Seeds     []string  `json:"seeds,omitempty"`   // fragments it develops, those of its parents included
	Worth     *Worth    `json:"worth,omitempty"`   // the parts of its score; nil: nobody weighed it
	Said      string    `json:"said,omitempty"`    // by the judge

	Flags []Flag `json:"flags,omitempty"` // why the policy bars it; then it is archived
	Ended string `json:"ended,omitempty"` // of the last one that a search made: why the search went no further
}

// Operation is how a search made a scenario: from nothing but fragment and memory, from one scenario, or from two.
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
	Matters   float64 `json:"matters"`
	Judge     string  `json:"judge"` // the model, or "embedder" when the numbers were measured
}

// Develops lists the fragments that the scenario was imagined from.
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

// Hypothesis states.
const (
	HypothesisStaged   = "staged"
	HypothesisPromoted = "promoted"
	HypothesisRefuted  = "refuted"
	HypothesisBarred   = "barred" // by the policy: it was never staged
	HypothesisRested   = "rested" // nothing had spoken for it, and it gave way to a newer one; a person may restore it
)

// Hypothesis is a claim staged for the playbook: starts at .2-.3, promoted at .7, refuted below .1.
type Hypothesis struct {
	Head
	Claim      string  `json:"claim"`
	FirstStep  string  `json:"first_step,omitempty"`
	Confidence float64 `json:"confidence"`
	Status     string  `json:"status"`

	Confirmed    []string `json:"confirmed,omitempty"`    // the predictions it rests on that came true
	Contradicted []string `json:"contradicted,omitempty"` // and those that did not

	Flags []Flag `json:"flags,omitempty"` // why the policy bars it; then it is archived
}

// Marks of a hypothesis.
func (h *Hypothesis) Marks() Marks { return Marks{Score: h.Confidence, Status: h.Status} }

// Text of a hypothesis.
func (h *Hypothesis) Text() string { return h.Claim }

// Gist is the shape of a lesson, kept when the entry it came from fades: no numbers, dates or addresses.
type Gist struct {
	Head
	Content string `json:"content"`
	Flags   []Flag `json:"flags,omitempty"` // why the policy bars it; then it is archived
}

// Marks of a gist.
func (g *Gist) Marks() Marks { return Marks{} }

// Text of a gist.
func (g *Gist) Text() string { return g.Content }

// Playbook is one heuristic that the agent acts by.
type Playbook struct {
	Head
	Content    string  `json:"content"`
	Confidence float64 `json:"confidence"`
	Hypothesis string  `json:"hypothesis,omitempty"` // the hypothesis it came from; empty when a person wrote it
}

// Marks of a playbook entry.
func (p *Playbook) Marks() Marks { return Marks{Score: p.Confidence} }

// Text of a playbook entry.
func (p *Playbook) Text() string { return p.Content }

// Prediction sources and states.
const (
	Creative        = "creative"
	Analytical      = "analytical"
	PredictionOpen  = "open"
	PredictionRight = "correct"
	PredictionWrong = "incorrect"
	PredictionVoid  = "void" // the horizon passed and nobody could say
)

// Prediction is a claim that reality can judge. Every creative output makes one.
type Prediction struct {
	Head
	Source     string     `json:"source"`
	Claim      string     `json:"claim"`     // empty where Fragment says it
	Criterion  string     `json:"criterion"` // what would show it true or false
	Horizon    time.Time  `json:"horizon"`   // by when
	Confidence float64    `json:"confidence"`
	Session    string     `json:"session"`            // the dream sitting it came from
	Episodes   []string   `json:"episodes,omitempty"` // the episode set it rests on
	Scenario   string     `json:"scenario,omitempty"`
	Fragment   string     `json:"fragment,omitempty"`
	Trace      string     `json:"trace,omitempty"` // the reasoning given for it
	Status     string     `json:"status"`
	ResolvedAt *time.Time `json:"resolved_at,omitempty"`
	Residual   *float64   `json:"residual,omitempty"` // outcome (1 or 0) - confidence
	ResolvedBy string     `json:"resolved_by,omitempty"`
	Evidence   string     `json:"evidence,omitempty"` // what was seen, in the words of whoever resolved it
	Watch      *Watch     `json:"watch,omitempty"`

	Flags []Flag `json:"flags,omitempty"` // why the policy bars it; then it is void and archived
}

// Watch is a rule over a feed that resolves a prediction when it fires before the horizon; the horizon passing without
// it resolves the opposite.
type Watch struct {
	Feed string `json:"feed"`
	Rule string `json:"rule"`
	// what the rule says of the prediction when it fires: PredictionRight or PredictionWrong
	Means string `json:"means"`

	Since time.Time `json:"since,omitzero"` // from when on it is watched; what fired before says nothing
}

// Who resolves a prediction. A tool is named behind ByTool, "tool/ledger-bot", and a rule behind ByRule,
// "rule/harbour/quay-price". A dream is none of them.
const (
	ByPerson  = "person"
	ByTool    = "tool/"
	ByRule    = "rule/"
	ByHorizon = "horizon" // the time ran out
)

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
	// how the wake that made this entry went; nil when the dream ended by itself
	Wake *WakeTimes `json:"wake,omitempty"`

	Flags []Flag `json:"flags,omitempty"` // why the policy bars it; then it is archived
}

// WakeTimes are the four phases of one wake, each measured by the clocks of the processes that did it.
type WakeTimes struct {
	// from the visit to the durable epoch, affect and digest: the caller may go on
	Receipt  time.Duration `json:"receipt"`
	Stop     time.Duration `json:"stop"`     // from there to the last stream that was cut; 0 in light sleep
	Preserve time.Duration `json:"preserve"` // from there until what it had said was safe
	Switch   time.Duration `json:"switch"`   // from there until the dream's context was closed and the slot free
	Light    bool          `json:"light"`    // no call was under way
	Forced   bool          `json:"forced"`   // a call did not stop in time and was left behind
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
	default:
		return nil, fmt.Errorf("unknown kind of memory %q", kind)
	}
	if err := json.Unmarshal(body, item); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return item, nil
}
