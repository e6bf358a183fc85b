package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// takeOver copies what the earlier phases of another dream made into this dream, which continues from there.
func (r *dreamRun) takeOver(ctx workflow.Context) error {
	from := r.spec.Redreams
	if from == nil {
		return nil
	}
	var t activities.ReusePhasesResult
	err := r.storeCall(ctx, "take over "+from.Dream, activities.DreamReusePhases,
		func() any { return activities.ReusePhasesRequest{Stretch: r.stretch.current(ctx)} }, &t)
	if err != nil {
		return err
	}
	r.fragments = t.Fragments
	r.selected = t.Selected
	r.patterns = t.Patterns
	r.scenarios = t.Scenarios
	r.staged = t.Staged
	r.inherited = len(r.fragments) + len(r.patterns) + len(r.scenarios) + len(r.staged)
	if r.spec.Review == dream.JournalOnly {
		r.inherited = len(r.fragments) + len(r.scenarios)
	}
	return nil
}

// takenOver skips a phase whose results are taken over from another dream.
func (r *dreamRun) takenOver(ctx workflow.Context, name dream.Phase) bool {
	if !r.spec.Redreams.Taken(name) {
		return false
	}
	r.skip(ctx, name, "taken over from "+r.spec.Redreams.Dream)
	return true
}

// felt are the fragments whose tones move the mood: only the dream's own, since those taken over have moved it
// already.
func (r *dreamRun) felt() []string {
	if r.spec.Redreams != nil {
		return nil
	}
	return ids(r.fragments)
}
