package memory

import (
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Mark is written into a store again and again, under rising numbers. A process that finds a lower number than one that
// it has seen knows that the store went back to an earlier state.
type Mark struct {
	Number int64     `json:"number,omitempty"`
	At     time.Time `json:"at,omitzero"` // when it was written
}

// Loss is a time of which a store has lost what was written: it was put back from a copy, or a server without its newest
// writes has taken over.
type Loss struct {
	Since   time.Time `json:"since,omitzero"` // what was written until then is there; zero: not known, nothing is certain
	Last    time.Time `json:"last"`           // something that was written then is lost
	Noticed time.Time `json:"noticed"`        // what was written from then on is there

	Announced bool      `json:"announced,omitempty"` // in the event logs of all agents
	Reentered Reentered `json:"reentered,omitzero"`  // what was bought in this time, and is in the ledger again
	Holder    string    `json:"holder,omitempty"`    // the process that compares the ledger with Temporal's dreams
	Until     time.Time `json:"until,omitzero"`      // when its claim expires unless it is renewed
	Compared  time.Time `json:"compared,omitzero"`   // when all dreams of this time were compared; zero: not yet
}

// Meets reports whether writes may be lost of what ran from began until ended; the zero time: it still runs.
func (l Loss) Meets(began, ended time.Time) bool {
	return !began.After(l.Noticed) && (ended.IsZero() || !ended.Before(l.Since))
}

// and adds what another process knows of the loss.
func (l Loss) and(more Loss) Loss {
	if more.Last.After(l.Last) {
		l.Last = more.Last
	}
	l.Reentered = l.Reentered.Plus(more.Reentered)
	return l
}

// Reentered counts purchases that were lost, and are in the spend ledger again.
type Reentered struct {
	Calls  int           `json:"calls,omitempty"`
	Amount budget.Micros `json:"amount_micros,omitempty"`
}

// Plus adds two counts.
func (r Reentered) Plus(o Reentered) Reentered {
	return Reentered{Calls: r.Calls + o.Calls, Amount: r.Amount + o.Amount}
}

// Continuity is the newest mark of a store and what it has lost. It is working data: an archive does not contain it.
type Continuity struct {
	Mark
	Losses []Loss `json:"losses,omitempty"` // oldest first, at most keptLosses
}

const keptLosses = 20

// Newest is the newest loss; the zero value when nothing was lost.
func (c Continuity) Newest() Loss {
	if len(c.Losses) == 0 {
		return Loss{}
	}
	return c.Losses[len(c.Losses)-1]
}

// sameWithin is up to how far apart several processes notice one loss.
const sameWithin = time.Minute

// WithMissing adds what a process found missing: to the newest loss of which it can be a part, else as a loss. It is a
// new value.
func (c Continuity) WithMissing(loss Loss) Continuity {
	for i, l := range slices.Backward(c.Losses) {
		if !loss.Last.Before(l.Since) && !loss.Last.After(l.Noticed) {
			c.Losses = slices.Clone(c.Losses)
			c.Losses[i] = l.and(loss)
			return c
		}
	}
	return c.With(loss)
}

// With adds a loss, or what another process knows of the newest one. A loss of what was written after the newest was
// noticed is another one, however soon it follows. It is a new value.
func (c Continuity) With(loss Loss) Continuity {
	c.Losses = slices.Clone(c.Losses)
	newest := c.Newest()
	later := loss.Noticed.Sub(newest.Noticed) > sameWithin || loss.Last.After(newest.Noticed)
	if len(c.Losses) == 0 || later || !newest.Compared.IsZero() {
		c.Losses = append(c.Losses, loss)
		c.Losses = c.Losses[max(0, len(c.Losses)-keptLosses):]
		return c
	}
	c.Losses[len(c.Losses)-1] = newest.and(loss)
	return c
}

// Missed returns what a store has lost whose newest mark is below one that was seen in it; false when nothing.
func (s SweepState) Missed(seen Mark, now time.Time) (Loss, bool) {
	newest := s.Continuity.Mark
	if newest.Number >= seen.Number || newest.Number == 0 && !s.Ended.IsZero() { // an earlier build leaves the mark out
		return Loss{}, false
	}
	since := newest.At
	if since.After(seen.At) || since.After(now) { // it is of a process whose clock is ahead
		since = time.Time{}
	}
	return Loss{Since: since, Last: seen.At, Noticed: now.UTC()}, true
}

// MarkedAfter writes the next mark, and what was lost if the newest one is below one that was seen.
func (s SweepState) MarkedAfter(seen Mark, now time.Time) SweepState {
	c := s.Continuity
	if loss, lost := s.Missed(seen, now); lost {
		c = c.With(loss)
	}
	c.Mark = Mark{Number: max(c.Number, seen.Number) + 1, At: now.UTC()}
	s.Continuity = c
	return s
}

// Change replaces a loss that was noticed at that time by what change returns for it. It is a new state: others may hold
// the one before.
func (s SweepState) Change(noticed time.Time, change func(Loss) Loss) SweepState {
	losses := append([]Loss(nil), s.Continuity.Losses...)
	for i, l := range losses {
		if l.Noticed.Equal(noticed) {
			losses[i] = change(l)
		}
	}
	s.Continuity.Losses = losses
	return s
}

// NotingTimes passes records on, and keeps in newest the latest time at which anything in them was written.
func NotingTimes(records Records, newest *time.Time) Records {
	note := func(at time.Time) {
		if at.After(*newest) {
			*newest = at
		}
	}
	return func(yield func(Record, error) bool) {
		for r, err := range records {
			switch {
			case r.Item != nil:
				for _, revision := range r.Item.Revisions {
					note(revision.At)
				}
			case r.Event != nil:
				note(r.Event.At)
			case r.Attempt != nil:
				note(r.Attempt.At)
				note(r.Attempt.Ended)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
