package dream

import "time"

// Status is what a dream's state is called in public.
type Status string

// The statuses.
const (
	StatusPending   Status = "pending"   // ordered, and not yet lain down
	StatusRunning   Status = "running"   // it goes on, or was interrupted and may go on
	StatusCompleted Status = "completed" // it ended with what it has; its outcome and reason say how
	StatusFailed    Status = "failed"
	StatusCanceled  Status = "canceled"
)

// Statuses in the order that a dream may have them.
var Statuses = []Status{StatusPending, StatusRunning, StatusCompleted, StatusFailed, StatusCanceled}

// Over says whether a dream of this status has ended for good.
func (s Status) Over() bool { return s != StatusPending && s != StatusRunning }

// MayGoOn says whether the dream was interrupted and its time to be resumed has not run out.
func (n *Record) MayGoOn(now time.Time) bool { return n.Resumable() && n.Until.After(now) }

// Status is the public one: interrupted and resumable is running, aborted is failed, and whatever else ended is
// completed, its outcome and reason beside it.
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
