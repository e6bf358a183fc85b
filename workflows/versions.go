package workflows

// Contract is the version of what this build and its workflows agree on: the order of commands, the names of activities
// and search attributes, the shape of inputs. It stands in the memo of every execution. Before a worker starts, open
// executions of another contract are replayed; those that fail are ended, and agents are begun anew from the store
// (docs/upgrading.md). It goes up by one with every change under which a recorded history no longer replays, or that
// the build before cannot read.
const Contract = 3

// OldestContract is the oldest contract whose executions this build may continue. Those of an earlier one are ended
// without being replayed: inputs and carried state have other field names since, so that an execution could replay and
// yet have lost what it carried.
const OldestContract = 2

// Changes of workflow logic since OldestContract, newest last: each a change id for workflow.GetVersion with its
// reason. A recorded history stays in the replay suite as long as a run of its version may exist.
const (
	// A partial is judged by the activity that bought it: a dream of the default size has a third fewer activities.
	changeJudgeAtOnce = "judge a partial at once"
	// The partials of a cycle and the scenarios of a round are made by one activity: a dream of the default size has a
	// third fewer activities and workflow tasks, and a wake waits for one of them, not for four. It includes the change
	// above.
	//
	// Version 2: NREM is one activity, and the search attributes that one workflow task changes are one write. The same
	// activity judges the partials of a cycle and scores the scenarios of a round; that needs no version, because the
	// result of the activity says whether it did.
	changeSideBySide = "make steps side by side"
	// A phase without a share of the budget is left out. Before, it ran when its models cost nothing.
	changeLeaveOut = "leave out phases without a share"
	// An interrupted dream that the agent's workflow does not know may be resumed: one of the two was reset. Before, its
	// report was ignored.
	changeAdopt = "adopt an interrupted dream"
)
