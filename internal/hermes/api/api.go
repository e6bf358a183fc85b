// Package api has the resources of an Oneiros server as far as Hermes shows them. Fields that it does not know are
// ignored, and fields that an older server or a lower role leaves out are zero.
package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// Model is one entry of GET /v1/models: an agent of an Oneiros server, or a model of a plain OpenAI server.
type Model struct {
	ID      string   `json:"id"`
	Owner   string   `json:"owned_by"`
	Context int      `json:"context_length"` // tokens; 0 where the server does not say
	Pricing *Pricing `json:"pricing"`        // nil where the server does not say
}

// Free reports whether the server says that the model costs nothing.
func (m Model) Free() bool {
	return m.Pricing != nil && m.Pricing.Prompt == 0 && m.Pricing.Completion == 0
}

// Pricing is what a model costs.
type Pricing struct {
	Prompt     Price `json:"prompt"`
	Completion Price `json:"completion"`
}

// Price is in US dollars per token. Servers write it as a number or as a string of digits.
type Price float64

// UnmarshalJSON reads either form.
func (p *Price) UnmarshalJSON(text []byte) error {
	digits := string(bytes.Trim(text, `"`))
	if digits == "null" || digits == "" {
		*p = 0
		return nil
	}
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return fmt.Errorf("a price must be a number of dollars per token; it is %.40q", text)
	}
	*p = Price(value)
	return nil
}

// Status is how an agent is.
type Status struct {
	Agent    string         `json:"agent"`
	State    string         `json:"state"` // sleeping, dreaming, waking or awake
	Leases   int            `json:"leases"`
	Until    time.Time      `json:"until"`
	Dream    string         `json:"dream"` // the newest
	Outcome  string         `json:"outcome"`
	Dreams   int            `json:"dreams"`
	Memories map[string]int `json:"memories"` // live items that the caller may read, by kind
	Own      Kept           `json:"own"`
	Emotion  Emotion        `json:"emotion"`
	Recall   *RecallCounts  `json:"recall"` // to operators
	Digest   []Memory       `json:"digest"`
}

// Kept is what the agent keeps of what the caller said.
type Kept struct {
	Memories int  `json:"memories"`
	Limit    int  `json:"limit"` // 0: none
	Full     bool `json:"full"`
}

// RecallCounts are the results of recall since the server began.
type RecallCounts struct {
	Recalled  int            `json:"recalled"`
	Skipped   map[string]int `json:"skipped"`
	WordsOnly map[string]int `json:"words_only"`
}

// Emotion is how an agent feels.
type Emotion struct {
	Word      string    `json:"word"`
	Pleasure  float64   `json:"pleasure"`
	Arousal   float64   `json:"arousal"`
	Dominance float64   `json:"dominance"`
	Intensity float64   `json:"intensity"`
	Cause     string    `json:"cause"`
	Since     time.Time `json:"since"`
}

// Session is a lease that holds an agent awake.
type Session struct {
	ID    string    `json:"id"`
	Agent string    `json:"agent"`
	Until time.Time `json:"until"`
	Woke  bool      `json:"woke"`
}

// JournalEntry is an entry of the dream journal.
type JournalEntry struct {
	ID           string    `json:"id"`
	Dream        string    `json:"dream"`
	At           time.Time `json:"at"`
	Content      string    `json:"content"`
	Topics       []string  `json:"topics"`
	Significance float64   `json:"significance"`
	Interrupted  bool      `json:"interrupted"`
}

// Dream is a dream. Times are seconds since 1970, nil for none.
type Dream struct {
	ID        string  `json:"id"`    // fits into an address: "dream_iris_0042"
	Dream     string  `json:"dream"` // "dream/iris/0042"
	Agent     string  `json:"agent"` // handle
	Status    string  `json:"status"`
	Outcome   string  `json:"outcome"`
	Reason    string  `json:"reason"` // to operators
	Created   int64   `json:"created_at"`
	Ended     *int64  `json:"ended_at"`
	Archived  *int64  `json:"archived_at"`
	Resumable *int64  `json:"resumable_until"`
	Resumes   int     `json:"resumes"`
	Insights  int     `json:"insights"`
	Undone    bool    `json:"undone"`
	Record    *Record `json:"record"` // to operators
}

// Over reports whether a dream has ended for good.
func (d Dream) Over() bool {
	return d.Status == "completed" || d.Status == "failed" || d.Status == "canceled"
}

// Record is what operators see of a dream beside its state.
type Record struct {
	Theme    string        `json:"theme"`
	Tier     string        `json:"tier"`
	Models   []string      `json:"models"` // "role=provider/model"
	Seed     string        `json:"seed"`
	Budget   budget.Micros `json:"budget_micros"`
	Spent    budget.Micros `json:"spent_micros"`
	Paid     bool          `json:"paid"`
	Usage    Usage         `json:"usage"`
	Counters Counters      `json:"counters"`
	Phases   []dream.Tally `json:"phases"`
	Summary  *Summary      `json:"summary"` // left out of lists
}

// Usage is in tokens.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cached_tokens"` // of the input
	Output int64 `json:"output_tokens"`
}

// Counters add up the phases of a dream.
type Counters struct {
	Calls  int `json:"calls"`
	Failed int `json:"failed"`
	Made   int `json:"made"`
	Kept   int `json:"kept"`
}

// Summary says in sentences what a dream changed and what to do next.
type Summary struct {
	Learned  string `json:"learned"`
	Stopped  string `json:"stopped"`
	Changed  string `json:"changed"`
	Archived string `json:"archived"`
	Next     string `json:"next"`
}

// Fragment is a thought from the onset.
type Fragment struct {
	ID      string  `json:"id"`
	Content string  `json:"content"`
	Status  string  `json:"status"` // raw, selected, developed, promoted or discarded
	Reason  string  `json:"reason"`
	Cycle   int     `json:"cycle"`
	Verdict Verdict `json:"verdict"`
}

// Discarded reports whether a fragment was not kept.
func (f Fragment) Discarded() bool { return f.Status == dream.FragmentDiscarded }

// Verdict is the observer's judgement of a text. All values lie in [0, 1].
type Verdict struct {
	Novelty   float64 `json:"novelty"`
	Relevance float64 `json:"relevance"`
	Coherence float64 `json:"coherence"`
	Composite float64 `json:"composite"`
}

// Scenario is a scene imagined in REM.
type Scenario struct {
	ID             string  `json:"id"`
	Content        string  `json:"content"`
	Premise        string  `json:"premise"`
	Score          float64 `json:"score"`
	Kept           bool    `json:"kept"`
	Reason         string  `json:"reason"`
	Counterfactual bool    `json:"counterfactual"`
	Synthetic      bool    `json:"synthetic"`
}

// Insight is what a dream brought that every role may be told.
type Insight struct {
	ID           string  `json:"id"`
	Kind         string  `json:"kind"`
	Content      string  `json:"content"` // empty where it is withheld
	Label        string  `json:"label"`   // "dream, unverified"
	Promoted     bool    `json:"promoted"`
	Significance float64 `json:"significance"`
}

// Claim is what all predictions with the same check say.
type Claim struct {
	ID       string         `json:"id"`
	Says     string         `json:"says"`
	Status   string         `json:"status"` // tried, passed, retired, dropped or lapsed
	Reason   string         `json:"reason"`
	From     time.Time      `json:"from"`
	Hits     int            `json:"hits"`
	Misses   int            `json:"misses"`
	Chance   float64        `json:"chance"`
	Wealth   float64        `json:"wealth"`
	Passed   time.Time      `json:"passed"`
	Ended    time.Time      `json:"ended"`
	Playbook string         `json:"playbook"`
	Outcomes []ClaimOutcome `json:"outcomes"`

	DecoyHits   int     `json:"decoy_hits"`
	DecoyMisses int     `json:"decoy_misses"`
	Decoys      []Decoy `json:"decoys"`
}

// Decoy is what a claim is compared with.
type Decoy struct {
	Instead string `json:"instead"`
}

// ClaimOutcome is one trial of a claim.
type ClaimOutcome struct {
	At       time.Time `json:"at"`
	Right    bool      `json:"right"`
	Wealth   float64   `json:"wealth"` // after it
	Evidence []string  `json:"evidence"`
}

// ClaimExplanation says why a claim passed or did not.
type ClaimExplanation struct {
	Claim    Claim        `json:"claim"`
	SaidBy   []SourceText `json:"said_by"`
	Evidence []SourceText `json:"evidence"`
}

// SourceText is an item with its words.
type SourceText struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Morning is what is new for an agent between two times.
type Morning struct {
	Agent   string    `json:"agent"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Learned []Finding `json:"learned"`
	Stopped []Finding `json:"stopped"`
	Waiting []Finding `json:"waiting"`
	Due     int       `json:"due"`
	Open    int       `json:"open"`
	Tried   int       `json:"tried"`
	Dropped int       `json:"dropped"`
	Dreams  int       `json:"dreams"`
	Ever    int       `json:"dreams_ever"`
	Nearest *Finding  `json:"nearest"`
}

// Finding is one thing that an agent knows, stopped believing, or waits to see.
type Finding struct {
	ID       string     `json:"id"`
	Says     string     `json:"says"`
	Status   string     `json:"status"`
	At       time.Time  `json:"at"`
	Because  string     `json:"because"`
	Sighted  []Sighting `json:"sighted"`
	Outcomes int        `json:"outcomes"`
}

// Sighting is a day on which something was said that shows a finding.
type Sighting struct {
	At   time.Time `json:"at"`
	Says string    `json:"says"`
}

// Who is a person or an agent.
type Who struct {
	Kind string `json:"kind"` // person or agent
	ID   string `json:"id"`
}

// Room is a place where members post.
type Room struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	By      Who       `json:"by"`
	Created time.Time `json:"created"`
	Posts   int64     `json:"posts"`
	Members []Member  `json:"members"` // of one room; left out of lists
}

// Member is a member of a room.
type Member struct {
	Who
	Name       string    `json:"name"`
	Role       string    `json:"role"`
	Trust      string    `json:"trust"`
	Subscribed bool      `json:"subscribed"`
	Online     bool      `json:"online"`
	Dreaming   bool      `json:"dreaming"`
	Dormancy   *Dormancy `json:"dormancy"` // of an agent that is not active in this room
}

// Dormancy is how reachable an agent has made itself.
type Dormancy struct {
	Level  string    `json:"level"` // active, mention-only, human-only or sleep
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
}

// Post is what a member of a room wrote.
type Post struct {
	ID      string    `json:"id"`
	Author  Who       `json:"author"`
	Name    string    `json:"name"`
	Body    string    `json:"body"`
	Created time.Time `json:"created"`
	Edited  time.Time `json:"edited"`
	Form    string    `json:"form"` // message, notice or announcement
	State   string    `json:"state"`
	ReplyTo string    `json:"reply_to"`
	Thread  string    `json:"thread"`
	Trust   string    `json:"trust"`
}

// Memory is a recalled item.
type Memory struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	At      time.Time `json:"at"`
	Content string    `json:"content"`
	Taint   string    `json:"taint"`
	Speaker string    `json:"speaker"`
	Score   float64   `json:"score"`
	Dreamt  bool      `json:"dreamt"`
	Label   string    `json:"label"`
}

// Added is what became of a statement that was remembered.
type Added struct {
	ID       string   `json:"id"`
	Existing bool     `json:"existing"` // it was known already
	Replaced []string `json:"replaced"` // ids of what it corrects
}

// Prediction is a claim that can turn out right or wrong.
type Prediction struct {
	ID         string    `json:"id"`
	Claim      string    `json:"claim"`
	Criterion  string    `json:"criterion"`
	Confidence float64   `json:"confidence"`
	Horizon    time.Time `json:"horizon"`
	Status     string    `json:"status"`
	Evidence   string    `json:"evidence"`
	Resolved   time.Time `json:"resolved_at"`
}

// Event is an event as shown to the caller. An event of type Rewound is the server's word that the log goes on behind
// Seq, because its store came back without the newest events.
type Event struct {
	event.Event
	Text string `json:"text"` // of the item that it names, where it was asked for
}

// Rewound is the type of the event that a server sends when its log is shorter than the reader's position.
const Rewound = "Rewound"

// Quality is what the newest dreams of an agent yield.
type Quality struct {
	At    time.Time
	Dream string
	event.DreamQuality
}

// QualityOf reads an event of type DreamQuality; ok is false for any other.
func QualityOf(e Event) (q Quality, ok bool) {
	if e.Type != (event.DreamQuality{}).EventType() {
		return Quality{}, false
	}
	q = Quality{At: e.At, Dream: e.Dream}
	return q, json.Unmarshal(e.Data, &q.DreamQuality) == nil
}

// Line is one line of a check of the connection.
type Line struct {
	Name  string // such as "server"
	Level string // ok, note, warning or failure
	Says  string
	Fix   string // what to do about it; may be empty
}

// The levels of a line, the best first.
const (
	OK      = "ok"
	Note    = "note"
	Warning = "warning"
	Failure = "failure"
)
