package dream

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// Tally counts what one phase did. All counts are whole dream totals, not differences.
type Tally struct {
	Phase Phase `json:"phase"`
	// "running", "ran", "skipped", "exhausted" (a cap), "stopped" (the dream was ended) or "failed" (every call)
	State   string        `json:"state"`
	Reason  string        `json:"reason,omitempty"`
	Calls   int           `json:"calls"`
	Reused  int           `json:"reused,omitempty"` // steps answered from what was already bought
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

// Recall is what a night did to recall, by questions made of the agent's own memories before it began.
type Recall struct {
	Requested int `json:"asked"`
	Before    int `json:"before"`           // found when the night began
	After     int `json:"after"`            // found when it ended; of one that was undone, before that
	Lost      int `json:"lost"`             // found before and not after, because of the night
	Gained    int `json:"gained"`           // found after and not before
	Margin    int `json:"margin"`           // so many more may be lost, or come behind, than gained
	Behind    int `json:"behind,omitempty"` // still found, but behind something that the night made
}

// LongestTheme is how many characters keep a theme a theme.
const LongestTheme = 500

// Record is the record of one dream, written when it begins and changed when it ends. Its item id is the dream id.
type Record struct {
	Head
	Workflow string `json:"workflow"`
	// id of the Temporal cluster and namespace that carries it; empty when not known
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
	// when it lay down; of a resumed one whose agent's mood has changed meanwhile, when it lay down again
	Before    mood.PAD `json:"mood_before"`
	After     mood.PAD `json:"mood_after"`
	Insights  []string `json:"insights,omitempty"` // ids of what was surfaced on return
	Selected  int      `json:"selected"`           // memory pieces that fitted the choice
	Shown     int      `json:"shown"`              // memory pieces that fitted the model's window
	Paid      bool     `json:"paid"`               // false when every model states a price of zero
	Models    []string `json:"models,omitempty"`
	Stretches int      `json:"sittings,omitempty"` // how often it lay down
	// how deep its onset was to go; nil: to the peak, or it never got so far
	Depth *Depth `json:"depth,omitempty"`
	// an interrupted dream may be resumed until then; zero: it ended for good
	Until time.Time `json:"until,omitzero"`
	// while it waits: a knock has moved the mood by the fragments of the Dali cycles before this one
	Connected int  `json:"knocked,omitempty"`
	Felt      int  `json:"felt,omitempty"` // and those of the cycles before this one are in Before already
	Open      bool `json:"open,omitempty"` // it lay down, and its books are not closed yet
	// how many the agent remembered when it lay down; nil: nobody counted
	Episodes *int `json:"episodes,omitempty"`
	// what became of what it would have left behind; empty: it counted at once
	Review Review `json:"review,omitempty"`
	// the dream whose earlier phases it took over; nil: it dreamt all of them
	Redreams *Redream `json:"redreams,omitempty"`

	Recall *Recall `json:"recall,omitempty"` // nil: nothing was asked

	BeforeAt time.Time `json:"mood_before_at,omitzero"` // when the agent felt so; zero on records that did not say
	AfterAt  time.Time `json:"mood_after_at,omitzero"`

	// when its record was put out of the lists; what it left behind stays as it is
	Shelved time.Time `json:"archived_at,omitzero"`
}

// Woke is the affect that the dream left, or will leave if nothing moves it any more.
func (n *Record) Woke() Affect { return Affect{PAD: n.After, Since: n.AfterAt, Cause: n.ID} }

// Affect sets the mood that the dream begins from: the affect as of a time, or of its own when that is later.
func (n *Record) Affect(a Affect, asOf time.Time) {
	at := asOf.UTC()
	if a.Since.After(at) {
		at = a.Since.UTC()
	}
	n.Before, n.BeforeAt = a.At(at), at
	n.After, n.AfterAt = n.Before, at
}

// Resumable says whether the dream was interrupted and may go on.
func (n *Record) Resumable() bool { return n.Outcome == Interrupted && !n.Until.IsZero() }

// Unsettled says whether somebody has yet to close the dream's books: it goes on, may go on, or was woken for good and
// has not risen.
func (n *Record) Unsettled() bool {
	return n.Outcome == Dreaming || n.Resumable() || n.Outcome == Interrupted && n.Open
}

// RecordWaits is the status of a night that was interrupted and may go on, or whose books are to be closed; that of
// every other is its outcome.
const RecordWaits = "waiting"

// Marks of a night.
func (n *Record) Marks() Marks {
	if n.Outcome != Dreaming && n.Unsettled() {
		return Marks{Status: RecordWaits}
	}
	return Marks{Status: string(n.Outcome)}
}

// Text of a night.
func (n *Record) Text() string { return n.Theme }
