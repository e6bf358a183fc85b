package memory

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrPast means that a dream wrote before the time since which an agent's history is kept, so it cannot be undone.
var ErrPast = errors.New("too long ago")

// Aged says since when what an agent did is kept in full. The zero times mean that nothing was removed.
type Aged struct {
	Undo    time.Time `json:"undo_from,omitzero"`    // revisions that were replaced before it may be gone: see Undo
	Details time.Time `json:"details_from,omitzero"` // what dreams that began before it left beside their results may be gone
}

// Whole reports whether nothing was removed.
func (a Aged) Whole() bool { return a.Undo.IsZero() && a.Details.IsZero() }

// After returns the later of both times of each kind.
func (a Aged) After(o Aged) Aged {
	if o.Undo.After(a.Undo) {
		a.Undo = o.Undo.UTC()
	}
	if o.Details.After(a.Details) {
		a.Details = o.Details.UTC()
	}
	return a
}

// CheckUndo refuses to undo a dream that wrote one of these revisions before the time since which revisions are kept:
// what stood before it may be gone. ErrPast.
func CheckUndo(aged Aged, revisions []Revision, dreamID string) error {
	for _, r := range revisions {
		if r.Cause == dreamID && r.At.Before(aged.Undo) {
			return fmt.Errorf("%s wrote on %s, and what was replaced is kept since %s only: %w", dreamID,
				r.At.UTC().Format(time.DateOnly), aged.Undo.UTC().Format(time.DateOnly), ErrPast)
		}
	}
	return nil
}

// Aging removes from a store what has become old. Each method is one bounded, atomic step, and may be repeated after an
// error. What may go is decided by the caller (package retention of this module); stores refuse what would break a
// promise by itself.
type Aging interface {
	// Aged returns since when the agent's history is whole.
	Aged(ctx context.Context, agent string) (Aged, error)
	// TrimEvents removes the agent's oldest events up to a number, at most limit of them, and returns how many. Numbers
	// are not used again. An event that was removed can be announced once more under its id.
	TrimEvents(ctx context.Context, agent string, through int64, limit int) (int, error)
	// TrimRevisions removes revisions of live items that were replaced before a time, and affects that were, at most
	// limit of each, and returns how many: 0 when none is left. Revisions of items in other states stay, because a
	// restoration reads them. It raises Aged.Undo to that time, so that Undo returns ErrPast for older dreams.
	TrimRevisions(ctx context.Context, agent string, before time.Time, limit int) (int, error)
	// Discard deletes items that dreams made, with their revisions and vectors, and raises Aged.Details to a time. It
	// returns how many existed. Items that no dream made stay. ErrTaken while a dream holds the agent's slot.
	Discard(ctx context.Context, agent string, ids []string, details time.Time) (int, error)

	// Swept returns what the sweeps of this deployment have done so far.
	Swept(ctx context.Context) (SweepState, error)
	// ChangeSwept replaces that by what change returns for it, or returns the error of change. It may call change
	// several times.
	ChangeSwept(ctx context.Context, change func(SweepState) (SweepState, error)) (SweepState, error)
}

// SweepState is what the sweeps of a deployment have done, and which process sweeps. It is working data: an archive does
// not contain it.
type SweepState struct {
	Holder string    `json:"holder,omitempty"` // the process that sweeps; empty: none
	Until  time.Time `json:"until,omitzero"`   // when the holder's claim expires unless it is renewed

	Began   time.Time `json:"began,omitzero"`    // of the newest pass that was completed
	Ended   time.Time `json:"ended,omitzero"`    // of that pass; zero: none was completed
	Removed Removed   `json:"removed"`           // by that pass
	Total   Removed   `json:"total"`             // by all passes
	Failure string    `json:"failure,omitempty"` // error of the newest pass; empty: it did not fail
	Failed  time.Time `json:"failed,omitzero"`   // when it failed

	Continuity Continuity `json:"continuity,omitzero"` // whether the store went back, see Mark
	Overloads  []Overload `json:"overloads,omitempty"` // of servers, the newest last
}

// Live reports whether a process other than by holds the claim at that time.
func (s SweepState) Live(by string, now time.Time) bool {
	return s.Holder != "" && s.Holder != by && now.Before(s.Until)
}

// Removed counts what was removed or folded, by kind.
type Removed struct {
	Attempts  int `json:"attempts"`  // rows of the spend ledger that were folded into sums
	Events    int `json:"events"`    // of agents' logs
	Revisions int `json:"revisions"` // earlier states of memories, and of the mood
	Items     int `json:"items"`     // what finished dreams left beside their results
}

// Plus adds two counts.
func (r Removed) Plus(o Removed) Removed {
	return Removed{
		Attempts:  r.Attempts + o.Attempts,
		Events:    r.Events + o.Events,
		Revisions: r.Revisions + o.Revisions,
		Items:     r.Items + o.Items,
	}
}

// Sum is the number of all.
func (r Removed) Sum() int { return r.Attempts + r.Events + r.Revisions + r.Items }
