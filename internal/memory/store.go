// Package memory says what may be asked of the past, and what a store promises about it.
package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/recall/rank"
)

// The failures that callers branch on. Stores wrap them with what was tried.
var (
	ErrNotFound = errors.New("not found")
	ErrTaken    = errors.New("taken")       // handle or dreaming slot held by somebody else
	ErrFenced   = errors.New("fenced")      // the writer no longer holds the agent's dreaming slot
	ErrSpace    = errors.New("other space") // vectors of two embedders may not be mixed
	// dreams, ledger and the agent's life are named by the handle, which stays from the first dream or wake on
	ErrDreamt = errors.New("has dreamt or was woken")
	ErrStale  = errors.New("stale") // the item has changed since it was read; read it again
	ErrWoken  = errors.New("woken") // the agent's epoch has risen since the writer's sitting began
	ErrAwake  = errors.New("awake") // somebody holds the agent awake: no dream may begin
	ErrAway   = errors.New("away")  // the store could not be reached, or did not answer in time

	// ErrRemoved is of an agent that was removed: nothing is written for it until PutAgent makes it anew.
	ErrRemoved = fmt.Errorf("removed: %w", ErrNotFound)
	// ErrRemoving is of an agent whose removal was cut off; DropAgent completes it.
	ErrRemoving = fmt.Errorf("being removed: %w", ErrNotFound)

	// ErrForgotten is of a write that follows from what was read before something of the agent was forgotten: read it
	// again.
	ErrForgotten = errors.New("forgotten")
)

// Fence names the dream sitting that writes. The store refuses a fenced write unless Dream and Run hold the agent's
// dreaming slot (ErrFenced) and the agent's epoch is not above Epoch (ErrWoken). The zero Fence is a write made awake:
// it is refused for its Reading alone. Two fences of one Dream and Run are the same holder, whatever their epochs.
type Fence struct {
	Dream string `json:"dream"`
	Run   string `json:"run"`
	Epoch int64  `json:"epoch,omitempty"` // of the agent when the sitting took the slot

	Read Reading `json:"-"` // as of when the writer read what it writes of
}

// Reading is as of which forgetting a writer read the agent's memories. The store refuses a write that follows from an
// older reading than the agent's last forgetting (ErrForgotten): it may repeat what is gone. The zero Reading is not
// looked at.
type Reading struct {
	Known       bool
	Forgettings int64 // of the agent before the first memory was read; Store.Forgettings
}

// Stale says whether something was forgotten since.
func (r Reading) Stale(forgettings int64) bool { return r.Known && forgettings > r.Forgettings }

// Awake says whether no dream writes.
func (f Fence) Awake() bool { return f.Same(Fence{}) && f.Epoch == 0 }

// Same says whether two fences name the same holder.
func (f Fence) Same(o Fence) bool { return f.Dream == o.Dream && f.Run == o.Run }

// Waking is what a knock would find now: the step that raises the epoch fixes it (presence.Store.Arrive). Mood goes
// with the slot, the digest waits for the next wake.
type Waking struct {
	Mood   *mood.PAD // the affect that the dream would leave if it were woken now; nil: the waking one stays
	Since  time.Time // when the mood would be felt so: it settles from then on; zero: from the wake on
	Digest []string  // ids of journal entries to add to the digest; the newest presence.Digested are kept
}

// Foreseen is a waking mood as a store keeps it beside the slot.
type Foreseen struct {
	mood.PAD
	Since time.Time `json:"since,omitzero"`
}

// Foreseen is the mood of a waking; nil when it names none.
func (w Waking) Foreseen() *Foreseen {
	if w.Mood == nil {
		return nil
	}
	return &Foreseen{*w.Mood, w.Since.UTC()}
}

// Affect is what a wake at that time makes of it.
func (f Foreseen) Affect(dreamID string, at time.Time) dream.Affect {
	a := dream.Affect{PAD: f.PAD, Since: f.Since, Cause: dreamID}
	if a.Since.IsZero() {
		a.Since = at
	}
	return a
}

// Vector is an item's place in one embedder's space.
type Vector struct {
	Item  string
	Space string // embedder, version and dimension, such as "builtin-lexical/1/384"
	V     []float32
}

// Write is one transaction: everything in it happens, or nothing does.
type Write struct {
	Agent string
	Fence Fence
	// what makes the change: a dream id, "import", "operator"; recorded with every revision; empty means Fence.Dream
	Cause string
	Add   []dream.Item // an id that already exists is left as it is and counted as known
	// must exist (ErrNotFound); becomes the newest revision, if it was read at the newest (ErrStale) or at none
	// (Revision 0); equal content adds no revision; see Replaces
	Change []dream.Item
	// an item's vector in a space, one space per agent (ErrSpace); the newest wins; the item must exist (ErrNotFound)
	Vectors []Vector
	Affect  *dream.Affect // sets the agent's affect
	Events  []event.Event // appended in order; an id already in the agent's log is ignored
	Waking  *Waking       // replaces the mood that a knock would leave, and adds to the digest
	// the last words of a sitting that was woken: the epoch is not checked, and Affect and Waking must be nil
	Late bool
}

// Replaces says whether a change takes the place of the revision before it instead of following it: when both are of
// the dream that writes and leave the item in the same state. Undo needs only what stood before the dream. Numbers rise
// all the same, so that the numbers of an item's revisions may leave some out.
func (w Write) Replaces(before string, was, becomes dream.State) bool {
	return w.Fence.Dream != "" && w.CauseOf() == w.Fence.Dream && before == w.Fence.Dream && was == becomes
}

// CauseOf is what makes the change.
func (w Write) CauseOf() string {
	if w.Cause == "" {
		return w.Fence.Dream
	}
	return w.Cause
}

// Receipt says what a write did.
type Receipt struct {
	Added, Known, Changed int
	LastSeq               int64 // the agent's newest event
}

// Order of a query's answer. Ties break by Text, then by id, so that order never depends on insertion.
type Order string

// The orders.
const (
	Newest       Order = "newest"        // At, latest first
	Oldest       Order = "oldest"        // At, earliest first
	MostSalient  Order = "most_salient"  // Salience, then Newest
	HighestScore Order = "highest_score" // Score, then Newest
	SoonestDue   Order = "soonest_due"   // Due, earliest first; items without a due time are left out
)

// Query asks for items of one agent. Zero fields do not filter, but State defaults to live.
type Query struct {
	Agent        string
	Kinds        []dream.Kind
	States       []dream.State
	Statuses     []string
	Owners       []string // Marks.Owner among these; "" is the agent's own
	Dream        string
	Session      string
	SalientFrom  float64   // Salience at least this
	ScoreFrom    float64   // Score at least this
	Since, Until time.Time // At in [Since, Until)
	DueBefore    time.Time
	Order        Order // Newest by default
	Limit        int   // 0 for all
}

// Near asks for the live items of one agent nearest to a vector. Zero filters do not filter.
type Near struct {
	Agent string
	Space string // that Vector is in
	V     []float32
	Limit int
	Filter
}

// Filter narrows a search. What it leaves out costs the search neither places nor, for other owners' items, time.
type Filter struct {
	Kinds  []dream.Kind
	Owners []string // Marks.Owner among these; "" is the agent's own
	Dreamt Dreamt
	Except []string // ids

	Since, Until time.Time // At in [Since, Until), by the second
}

// Dreamt says which of the items that dreams made are found.
type Dreamt uint8

// The choices.
const (
	AllDreamt      Dreamt = iota
	PromotedDreamt        // only what was promoted to the playbook
	NoneDreamt
)

// Search asks for the live items of one agent that say most of what is sought, by their words, their place, or both.
type Search struct {
	Agent string
	Text  string    // what is sought; its words are compared
	Space string    // that V is in
	V     []float32 // the place of Text; nil: words alone
	Blend rank.Blend
	Limit int
	Filter
}

// Found is what a search answers. Its bounds are of all the items that the filter leaves, whatever the limit.
type Found struct {
	Hits   []rank.Hit // by score, best first; ties by id
	Newest time.Time  // At of the newest item among all that the filter leaves
	Items  int        // how many the filter leaves
}

// Hit is a neighbour. Cosine lies in [-1, 1].
type Hit struct {
	Item   string
	Cosine float64
}

// Slot is who dreams for an agent.
type Slot struct {
	Fence
	Workflow string
	Cluster  string // id of the Temporal cluster and namespace that the holder runs on; empty when it is not known
	Since    time.Time
}

// Undone says what undoing a dream did. Kept names items that a later cause changed again; they stay as they are.
type Undone struct {
	Archived int // items the dream had made
	Restored int // items whose revision before the dream is the newest again
	Kept     []string
}

// Erasure is what is forgotten for good. The items go with their revisions and their vectors of every space, and their
// ids go out of the references of every other item. A store that keeps the ledger as well drops the answers that are
// kept for the dreams that made or changed the items, for those whose notes name one as a JSON text, because their
// prompts showed it, for the dream that holds the agent's slot, and for Dreams; attempts of these that are under way
// leave none; of those that showed one, late notes go too. Every answer that is kept for a request of the server
// becomes access.Erased. Nothing of it is left in the store's files: what a store cannot reach its own documentation
// names.
type Erasure struct {
	IDs []string // items to erase
	// items that stay, and lose what Words takes out of their revisions; one whose text changes loses its vectors
	Scrub  []string
	Words  Words    // nil: nothing is scrubbed. The notes of all dreams of the agent are scrubbed, too
	Dreams []string // dreams whose kept answers are dropped
	// another part of the same erasure follows: what is done once, such as cutting a log, is left to the last
	More bool
}

// Words takes what is forgotten out of texts. It is asked anew when a step is tried again.
type Words interface {
	// Scrub rewrites an item's JSON; changed is false when nothing of it is in there.
	Scrub(kind dream.Kind, body []byte) (scrubbed []byte, changed bool, err error)
	// Note rewrites a note in JSON; Holds says whether a late note, which has any form, is to go.
	Note(value []byte) (scrubbed []byte, changed bool)
	Holds(value []byte) bool
}

// Erased says what an erasure did.
type Erased struct {
	Items    int // erased
	Scrubbed int // items that stay, with other words
}

// Dropped says what a removal took. A removal that completes an earlier one counts what that one had begun with.
type Dropped struct {
	Items  map[dream.Kind]int `json:"items"` // of every state
	Events int                `json:"events"`
	// why the store's files still hold old bytes of it; empty: they do not
	Traces string `json:"traces,omitempty"`
}

// Sum is how many items there were.
func (d Dropped) Sum() int {
	n := 0
	for _, count := range d.Items {
		n += count
	}
	return n
}

// Store remembers. Every method is safe for concurrent use, by several processes of one deployment.
// Answers are complete copies: changing one changes nothing remembered.
type Store interface {
	// PutAgent creates an agent or replaces the one with the same id. ErrTaken when another agent has the handle,
	// ErrDreamt when the agent would get another handle than the one it has dreamt or was woken under: its life would
	// stay behind under the old one, and go to whoever is given that next.
	PutAgent(ctx context.Context, a dream.Agent) error
	// Agent finds by id or handle. ErrNotFound; ErrRemoved when the agent of that id was removed.
	Agent(ctx context.Context, idOrHandle string) (dream.Agent, error)
	// Agents lists all, by handle.
	Agents(ctx context.Context) ([]dream.Agent, error)
	// DropAgent removes an agent by id with everything that is kept of it. ErrNotFound when there is none, also for a
	// second removal; ErrTaken while a dream holds its slot; ErrAwake while a client's lease holds it awake at now.
	//
	// What it has spent stays: caps count attempts, accounts and allowances by the agent's id. Counters stay as well,
	// so that no number of a dream, an event, an epoch or an erasure is given twice, not even to a later agent of the
	// same handle: the ledger knows dreams by handle and number. From the removal on, every method that writes for the
	// agent answers ErrRemoved, until PutAgent makes it anew; then it begins empty.
	//
	// A process that dies in the midst leaves the agent as it was, or listed and closed to writes (ErrRemoving); the
	// next DropAgent completes the removal.
	DropAgent(ctx context.Context, agent string, now time.Time) (Dropped, error)

	// Commit does a Write. ErrFenced, ErrForgotten, ErrNotFound, ErrSpace, ErrStale. The items keep the Revision they
	// were read at: to change one again, read it again.
	Commit(ctx context.Context, w Write) (Receipt, error)
	// Get returns the newest revisions in the order of ids, leaving out what does not exist.
	Get(ctx context.Context, agent string, ids ...string) ([]dream.Item, error)
	// Find answers a query with newest revisions. Whatever returns items tells their Revision.
	Find(ctx context.Context, q Query) ([]dream.Item, error)
	Count(ctx context.Context, q Query) (int, error)
	// Owners counts the agent's live items by Marks.Owner, without those that are the agent's own.
	Owners(ctx context.Context, agent string) (map[string]int, error)
	// Revisions returns every revision of an item that is kept, oldest first, each with its cause (Write.Replaces).
	// ErrNotFound.
	Revisions(ctx context.Context, agent, id string) ([]Revision, error)

	// Near returns the nearest live items by cosine, exactly, best first; ties by id. ErrSpace when the agent's vectors
	// are of another space.
	Near(ctx context.Context, q Near) ([]Hit, error)
	// Search returns the live items with the best scores, exactly: BM25 of their words over what the filter leaves,
	// blended with the cosine of their vectors. ErrSpace when V is given and the agent's vectors are of another space.
	Search(ctx context.Context, q Search) (Found, error)
	// Vectors returns what the store keeps of these items' vectors in the space, in the order of ids, leaving out what
	// has none.
	Vectors(ctx context.Context, agent, space string, ids ...string) ([]Vector, error)
	// Bare returns live items that have no vector in the space, oldest first.
	Bare(ctx context.Context, agent, space string, kinds []dream.Kind, limit int) ([]dream.Item, error)
	// Space names the space that the agent's vectors are in; empty when it has none.
	Space(ctx context.Context, agent string) (string, error)

	// Spaces counts the agent's vectors by space: its own, and what is collected of another.
	Spaces(ctx context.Context, agent string) (map[string]int, error)
	// Collect keeps vectors of a space that the agent may move to beside those of its own, in which search goes on. The
	// newest of an item wins, an item whose text changes loses its collected ones, and items that are gone are left
	// out. ErrSpace when the space is the agent's own, and when its vectors differ in length.
	Collect(ctx context.Context, agent string, vectors []Vector) error
	// Move makes a collected space the agent's own and drops every vector of others, in one step, when every live item
	// that has a vector in the old space has one in the new. Otherwise it changes nothing and answers how many have
	// none. Moving to the agent's own space drops what was collected of others. ErrTaken while a dream holds the
	// agent's slot.
	Move(ctx context.Context, agent, space string) (missing int, err error)

	// Affect is the agent's; neutral with cause "new" when it was never set.
	Affect(ctx context.Context, agent string) (dream.Affect, error)

	// NextDream gives 1, 2, 3, … per agent; a number is never given twice.
	NextDream(ctx context.Context, agent string) (int64, error)
	// TakeSlot takes the agent's dreaming slot, or confirms it when the same holder has it already. When another holds
	// it, that slot is returned with ErrTaken; with steal set to that slot's fence, it is taken over in one step. The
	// slot that is returned names the agent's epoch when it was taken, whatever was asked. ErrAwake when somebody holds
	// the agent awake at s.Since and the slot is not confirmed.
	TakeSlot(ctx context.Context, agent string, s Slot, steal Fence) (Slot, error)
	// FreeSlot frees the slot if this fence holds it; otherwise it does nothing. A fence with an epoch leaves the slot
	// of a later sitting of its dream, which was taken at a higher one.
	FreeSlot(ctx context.Context, agent string, f Fence) error
	// Slots lists every taken slot by agent.
	Slots(ctx context.Context) (map[string]Slot, error)

	// PutNote keeps working data of a dream under a key, once: a key that exists keeps its first value, which is
	// returned. Keys that begin with LateNote are kept although the epoch has risen. ErrFenced, ErrForgotten.
	PutNote(ctx context.Context, agent string, f Fence, key string, value []byte) ([]byte, error)
	// Note reads it back. ErrNotFound.
	Note(ctx context.Context, agent, dreamID, key string) ([]byte, error)
	// Notes reads back every note whose key begins with prefix, by key.
	Notes(ctx context.Context, agent, dreamID, prefix string) (map[string][]byte, error)
	// DropNotes removes notes by key; without keys, all of a dream that has ended.
	DropNotes(ctx context.Context, agent, dreamID string, keys ...string) error

	// Undo archives what a dream made and restores what it changed, affect included, as revisions with the cause
	// "undo:<dream>", which nobody else may write. An item that a later cause changed stays until that is undone too;
	// in whatever order dreams are undone, an item is as the newest cause that still counts left it.
	Undo(ctx context.Context, agent, dreamID string) (Undone, error)
	// Erase does an Erasure in one step. An id whose item is gone already is no error: what is left of it goes. An
	// erasure of nothing still completes what an earlier one left unfinished outside of its transaction.
	Erase(ctx context.Context, agent string, e Erasure) (Erased, error)
	// Forget is an Erase of these items alone. It answers how many there were.
	Forget(ctx context.Context, agent string, ids ...string) (int, error)

	// Forgettings counts how often something of the agent was forgotten: what was read before the last time may be
	// gone.
	Forgettings(ctx context.Context, agent string) (int64, error)

	Close() error
}

// LateNote begins the keys of notes that hold what an interrupted call had said.
const LateNote = "snapshot/"

// Feeds keeps what agents are told from outside. Names are unique.
type Feeds interface {
	PutFeed(ctx context.Context, f dream.Feed) error
	// Feed finds one by name. ErrNotFound.
	Feed(ctx context.Context, name string) (dream.Feed, error)
	// Feeds lists all, by name.
	Feeds(ctx context.Context) ([]dream.Feed, error)
	// DropFeed removes one; agents that follow it follow nothing. ErrNotFound.
	DropFeed(ctx context.Context, name string) error
}

// Revision is one state of an item.
type Revision struct {
	Number int
	Cause  string
	At     time.Time
	Item   dream.Item
}

// As returns the items of one type, in order, leaving out the others.
func As[T dream.Item](items []dream.Item) []T {
	out := make([]T, 0, len(items))
	for _, item := range items {
		if t, ok := item.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// One gets a single item of a known type. ErrNotFound when it does not exist or is of another type.
func One[T dream.Item](ctx context.Context, s Store, agent, id string) (T, error) {
	var none T
	items, err := s.Get(ctx, agent, id)
	if err != nil {
		return none, err
	}
	for _, t := range As[T](items) {
		return t, nil
	}
	return none, fmt.Errorf("%T %s: %w", none, id, ErrNotFound)
}
