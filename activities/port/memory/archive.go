package memory

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Errors of export and import that callers branch on.
var (
	ErrOccupied = errors.New("occupied") // an archive is imported into an empty store only
	ErrTorn     = errors.New("others kept writing while the store was read")
	ErrAltered  = errors.New("not the same") // the imported store would export something else
)

// Movable is a store whose whole content can be copied to a file or to another store.
type Movable interface {
	// Export returns everything in the store that cannot be recomputed, in the order of Record's fields: stores with
	// the same content export the same records. Each agent is read as of one moment, and so is the ledger, which is
	// read last; answers that are deleted meanwhile may be missing. Nothing follows an error. ErrTorn.
	Export(ctx context.Context) Records
	// Import fills an empty store (ErrOccupied) with exported records, in one step. The store stays empty when records
	// end with an error, when the process dies, or when the filled store would export something else (ErrAltered).
	Import(ctx context.Context, records Records) (Tally, error)
	// Listeners counts the other processes that listen to the store's wake notices: workers and servers that use it.
	// A process that only reads, or that is configured not to listen, is not counted.
	Listeners(ctx context.Context) (int, error)
}

// Records is a sequence of records; an error ends it.
type Records = iter.Seq2[Record, error]

// Failed returns Records that hold an error only.
func Failed(err error) Records {
	return func(yield func(Record, error) bool) { yield(Record{}, err) }
}

// Tally counts the records of an archive, by kind, and sums them up.
type Tally struct {
	Feeds      int `json:"feeds"`
	Agents     int `json:"agents"`
	Keys       int `json:"keys,omitempty"`
	Access     int `json:"access,omitempty"`
	Counters   int `json:"lives"`
	Leases     int `json:"leases"`
	Slots      int `json:"slots"`
	Affects    int `json:"affects"`
	Items      int `json:"items"`
	Revisions  int `json:"revisions"`
	Vectors    int `json:"vectors"`
	Events     int `json:"events"`
	Notes      int `json:"notes"`
	Rooms      int `json:"room_records,omitempty"`
	Attempts   int `json:"attempts"`
	Sums       int `json:"sums,omitempty"`
	Accounts   int `json:"accounts"`
	Answers    int `json:"answers"`
	Allowances int `json:"allowances"`
	// SHA256 is the digest of all bytes before the seal. It detects accidents, not attacks: anyone who alters an
	// archive can compute a new one.
	SHA256 string `json:"sha256"`
}

// Records is the number of records of all kinds.
func (t Tally) Records() int {
	return t.Feeds + t.Agents + t.Keys + t.Access + t.Counters + t.Leases + t.Slots + t.Affects + t.Items + t.Events +
		t.Notes + t.Rooms + t.Attempts + t.Sums + t.Accounts + t.Answers + t.Allowances
}

// Record is one record of an archive; exactly one field is set. Records come in the order of the fields, except that
// those of one agent, from Counters to Note, come together, agent by agent. Feeds are sorted by name, agents and keys
// by id, leases by client, items by id, notes by dream and key, sums by KeptSum.Compare, accounts by scope, answers by step, allowances by
// dream, records of rooms by name; affects, events and attempts are in the order they were written. Texts are UTF-8;
// times are in UTC, and the zero time is left out.
type Record struct {
	Feed      *KeptFeed       `json:"feed,omitempty"`
	Agent     *KeptAgent      `json:"agent,omitempty"`
	Key       *KeptKey        `json:"key,omitempty"`
	Access    *KeptAccess     `json:"access,omitempty"`
	Counters  *KeptCounters   `json:"life,omitempty"`
	Lease     *KeptLease      `json:"lease,omitempty"`
	Slot      *KeptSlot       `json:"slot,omitempty"`
	Affect    *KeptAffect     `json:"affect,omitempty"`
	Item      *KeptItem       `json:"item,omitempty"`
	Event     *KeptEvent      `json:"event,omitempty"`
	Note      *KeptNote       `json:"note,omitempty"`
	Room      *KeptRoomRecord `json:"room,omitempty"`
	Attempt   *KeptAttempt    `json:"attempt,omitempty"`
	Sum       *KeptSum        `json:"sum,omitempty"`
	Account   *KeptAccount    `json:"account,omitempty"`
	Answer    *KeptAnswer     `json:"answer,omitempty"`
	Allowance *KeptAllowance  `json:"allowance,omitempty"`
}

// KeptFeed is a dream.Feed; Body is its JSON.
type KeptFeed struct {
	Name string `json:"name"`
	Body Raw    `json:"body"`
}

// KeptAgent is a dream.Agent; Body is its JSON.
type KeptAgent struct {
	ID     string `json:"id"`
	Handle string `json:"handle"`
	Body   Raw    `json:"body"`
}

// KeptKey is an access.Key; Body is its JSON. It holds no secret, only its hash.
type KeptKey struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
	Body Raw    `json:"body"`
}

// KeptAccess says whether every request needs a key. It is written only where the keys do not imply it: when requests
// need a key although there is none, or need none although there are keys.
type KeptAccess struct {
	KeysRequired bool `json:"keys_required"`
}

// KeptCounters are the counters of an agent, also of one without an agent record. Counters that are all zero are left
// out.
type KeptCounters struct {
	Agent         string      `json:"agent"`
	Seq           int64       `json:"seq,omitempty"`        // number of the newest event
	Dreams        int64       `json:"dreams,omitempty"`     // dream numbers used so far
	Scrubs        int64       `json:"scrubs,omitempty"`     // see Store.Forgettings
	Space         string      `json:"space,omitempty"`      // of its vectors
	Dim           int         `json:"dim,omitempty"`        // dimension of its vectors
	Collecting    []KeptSpace `json:"collecting,omitempty"` // spaces being collected, by name
	Epoch         int64       `json:"epoch,omitempty"`
	RecordedEpoch int64       `json:"told,omitempty"` // the newest epoch that its workflow has recorded
	Lock          time.Time   `json:"lock,omitzero"`  // the earliest time that a dream may begin
	Seen          time.Time   `json:"seen,omitzero"`
	Wake          *KeptWake   `json:"wake,omitempty"`    // the newest
	Digest        []string    `json:"digest,omitempty"`  // journal entries for the next wake
	Removed       bool        `json:"removed,omitempty"` // the agent was removed, and only these counters are left
	Aged                      // since when its history is whole
}

// Blank reports whether all counters are zero.
func (l KeptCounters) Blank() bool {
	return l.Seq|l.Dreams|l.Scrubs|l.Epoch|l.RecordedEpoch == 0 && l.Space == "" && l.Dim == 0 &&
		len(l.Collecting) == 0 && !l.Removed && l.Lock.IsZero() && l.Seen.IsZero() && l.Wake == nil &&
		len(l.Digest) == 0 && l.Whole()
}

// KeptSpace is a space whose vectors are being collected.
type KeptSpace struct {
	Space string `json:"space"`
	Dim   int    `json:"dim"`
}

// KeptWake is one rise of the epoch, with what it fixed.
type KeptWake struct {
	Epoch  int64     `json:"epoch"`
	Cause  string    `json:"cause"`
	Client string    `json:"client"`
	At     time.Time `json:"at"`
	Dream  string    `json:"dream,omitempty"`
	Affect mood.PAD  `json:"affect"`
	Delta  float64   `json:"delta"`
	Digest []string  `json:"digest,omitempty"`
}

// KeptLease keeps an agent awake. An expired lease is kept until the next client connects.
type KeptLease struct {
	Agent  string    `json:"agent"`
	Client string    `json:"client"`
	Cause  string    `json:"cause"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// KeptSlot is the dream that holds an agent's dreaming slot.
type KeptSlot struct {
	Agent    string      `json:"agent"`
	Dream    string      `json:"dream"`
	Run      string      `json:"run"`
	Workflow string      `json:"workflow"`
	Cluster  string      `json:"cluster,omitempty"`
	Since    time.Time   `json:"since,omitzero"`
	Epoch    int64       `json:"epoch,omitempty"`
	Mood     *MoodOnWake `json:"mood,omitempty"` // that a wake would leave
}

// KeptAffect is one entry of an agent's history of affects, numbered 1, 2, 3, …
type KeptAffect struct {
	Agent  string       `json:"agent"`
	Number int          `json:"number"`
	Cause  string       `json:"cause"` // of the write that set it
	Affect dream.Affect `json:"affect"`
}

// KeptItem is an item with all its revisions, oldest first, and its vector in each space, by space.
type KeptItem struct {
	Agent     string         `json:"agent"`
	ID        string         `json:"id"`
	Kind      string         `json:"kind"` // as stores write it: string(dream.Kind)
	Revisions []KeptRevision `json:"revisions"`
	Vectors   []KeptVector   `json:"vectors,omitempty"`
}

// KeptRevision is one state of an item; Body is its JSON.
type KeptRevision struct {
	Number int       `json:"number,omitempty"` // 0: the number of the revision before plus one; 1 for the first
	Cause  string    `json:"cause"`
	At     time.Time `json:"at"`
	Body   Raw       `json:"body"`
}

// Numbers returns the numbers of the item's revisions. They rise, with gaps where a later revision replaced one.
func (i KeptItem) Numbers() []int {
	numbers := make([]int, len(i.Revisions))
	before := 0
	for n, r := range i.Revisions {
		before++
		if r.Number != 0 {
			before = r.Number
		}
		numbers[n] = before
	}
	return numbers
}

// SetNumbers sets the numbers of the item's revisions in the one form that an archive uses.
func (i *KeptItem) SetNumbers(numbers []int) {
	before := 0
	for n := range i.Revisions {
		i.Revisions[n].Number = 0
		if numbers[n] != before+1 {
			i.Revisions[n].Number = numbers[n]
		}
		before = numbers[n]
	}
}

// KeptVector is an item's embedding in a space: float32, little endian.
type KeptVector struct {
	Space string `json:"space"`
	V     []byte `json:"v"`
}

// KeptEvent is an event.Event.
type KeptEvent struct {
	Agent     string    `json:"agent"`
	Seq       int64     `json:"seq"`
	ID        string    `json:"id"`
	Schema    int       `json:"schema"`
	Subsystem string    `json:"subsystem"`
	Dream     string    `json:"dream,omitempty"`
	Type      string    `json:"type"`
	At        time.Time `json:"at,omitzero"`
	Data      Raw       `json:"data,omitempty"`
}

// KeptNote is one note of a dream's working data.
type KeptNote struct {
	Agent string `json:"agent"`
	Dream string `json:"dream"`
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// KeptRoomRecord is a record of rooms: a room, a member, a post, an event, an item of an inbox, and so on. Its name
// says what it is and whose, its body is its JSON. What can be computed from others is left out.
type KeptRoomRecord struct {
	Name string `json:"name"`
	Body Raw    `json:"body"`
}

// KeptAttempt is one row of the spend ledger. The attempts of a step are numbered 1, 2, 3, …
type KeptAttempt struct {
	Step      string           `json:"step"`
	Attempt   int              `json:"attempt"`
	Agent     string           `json:"agent"`
	Dream     string           `json:"dream,omitempty"`
	Phase     string           `json:"phase,omitempty"`
	Model     string           `json:"model,omitempty"`
	Day       string           `json:"day,omitempty"`
	Accounts  []budget.Account `json:"accounts,omitempty"`
	Reserved  budget.Micros    `json:"reserved"`
	Counted   budget.Micros    `json:"counted"`
	State     string           `json:"state"`
	Tokens    budget.Tokens    `json:"tokens,omitzero"`
	Finish    string           `json:"finish,omitempty"`
	At        time.Time        `json:"at,omitzero"`
	Ended     time.Time        `json:"ended,omitzero"`
	Latest    int              `json:"latest,omitempty"`    // the step's newest attempt when this one ended
	Forgotten bool             `json:"forgotten,omitempty"` // its answer must not be stored
}

// OpenAttempt is the state of an attempt that is reserved and has not ended.
const OpenAttempt = "open"

// KeptSum is what is kept of ended attempts that were folded: their number, and their amounts and tokens together. No two
// sums have the same agent, day, dream, phase, model, state and scopes.
type KeptSum struct {
	Agent    string        `json:"agent"`
	Day      string        `json:"day,omitempty"`
	Dream    string        `json:"dream,omitempty"`
	Phase    string        `json:"phase,omitempty"`
	Model    string        `json:"model,omitempty"`
	State    string        `json:"state"`
	Scopes   []string      `json:"scopes,omitempty"` // of the accounts that they count in, each once
	Folded   int           `json:"folded"`
	Reserved budget.Micros `json:"reserved"`
	Counted  budget.Micros `json:"counted"`
	Tokens   budget.Tokens `json:"tokens,omitzero"`
}

// Compare orders sums by agent, day, dream, phase, model, state and scopes.
func (s KeptSum) Compare(o KeptSum) int {
	return cmp.Or(
		cmp.Compare(s.Agent, o.Agent), cmp.Compare(s.Day, o.Day), cmp.Compare(s.Dream, o.Dream),
		cmp.Compare(s.Phase, o.Phase), cmp.Compare(s.Model, o.Model), cmp.Compare(s.State, o.State),
		slices.Compare(s.Scopes, o.Scopes))
}

// KeptAccount is the running sum of an account. An import checks it by adding up the attempts and sums.
type KeptAccount struct {
	Scope    string        `json:"scope"`
	Reserved budget.Micros `json:"reserved"`
	Spent    budget.Micros `json:"spent"`
}

// KeptAnswer is the recorded answer of a completed step.
type KeptAnswer struct {
	Step   string `json:"step"`
	Answer []byte `json:"answer"`
}

// KeptAllowance is the part of an agent's daily limit that a dream has taken.
type KeptAllowance struct {
	Dream  string        `json:"dream"`
	Agent  string        `json:"agent"`
	Day    string        `json:"day"`
	Amount budget.Micros `json:"amount"`
}
