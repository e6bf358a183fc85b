package dream

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Tally is what one phase did. All counts are totals of the dream.
type Tally struct {
	Phase Phase `json:"phase"`
	// "running", "ran", "skipped", "exhausted" (by a cap), "stopped" (the dream was ended) or "failed" (every call
	// failed)
	State   string        `json:"state"`
	Reason  string        `json:"reason,omitempty"`
	Calls   int           `json:"calls"`
	Reused  int           `json:"reused,omitempty"` // steps answered from recorded answers
	Failed  int           `json:"failed,omitempty"`
	Spent   budget.Micros `json:"spent"`
	Cap     budget.Micros `json:"cap"`
	In      int64         `json:"tokens_in"`
	Cached  int64         `json:"tokens_cached"`
	Out     int64         `json:"tokens_out"`
	Made    int           `json:"made"` // fragments, patterns, scenarios, hypotheses or insights
	Kept    int           `json:"kept"`
	Cycles  int           `json:"cycles,omitempty"`
	Started time.Time     `json:"started"`
	Ended   time.Time     `json:"ended"`
}

// Recall is the effect of a dream on recall, measured with questions about the agent's own memories.
type Recall struct {
	Requested int `json:"asked"`
	Before    int `json:"before"`           // found when the dream began
	After     int `json:"after"`            // found when it ended, before it was undone
	Lost      int `json:"lost"`             // found before and not after, because of the dream
	Gained    int `json:"gained"`           // found after and not before
	Margin    int `json:"margin"`           // how many more may be lost or pushed back than gained
	Behind    int `json:"behind,omitempty"` // still found, but ranked below an item of the dream
}

// LongestTheme is the most characters of a theme.
const LongestTheme = 500

// Record is the record of one dream, written when it begins and changed when it ends. Its item id is the dream id.
type Record struct {
	Head
	Workflow string `json:"workflow"`
	// id of the Temporal cluster and namespace that runs it; empty when unknown
	Cluster string        `json:"cluster,omitempty"`
	Run     string        `json:"run"`
	Tier    Tier          `json:"tier"`
	Theme   string        `json:"theme,omitempty"`
	Seed    uint64        `json:"seed"`
	AsOf    time.Time     `json:"as_of"`
	Outcome Outcome       `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Ended   time.Time     `json:"ended"`
	Budget  budget.Micros `json:"budget"`
	Spent   budget.Micros `json:"spent"`
	Phases  []Tally       `json:"phases,omitempty"`
	// when it began; for a resumed dream whose agent's mood had changed, when it was resumed
	Before    mood.PAD `json:"mood_before"`
	After     mood.PAD `json:"mood_after"`
	Insights  []string `json:"insights,omitempty"` // ids of the journal entries surfaced on return
	Selected  int      `json:"selected"`           // memory pieces that were chosen
	Shown     int      `json:"shown"`              // memory pieces that fitted the model's window
	Paid      bool     `json:"paid"`               // false when every model has a price of zero
	Models    []string `json:"models,omitempty"`
	Stretches int      `json:"sittings,omitempty"` // number of stretches
	// the intended depth of its onset; nil: the peak, or it was not reached
	Depth *Depth `json:"depth,omitempty"`
	// until when an interrupted dream may be resumed; zero: it has ended
	Until time.Time `json:"until,omitzero"`
	// while interrupted: a wake has moved the mood by the fragments of the Dali cycles before this one
	Connected int  `json:"knocked,omitempty"`
	Felt      int  `json:"felt,omitempty"` // the fragments of the cycles before this one are included in Before
	Open      bool `json:"open,omitempty"` // it has begun and is not closed yet
	// number of the agent's episodes when it began; nil: not counted
	Episodes *int `json:"episodes,omitempty"`
	// whether its results needed a review; empty: they counted at once
	Review Review `json:"review,omitempty"`
	// the dream whose earlier phases it took over; nil: none
	Redreams *Redream `json:"redreams,omitempty"`

	Recall *Recall `json:"recall,omitempty"` // nil: no probe was made

	BeforeAt time.Time `json:"mood_before_at,omitzero"` // the time of Before; zero on old records
	AfterAt  time.Time `json:"mood_after_at,omitzero"`

	// since when the record is hidden from lists; the dream's results stay as they are
	Shelved time.Time `json:"archived_at,omitzero"`
}

// Woke is the affect that the dream left, or leaves if nothing else moves it.
func (n *Record) Woke() Affect { return Affect{PAD: n.After, Since: n.AfterAt, Cause: n.ID} }

// Affect sets the mood that the dream begins from: the affect at asOf, or at its own start if that is later.
func (n *Record) Affect(a Affect, asOf time.Time) {
	at := asOf.UTC()
	if a.Since.After(at) {
		at = a.Since.UTC()
	}
	n.Before, n.BeforeAt = a.At(at), at
	n.After, n.AfterAt = n.Before, at
}

// Resumable says whether the dream was interrupted and may be resumed.
func (n *Record) Resumable() bool { return n.Outcome == Interrupted && !n.Until.IsZero() }

// Unsettled says whether the dream is not closed yet: it runs, may be resumed, or was interrupted for good and has
// not been closed.
func (n *Record) Unsettled() bool {
	return n.Outcome == Dreaming || n.Resumable() || n.Outcome == Interrupted && n.Open
}

// RecordWaits is the status of a record that was interrupted and may be resumed or is not closed yet; the status of
// every other record is its outcome.
const RecordWaits = "waiting"

// Marks of a record.
func (n *Record) Marks() Marks {
	if n.Outcome != Dreaming && n.Unsettled() {
		return Marks{Status: RecordWaits}
	}
	return Marks{Status: string(n.Outcome)}
}

// Text of a night.
func (n *Record) Text() string { return n.Theme }
