package workflows

// Changes of workflow logic, newest last. Each is a change id for workflow.GetVersion with its reason; an old history
// stays in the replay suite until its last run is gone. There is none yet: the first release is the baseline.
