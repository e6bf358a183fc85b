package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// hasHooks says whether any hook is configured at a border.
func hasHooks(spec activities.Spec, at activities.Border) bool {
	return slices.ContainsFunc(spec.Hooks, func(rule activities.HookRule) bool { return slices.Contains(rule.At, at) })
}

// vetoed asks the entry hooks whether the onset may run: "" if it may, otherwise hypnagogia.SkipVeto with the reason.
func (r *dreamRun) vetoed(ctx workflow.Context, remaining budget.Micros) (string, error) {
	if !hasHooks(r.spec, activities.AtEntry) {
		return "", nil
	}
	entry := &phase{run: r, name: dream.Onset}
	result, err := entry.one(ctx, paidStep{"hooks at the entry", activities.HooksEntry, func() any {
		return activities.EntryHookRequest{
			Stretch:   r.stretch.current(ctx),
			Onset:     r.plan.Onset,
			Remaining: remaining,
			Cycles:    r.descent.cycles(),
			Gathered:  r.gathered,
		}
	}})
	if err != nil || result.Scope == "" {
		return "", err
	}
	return hypnagogia.SkipVeto + " of the hook " + result.Scope + ": " + result.Reason, nil
}

// showToHooks shows what a cycle kept to the capture hooks; the induction is cycle 0. Fragments that a hook holds are
// not developed.
func (p *phase) showToHooks(ctx workflow.Context, cycle, before int) error {
	fresh := p.run.fragments[before:]
	if len(fresh) == 0 || !hasHooks(p.run.spec, activities.AtCapture) {
		return nil
	}
	_, err := p.one(ctx, paidStep{"hooks at the capture", activities.HooksCapture, func() any {
		return activities.CaptureHookRequest{Stretch: p.run.stretch.current(ctx), Cycle: cycle, Fragments: ids(fresh)}
	}})
	if err == nil {
		p.run.shownToHooks = len(p.run.fragments)
	}
	return err
}

// callExitHooks reports the ended dream to the exit hooks, after the agent's workflow has been informed.
func (r *dreamRun) callExitHooks(ctx workflow.Context, ending activities.Ending, cost activities.FinishResult) {
	if !hasHooks(r.spec, activities.AtExit) {
		return
	}
	options := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 2 * time.Minute, StartToCloseTimeout: activities.LongestHook + 5*time.Second,
		Summary:     "hooks at the exit",
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 3},
	})
	err := workflow.ExecuteLocalActivity(options, activities.HooksExit, activities.ExitHookRequest{
		Stretch: r.stretch.current(ctx),
		Ending:  ending,
		Cost:    cost,
		Rules:   r.spec.Hooks,
		Handle:  r.spec.Handle,
		Budget:  r.spec.Budget,
	}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("the exit hooks could not be called", "dream", r.spec.Dream, "error", err)
	}
}
