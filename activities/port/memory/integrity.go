package memory

import "context"

// Integrity is the result of checking a store. The check changes nothing.
type Integrity struct {
	Checked []string // checks that were completed
	Skipped []string // checks that were not, each with the reason
	Faults  []string // what is broken; empty when nothing is
}

// Verifier is a store that can check itself for lost or damaged data and for broken relations between its parts. Checks
// that are not complete when ctx ends are listed as skipped. An error means that the store could not be reached.
type Verifier interface {
	Verify(ctx context.Context) (Integrity, error)
}
