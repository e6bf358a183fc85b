package memory

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Fleet describes many agents at once, from a store's indexes: what a method costs grows with the number of agents, and
// not with what they remember. What is told of one agent is of one moment; of two agents it may be of two moments.
type Fleet interface {
	// Overview describes agents by their ids, in this order. An agent that does not exist has done nothing.
	Overview(ctx context.Context, agents []string, q OverviewQuery) ([]Overview, error)
	// Dreams lists the records of the dreams of several agents in the order of DreamPlace.
	Dreams(ctx context.Context, q DreamsQuery) ([]*dream.Record, error)
}

// OverviewQuery says what an overview is to tell.
type OverviewQuery struct {
	Episodes bool          // whether episodes are counted
	Dreams   int           // how many of an agent's newest dreams are described
	States   []dream.State // of their records; live by default
	// Of the predictions that were due before this time those that are still open are counted; zero: none is.
	DueBefore time.Time
	Waits     bool // whether something waits for a review
}

// Overview is what a store's indexes tell of one agent.
type Overview struct {
	Agent    string
	Episodes int         // live ones; 0 unless asked for
	Dreaming bool        // a dream holds its slot
	Dreams   []DreamMark // newest first, in any order where they began at the same moment
	Overdue  int         // predictions that are still open, among the LastDue live ones that were due last
	Waits    bool        // an item in the state proposed waits for a review
}

// LastDue is how many of an agent's predictions an overview looks at.
const LastDue = 8

// DreamMark is what a store's indexes tell of the record of a dream.
type DreamMark struct {
	ID     string
	At     time.Time // when it began
	Status string    // of its Marks: its outcome, or dream.RecordWaits
	State  dream.State
}

// Outcome is the record's outcome.
func (m DreamMark) Outcome() dream.Outcome {
	if m.Status == dream.RecordWaits {
		return dream.Interrupted
	}
	return dream.Outcome(m.Status)
}

// DreamsQuery selects the records of dreams. Zero fields do not filter, except that States defaults to live.
type DreamsQuery struct {
	Agents       []string // ids; of other agents there is nothing
	States       []dream.State
	Statuses     []string  // of their Marks
	Since, Until time.Time // At in [Since, Until)
	After        DreamPlace
	Limit        int // at least 1
}

// DreamPlace is the place of a record among the dreams of several agents: the newest first; of the same moment by
// agent, then by id. The zero value is before all of them.
type DreamPlace struct {
	At        time.Time
	Agent, ID string
}

// PlaceOf is the place of a record.
func PlaceOf(n *dream.Record) DreamPlace { return DreamPlace{At: n.At, Agent: n.Agent, ID: n.ID} }

// Compare is negative when p is before o.
func (p DreamPlace) Compare(o DreamPlace) int {
	return cmp.Or(o.At.Compare(p.At), cmp.Compare(p.Agent, o.Agent), cmp.Compare(p.ID, o.ID))
}

// IsZero reports whether it is the place before all.
func (p DreamPlace) IsZero() bool { return p == DreamPlace{} }
