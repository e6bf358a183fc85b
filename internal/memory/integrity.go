package memory

import "context"

// Integrity is what a look at a store found. Nothing is altered by it.
type Integrity struct {
	Checked []string // what was looked at to its end
	Skipped []string // what was not, and why
	Faults  []string // what is broken; empty when nothing is
}

// Verifier is a store that can look at itself: at what its kind can lose or damage, and at what must hold between its
// parts. What has not ended when ctx does is skipped. An error is one of reaching the store, not of what it keeps.
type Verifier interface {
	Verify(ctx context.Context) (Integrity, error)
}
