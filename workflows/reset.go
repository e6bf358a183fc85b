package workflows

import (
	"cmp"
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// changeReset begins the change ids of what a run does that a reset made.
const changeReset = "look after a reset"

// originalRun is the id of the run that a dream began in. Runs that resets made go on with the slot, the record and the
// books of that one.
func originalRun(info *workflow.Info) string {
	return cmp.Or(info.OriginalRunID, info.WorkflowExecution.RunID) // a test environment has no original run
}

// lookAfterReset asks the store, in a run that a reset of the workflow made, whether the stretch goes on, before anything
// more is paid for. A dream that had ended ends again as it did. Up to the point of the reset, the run repeats what was
// recorded: no version is, and nothing is asked.
func lookAfterReset(ctx workflow.Context, r *dreamRun) error {
	info := workflow.GetInfo(ctx)
	if info.WorkflowExecution.RunID == originalRun(info) {
		return nil
	}
	r.looks++
	change := fmt.Sprintf("%s %d", changeReset, r.looks)
	if workflow.GetVersion(ctx, change, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return nil
	}
	begun, err := r.begin(ctx, r.stretch.number)
	if err != nil || begun.MayRun() || begun.Awake { // an awake agent ends the stretch, as it ends any other
		return err
	}
	r.resetEnd = begun.Reason
	return &verdict{begun.Refused, begun.Reason}
}
