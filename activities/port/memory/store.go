// Package memory defines the port to an agent's stored memories: the queries, the writes, and the guarantees that every
// store gives. internal/sqlitestore and internal/redisstore implement it.
//
// A store of another module implements DreamStore, together with presence.Store of package presence, because a wake
// changes the slot, the affect and the epoch in one step. Of the store it is asked:
//
//   - Each method is one atomic step, durable when it returns, and safe for several processes if there are several.
//   - Items are kept as the JSON that encoding/json makes of them, and read with dream.Decode. Every change keeps the
//     revision before it, unless Write.Replaces says otherwise.
//   - Times are UTC with nanoseconds. Scores, salience and strength lie in [0, 1]. Vectors are float32 of one length
//     in a space, and are compared by cosine; they need not be units.
//   - Errors wrap the ones below, so that errors.Is finds them. Any other error means that the store could not do its
//     work, and the activity is tried again.
//
// What every store would repeat is here: Write.Validate, Fence.Check, SeenForgettings.Check and CheckRevision refuse a
// write,
// Query.Matches and SortItems answer a query over a list, UndoItem and past.UndoingAffect plan an undo, and package
// index searches exactly by words and by meaning.
package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
)

// Errors that callers branch on. Stores wrap them with the operation that failed.
var (
	ErrNotFound = errors.New("not found")
	ErrTaken    = errors.New("taken")       // another agent has the handle, or another dream the dreaming slot
	ErrFenced   = errors.New("fenced")      // the writer no longer holds the agent's dreaming slot
	ErrSpace    = errors.New("other space") // vectors of two embedders must not be mixed
	// Dreams, ledger and counters are stored under the handle, so it cannot change after the first dream or wake.
	ErrDreamt = errors.New("has dreamt or was woken")
	ErrStale  = errors.New("stale") // the item has changed since it was read; read it again
	ErrWoken  = errors.New("woken") // the agent's epoch has risen since the writer's stretch began
	ErrAwake  = errors.New("awake") // a client holds the agent awake, so no dream may begin
	ErrAway   = errors.New("away")  // the store could not be reached, or did not respond in time

	// ErrRemoved means that the agent was removed. Nothing is written for it until PutAgent creates it again.
	ErrRemoved = fmt.Errorf("removed: %w", ErrNotFound)
	// ErrRemoving means that the removal of the agent was interrupted. DropAgent completes it.
	ErrRemoving = fmt.Errorf("being removed: %w", ErrNotFound)

	// ErrForgotten means that a write is based on memories that were read before something of the agent was forgotten.
	// Read them again.
	ErrForgotten = errors.New("forgotten")
)

// Fence names the stretch of a dream that writes. The store refuses a fenced write unless Dream and Run hold the
// agent's dreaming slot (ErrFenced) and the agent's epoch is not above Epoch (ErrWoken). A Fence without Dream, Run and
// Epoch marks a write outside of any dream (see Awake); of it, only Read is checked. Two fences with the same Dream and
// Run are the same holder, whatever their epochs.
type Fence struct {
	Dream string `json:"dream"`
	Run   string `json:"run"`
	Epoch int64  `json:"epoch,omitempty"` // the agent's epoch when the stretch took the slot

	Read SeenForgettings `json:"-"` // taken before the writer read the memories that the write is based on
}

// SeenForgettings records how many forgettings the agent had when a writer read its memories. The store refuses a write
// whose SeenForgettings are fewer than the agent has now (ErrForgotten), because the write may repeat what was
// forgotten. The zero value is not checked.
type SeenForgettings struct {
	Set         bool
	Forgettings int64 // of the agent before the first memory was read; see Store.Forgettings
}

// Stale reports whether something was forgotten after the memories were read, given the current number of forgettings.
func (r SeenForgettings) Stale(forgettings int64) bool { return r.Set && forgettings > r.Forgettings }

// Awake reports whether the write is made outside of any dream.
func (f Fence) Awake() bool { return f.Same(Fence{}) && f.Epoch == 0 }

// Same reports whether two fences name the same holder.
func (f Fence) Same(o Fence) bool { return f.Dream == o.Dream && f.Run == o.Run }

// OnWake is the state that a connecting client would find now. The step that raises the epoch applies it
// (presence.Store.Arrive). Mood is kept with the slot; Digest waits for the next wake.
type OnWake struct {
	Mood   *mood.PAD // the affect that the dream would leave if it were woken now; nil: the waking affect stays
	Since  time.Time // the time from which Mood settles; zero: the time of the wake
	Digest []string  // ids of journal entries to add to the digest; the newest presence.Digested are kept
}

// MoodOnWake is a waking mood in the form that a store keeps beside the slot.
type MoodOnWake struct {
	mood.PAD
	Since time.Time `json:"since,omitzero"`
}

// MoodOnWake returns the mood to keep, or nil when there is none.
func (w OnWake) MoodOnWake() *MoodOnWake {
	if w.Mood == nil {
		return nil
	}
	return &MoodOnWake{*w.Mood, w.Since.UTC()}
}

// Affect returns the agent's affect after a wake of this dream at that time.
func (f MoodOnWake) Affect(dreamID string, at time.Time) dream.Affect {
	a := dream.Affect{PAD: f.PAD, Since: f.Since, Cause: dreamID}
	if a.Since.IsZero() {
		a.Since = at
	}
	return a
}

// Vector is an item's embedding in one embedder's space.
type Vector struct {
	Item  string
	Space string // embedder, version and dimension, such as "builtin-lexical/1/384"
	V     []float32
}

// Write is one transaction: all of it is applied, or nothing is.
type Write struct {
	Agent string
	Fence Fence
	// What makes the change: a dream id, "import", "operator". It is recorded with every revision. Empty: Fence.Dream.
	Cause string
	Add   []dream.Item // an id that already exists is left unchanged and counted in Receipt.Existing
	// Each item must exist (ErrNotFound) and becomes the newest revision. Its Revision must be the newest (ErrStale) or
	// 0, which skips the check. Equal content adds no revision. See Replaces.
	Change []dream.Item
	// Vectors of existing items (ErrNotFound), all in the agent's one space (ErrSpace). The newest vector of an item
	// wins.
	Vectors []Vector
	Affect  *dream.Affect // sets the agent's affect
	Events  []event.Event // appended in order; an id already in the agent's log is ignored
	OnWake  *OnWake       // replaces the mood that a wake would leave, and adds to the digest
	// The last write of a stretch that was woken: the epoch is not checked, and Affect and OnWake must be nil.
	Late bool
}

// Replaces reports whether a change overwrites the revision before it instead of following it: both are written by the
// same dream and leave the item in the same state. Undo needs only the revision before the dream. Revision numbers rise
// all the same, so the numbers of an item's revisions may have gaps.
func (w Write) Replaces(before string, was, becomes dream.State) bool {
	return w.Fence.Dream != "" && w.CauseOf() == w.Fence.Dream && before == w.Fence.Dream && was == becomes
}

// CauseOf returns the cause to record with each revision: Cause, or the dream of the fence.
func (w Write) CauseOf() string {
	if w.Cause == "" {
		return w.Fence.Dream
	}
	return w.Cause
}

// Receipt counts the effects of a write.
type Receipt struct {
	Added, Existing, Changed int
	LastSeq                  int64 // the agent's newest event
}

// SortOrder is the order of a query's results. Ties break by Text, then by id, so that it never depends on insertion.
type SortOrder string

// The sort orders.
const (
	Newest       SortOrder = "newest"        // At, latest first
	Oldest       SortOrder = "oldest"        // At, earliest first
	MostSalient  SortOrder = "most_salient"  // Salience, then Newest
	HighestScore SortOrder = "highest_score" // Score, then Newest
	SoonestDue   SortOrder = "soonest_due"   // Due, earliest first; items without a due time are left out
)

// Query selects items of one agent. Zero fields do not filter, except that States defaults to live.
type Query struct {
	Agent        string
	Kinds        []dream.Kind
	States       []dream.State
	Statuses     []string
	Owners       []string // Marks.Owner is one of these; "" is the agent itself
	Dream        string
	Session      string
	SalientFrom  float64   // Salience at least this
	ScoreFrom    float64   // Score at least this
	Since, Until time.Time // At in [Since, Until)
	DueBefore    time.Time
	Sort         SortOrder // Newest by default
	Limit        int       // 0 for all
}

// Near selects the live items of one agent that are nearest to a vector. Zero filters do not filter.
type Near struct {
	Agent string
	Space string // the space of V
	V     []float32
	Limit int
	Filter
}

// Filter narrows a search. Items that it excludes take no place in the results; those of other owners cost no time
// either.
type Filter struct {
	Kinds  []dream.Kind
	Owners []string // Marks.Owner is one of these; "" is the agent itself
	Dreamt Dreamt
	Except []string // ids

	Since, Until time.Time // At in [Since, Until), by the second
}

// Dreamt selects which of the items made by dreams are found.
type Dreamt uint8

// The values of Dreamt.
const (
	AllDreamt      Dreamt = iota
	PromotedDreamt        // only what was promoted to the playbook
	NoneDreamt
)

// Search selects the live items of one agent that match a text best, by words, by vector, or by both.
type Search struct {
	Agent string
	Text  string    // the text to search for; its words are compared
	Space string    // the space of V
	V     []float32 // the embedding of Text; nil: compare words only
	Blend rank.Blend
	Limit int
	Filter
}

// Found is the result of a search. Newest and Items describe all items that pass the filter, whatever the limit.
type Found struct {
	Hits   []rank.Hit // by score, best first; ties by id
	Newest time.Time  // At of the newest item that passes the filter
	Items  int        // number of items that pass the filter
}

// Hit is one result of Near. Cosine lies in [-1, 1].
type Hit struct {
	Item   string
	Cosine float64
}

// Slot names the dream that holds an agent's dreaming slot.
type Slot struct {
	Fence
	Workflow string
	Cluster  string // id of the Temporal cluster and namespace that the holder runs on; empty when unknown
	Since    time.Time
}

// UndoResult counts the effects of undoing a dream. Kept lists items that a later cause changed again; they stay
// unchanged.
type UndoResult struct {
	Archived int // items that the dream had created
	Restored int // items whose revision before the dream is the newest again
	Kept     []string
}

// Erasure lists what is to be forgotten for good. Items are deleted with all revisions and all vectors, and their ids
// are removed from the references of every other item.
//
// A store that also keeps the spend ledger deletes recorded answers: of dreams that created or changed the items, of
// dreams whose notes contain an id as a JSON string (their prompts showed the item), of the dream that holds the slot,
// and of Dreams. Attempts of these dreams that are still open record no answer; dreams that showed an item also lose
// their late notes. Every recorded answer of a server request becomes access.Erased.
//
// The store also overwrites the erased bytes in its files as far as it can. Its own documentation names what it cannot
// reach, such as backups.
type Erasure struct {
	IDs []string // items to erase
	// Items that stay but lose what Words removes from their revisions. One whose text changes loses its vectors.
	Scrub  []string
	Words  Words    // also applied to the notes of all dreams of the agent; nil: nothing is scrubbed
	Dreams []string // dreams whose recorded answers are deleted
	// More is set while another part of the same erasure follows. Final steps, such as truncating a log, wait for the
	// last part.
	More bool
}

// Words removes forgotten text from other texts. A store may call it again for the same text when it retries a step.
type Words interface {
	// Scrub rewrites an item's JSON; changed is false when it contains nothing to remove.
	Scrub(kind dream.Kind, body []byte) (scrubbed []byte, changed bool, err error)
	// Note rewrites a note in JSON; changed is false when it contains nothing to remove.
	Note(value []byte) (scrubbed []byte, changed bool)
	// Holds reports whether a late note contains something to remove. Such a note is deleted, because a late note may
	// have any form and cannot be rewritten.
	Holds(value []byte) bool
}

// EraseResult counts the effects of an erasure.
type EraseResult struct {
	Items    int // deleted
	Scrubbed int // kept, with text removed
}

// RemovalResult reports what a removal deleted. A removal that completes an interrupted one reports the counts of that
// one.
type RemovalResult struct {
	Items  dream.KindCounts `json:"items"` // in any state
	Events int              `json:"events"`
	// Why the store's files still contain old bytes of the agent; empty when they do not.
	Traces string `json:"traces,omitempty"`
}

// Sum is the number of items of all kinds.
func (d RemovalResult) Sum() int {
	n := 0
	for _, count := range d.Items {
		n += count
	}
	return n
}

// DreamStore is what workers and the starter need to run dreams, and so the least that a program with a store of its
// own implements. Every method is safe for concurrent use, also by several processes of one deployment. Results are
// deep copies: changing them does not change the store. The same value also implements presence.Store.
// memorytest.RunDreams tests the contract.
type DreamStore interface {
	Agents
	Items
	Searcher
	Slots
	Notes

	// Affect returns the agent's affect; neutral with cause "new" when it was never set.
	Affect(ctx context.Context, agent string) (dream.Affect, error)
	// Forgettings counts how often something of the agent was forgotten; 0 in a store that forgets nothing. Anything
	// read before the last time may no longer exist.
	Forgettings(ctx context.Context, agent string) (int64, error)
}

// Agents keeps the records of agents.
type Agents interface {
	// PutAgent creates an agent or replaces the one with the same id. ErrTaken when another agent has the handle.
	// ErrDreamt when the handle would change after a dream or wake: the counters would stay under the old handle, and
	// the next agent of that handle would inherit them.
	PutAgent(ctx context.Context, a dream.Agent) error
	// Agent finds an agent by id or handle. ErrNotFound; ErrRemoved when the agent with that id was removed.
	Agent(ctx context.Context, idOrHandle string) (dream.Agent, error)
	// Agents lists all agents by handle.
	Agents(ctx context.Context) ([]dream.Agent, error)
}

// Items keeps the items of a memory with every revision.
type Items interface {
	// Commit applies a Write. ErrFenced, ErrWoken, ErrForgotten, ErrRemoved, ErrRemoving, ErrNotFound, ErrSpace,
	// ErrStale. The items in w keep the Revision they were read at: to change one again, read it again.
	Commit(ctx context.Context, w Write) (Receipt, error)
	// Get returns the newest revisions in the order of ids. Ids that do not exist are left out.
	Get(ctx context.Context, agent string, ids ...string) ([]dream.Item, error)
	// Find returns the newest revisions that match a query. All methods that return items set their Revision.
	Find(ctx context.Context, q Query) ([]dream.Item, error)
	Count(ctx context.Context, q Query) (int, error)
	// Revisions returns every kept revision of an item, oldest first, each with its cause (see Write.Replaces).
	// ErrNotFound.
	Revisions(ctx context.Context, agent, id string) ([]Revision, error)
	// Undo archives what a dream created and restores what it changed, affect included, as revisions with the cause
	// "undo:<dream>", which only Undo may write. An item that a later cause changed stays unchanged until that cause is
	// undone too. The order of undoing does not matter: an item is always as the newest remaining cause left it.
	Undo(ctx context.Context, agent, dreamID string) (UndoResult, error)
}

// Searcher keeps one vector of an item, all of an agent in one space, and finds items by words and by meaning. Package
// index does both exactly for any store.
type Searcher interface {
	// Near returns the nearest live items by cosine, exactly, best first; ties by id. ErrSpace when the agent's vectors
	// are in another space.
	Near(ctx context.Context, q Near) ([]Hit, error)
	// Search returns the live items with the best scores, exactly: BM25 of their words over the items that pass the
	// filter, blended with the cosine of their vectors. ErrSpace when V is set and the agent's vectors are in another
	// space.
	Search(ctx context.Context, q Search) (Found, error)
	// Vectors returns the vectors of these items in the space, in the order of ids. Items without one are left out.
	Vectors(ctx context.Context, agent, space string, ids ...string) ([]Vector, error)
	// WithoutVector returns live items that have no vector in the space, oldest first.
	WithoutVector(ctx context.Context, agent, space string, kinds []dream.Kind, limit int) ([]dream.Item, error)
	// Space names the space of the agent's vectors; empty when it has none.
	Space(ctx context.Context, agent string) (string, error)
}

// Slots numbers dreams, and lets one dream of an agent write at a time.
type Slots interface {
	// NextDream returns 1, 2, 3, … per agent; a number is never returned twice.
	NextDream(ctx context.Context, agent string) (int64, error)
	// TakeSlot takes the agent's dreaming slot, or confirms it when the same holder has it already. When another holder
	// has it, that slot is returned with ErrTaken; with steal set to that slot's fence, it is taken over in one step.
	// The returned slot carries the agent's epoch when it was taken; the epoch in s is ignored. ErrAwake when a client
	// holds the agent awake at s.Since and the slot is not confirmed.
	TakeSlot(ctx context.Context, agent string, s Slot, steal Fence) (Slot, error)
	// FreeSlot frees the slot if this fence holds it; otherwise it does nothing. A fence with an epoch does not free
	// the slot of a later stretch of its dream, which was taken at a higher epoch.
	FreeSlot(ctx context.Context, agent string, f Fence) error
	// Slots lists every taken slot by agent.
	Slots(ctx context.Context) (map[string]Slot, error)
}

// Notes keeps working data of dreams. Under the empty dream id it keeps data of the agent itself, such as which
// memories were used while it was awake; these notes outlive every dream.
type Notes interface {
	// PutNote stores a note of the fence's dream under a key, once: an existing key keeps its first value, which is
	// returned. Keys that begin with LateNote are stored even if the epoch has risen. ErrFenced, ErrWoken,
	// ErrForgotten, ErrRemoved, ErrRemoving.
	PutNote(ctx context.Context, agent string, f Fence, key string, value []byte) ([]byte, error)
	// Note returns the note of a key. ErrNotFound.
	Note(ctx context.Context, agent, dreamID, key string) ([]byte, error)
	// Notes returns all notes whose key begins with prefix, by key.
	Notes(ctx context.Context, agent, dreamID, prefix string) (map[string][]byte, error)
	// DropNotes removes notes by key; without keys it removes nothing. It is part of the last writes of a stretch that
	// was woken, so a client may wait for it.
	DropNotes(ctx context.Context, agent, dreamID string, keys []string) error
	// DropAllNotes removes all notes of a dream, which must have ended.
	DropAllNotes(ctx context.Context, agent, dreamID string) error
}

// Store is a DreamStore with everything else that the server, the command line and the importer of this module need:
// other embedders, erasure, the removal of agents, and the speakers of a memory. memorytest.Run tests the contract.
type Store interface {
	DreamStore
	Remover
	Mover
	Eraser

	// Owners counts the agent's live items by Marks.Owner, without the agent's own items.
	Owners(ctx context.Context, agent string) (map[string]int, error)
	Close() error
}

// Remover removes agents.
type Remover interface {
	// DropAgent removes an agent by id with everything that is stored about it. ErrNotFound when there is none, also on
	// a second removal; ErrTaken while a dream holds its slot; ErrAwake while a client's lease is live at now.
	//
	// Its spending stays, because caps count attempts, accounts and allowances by the agent's id. Its counters stay as
	// well, so that no number of a dream, an event, an epoch or an erasure is used twice, even by a later agent of the
	// same handle: the ledger names dreams by handle and number. After the removal, every method that writes for the
	// agent returns ErrRemoved until PutAgent creates it again; then it starts empty.
	//
	// If the process dies during the removal, the agent is either unchanged, or still listed and closed to writes
	// (ErrRemoving). The next DropAgent completes the removal.
	DropAgent(ctx context.Context, agent string, now time.Time) (RemovalResult, error)
}

// Mover moves an agent to the space of another embedder.
type Mover interface {
	// Spaces counts the agent's vectors by space: its own space and those being collected.
	Spaces(ctx context.Context, agent string) (map[string]int, error)
	// Collect stores vectors of a space that the agent may move to later, beside those of its own space, which searches
	// still use. The newest vector of an item wins, an item whose text changes loses its collected vectors, and items
	// that no longer exist are left out. ErrSpace when the space is the agent's own, or when the vectors differ in
	// length.
	Collect(ctx context.Context, agent string, vectors []Vector) error
	// Move makes a collected space the agent's own and deletes all vectors of other spaces, in one step, provided that
	// every live item with a vector in the old space has one in the new. Otherwise it changes nothing and returns how
	// many items have none. Moving to the agent's own space deletes what was collected of others. ErrTaken while a
	// dream holds the agent's slot.
	Move(ctx context.Context, agent, space string) (missing int, err error)
}

// Eraser deletes for good.
type Eraser interface {
	// Erase applies an Erasure in one step. An id whose item no longer exists is no error: its remains are deleted. An
	// empty erasure completes what an earlier one left unfinished outside of its transaction.
	Erase(ctx context.Context, agent string, e Erasure) (EraseResult, error)
	// Forget is an Erase of these items alone. It returns how many existed.
	Forget(ctx context.Context, agent string, ids ...string) (int, error)
}

// LateNote is the prefix of note keys that hold the partial output of an interrupted call.
const LateNote = "snapshot/"

// Feeds stores the sources of outside readings. Names are unique.
type Feeds interface {
	PutFeed(ctx context.Context, f dream.Feed) error
	// Feed finds a feed by name. ErrNotFound.
	Feed(ctx context.Context, name string) (dream.Feed, error)
	// Feeds lists all feeds by name.
	Feeds(ctx context.Context) ([]dream.Feed, error)
	// DropFeed removes a feed. Agents that followed it follow none afterwards. ErrNotFound.
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

// Getter reads items by id; every store is one.
type Getter interface {
	Get(ctx context.Context, agent string, ids ...string) ([]dream.Item, error)
}

// One gets a single item of a known type. ErrNotFound when it does not exist or is of another type.
func One[T dream.Item](ctx context.Context, s Getter, agent, id string) (T, error) {
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
