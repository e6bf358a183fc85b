package workflows

// Changes of workflow logic, newest last. Each is a change id for workflow.GetVersion with its reason; an old history
// stays in the replay suite until its last run is gone.
const (
	// HoursFollowSettings is of an agent that gets new settings while quiet hours keep it from dreaming: from version 1
	// on the time until which they last is forgotten, and a dream that is due is planned at once instead of at that
	// time.
	HoursFollowSettings = "hours-follow-settings"

	// EmbedBeforeREM is of a dream whose onset is skipped: from version 1 on it embeds what has no vector before REM
	// measures scenarios against it.
	EmbedBeforeREM = "embed-before-rem"
)

// What needs no change id, because an old history never has what asks for it:
//   - a life looks at its triggers (Bed.Heed) only under Settings with Triggers or Eager.
//   - an agent's workflow completes only when Bed.Plan answers that the agent was removed.
//   - an onset that an alarm ends, or whose capture fails, asks about the rules in words (Onset.Hold) only under a policy that has
//     some, and shows the hooks what they have not seen only when it has any.
//   - a phase waits for memories that are embedded in the background only when Onset.Place answers that it does.
