package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// takeOver copies what the earlier phases of another dream made into this dream, which continues from there.
func (n *dreamRun) takeOver(ctx workflow.Context) error {
	from := n.spec.Redreams
	if from == nil {
		return nil
	}
	var t activities.TakeOverResult
	err := n.storeCall(ctx, "take over "+from.Dream, "Bed.TakeOver",
		func() any { return activities.TakeOverRequest{Stretch: n.currentStretch(ctx)} }, &t)
	if err != nil {
		return err
	}
	n.fragments = t.Fragments
	n.selected = t.Selected
	n.patterns = t.Patterns
	n.scenarios = t.Scenarios
	n.staged = t.Staged
	n.taken = len(n.fragments) + len(n.patterns) + len(n.scenarios) + len(n.staged)
	if n.spec.Review == dream.JournalOnly {
		n.taken = len(n.fragments) + len(n.scenarios)
	}
	return nil
}

// takenOver skips a phase whose results are taken over from another dream.
func (n *dreamRun) takenOver(ctx workflow.Context, name dream.Phase) bool {
	if !n.spec.Redreams.Taken(name) {
		return false
	}
	n.skip(ctx, name, "taken over from "+n.spec.Redreams.Dream)
	return true
}

// felt are the fragments whose tones move the mood: only the dream's own, since those taken over have moved it
// already.
func (n *dreamRun) felt() []string {
	if n.spec.Redreams != nil {
		return nil
	}
	return ids(n.fragments)
}
