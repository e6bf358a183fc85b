package dream

import "time"

// Status is the public status of a dream.
type Status string

// The statuses.
const (
	StatusPending   Status = "pending"   // requested and not yet begun
	StatusRunning   Status = "running"   // running, or interrupted and resumable
	StatusCompleted Status = "completed" // ended with results; outcome and reason say how
	StatusFailed    Status = "failed"
	StatusCanceled  Status = "canceled"
)

// Statuses in the order of a dream's life.
var Statuses = []Status{StatusPending, StatusRunning, StatusCompleted, StatusFailed, StatusCanceled}

// Over says whether a dream of this status has ended for good.
func (s Status) Over() bool { return s != StatusPending && s != StatusRunning }

// MayGoOn says whether the dream was interrupted and can still be resumed at this time.
func (n *Record) MayGoOn(now time.Time) bool { return n.Resumable() && n.Until.After(now) }

// Status is the public status: an interrupted dream that can be resumed is running, an aborted one has failed, and
// any other ended one is completed.
func (n *Record) Status(now time.Time) Status {
	switch {
	case n.Outcome == Dreaming && n.Run == "":
		return StatusPending
	case n.Outcome == Dreaming, n.MayGoOn(now):
		return StatusRunning
	case n.Outcome == Aborted:
		return StatusFailed
	case n.Outcome == Canceled:
		return StatusCanceled
	}
	return StatusCompleted
}
