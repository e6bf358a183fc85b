package workflows

// Changes of workflow logic, newest last. Each is a change id for workflow.GetVersion with its reason; an old history
// stays in the replay suite until its last run is gone. There is none yet: the first release is the baseline.
//
// What needs no change id, because an old history never has what asks for it:
//   - a life looks at its triggers (Bed.Heed) only under Settings with Triggers or Eager.
//   - an onset that an alarm ends, or whose capture fails, asks about the rules in words (Onset.Hold) only under a policy that has
//     some, and shows the hooks what they have not seen only when it has any.
