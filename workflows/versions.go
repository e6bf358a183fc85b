package workflows

// Contract is the version of what this build and its workflows agree on: the order of commands, the names of activities
// and search attributes, the shape of inputs. It stands in the memo of every execution. Before a worker starts, open
// executions of another contract are replayed; those that fail are ended, and agents are begun anew from the store
// (docs/upgrading.md). It goes up by one with every change under which a recorded history no longer replays.
const Contract = 1

// Changes of workflow logic, newest last. Each is a change id for workflow.GetVersion with its reason. A recorded history
// stays in the replay suite as long as a run of its version may exist.
const (
	// HoursFollowSettings concerns an agent that receives new settings during quiet hours. From version 1 on, the end of
	// the quiet hours is forgotten, and a due dream is planned at once instead of at that time.
	HoursFollowSettings = "hours-follow-settings"

	// EmbedBeforeREM concerns a dream whose onset is skipped. From version 1 on, it embeds memories without a vector
	// before REM compares scenarios with them.
	EmbedBeforeREM = "embed-before-rem"
)

// Some additions need no change id, because what triggers them cannot occur in an older history:
//   - An agent's workflow checks its triggers (Bed.Heed) only under Settings with Triggers or Eager.
//   - An agent's workflow completes only when Bed.Plan answers that the agent was removed.
//   - After an alarm or a failed capture, the onset applies rules in words (Onset.Hold) only under a policy that has
//     some, and calls the capture hooks for fragments they have not seen only if there are hooks.
//   - A phase waits for memories that are embedded in the background only when Onset.Place answers that it does.
