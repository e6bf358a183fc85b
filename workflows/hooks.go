package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// hasHooks says whether any hook is configured at a border.
func (n *dreamRun) hasHooks(at activities.Border) bool {
	return slices.ContainsFunc(n.spec.Hooks, func(r activities.HookRule) bool { return slices.Contains(r.At, at) })
}

// vetoed asks the entry hooks whether the onset may run: "" if it may, otherwise hypnagogia.SkipVeto with the reason.
func (n *dreamRun) vetoed(ctx workflow.Context, remaining budget.Micros) (string, error) {
	if !n.hasHooks(activities.AtEntry) {
		return "", nil
	}
	entry := &phase{n: n, name: dream.Onset}
	r, err := entry.one(ctx, ask{"hooks at the entry", "Frontier.Enter", func() any {
		return activities.EntryRequest{
			Stretch:   n.currentStretch(ctx),
			Onset:     n.plan.Onset,
			Remaining: remaining,
			Cycles:    n.cycles(),
			Gathered:  n.gathered,
		}
	}})
	if err != nil || r.Scope == "" {
		return "", err
	}
	return hypnagogia.SkipVeto + " of the hook " + r.Scope + ": " + r.Reason, nil
}

// review shows what a cycle kept to the capture hooks; the induction is cycle 0. Fragments that a hook holds are not
// developed.
func (p *phase) review(ctx workflow.Context, cycle, before int) error {
	fresh := p.n.fragments[before:]
	if len(fresh) == 0 || !p.n.hasHooks(activities.AtCapture) {
		return nil
	}
	_, err := p.one(ctx, ask{"hooks at the capture", "Frontier.Review", func() any {
		return activities.ReviewRequest{Stretch: p.n.currentStretch(ctx), Cycle: cycle, Fragments: ids(fresh)}
	}})
	if err == nil {
		p.n.shown = len(p.n.fragments)
	}
	return err
}

// callExitHooks reports the ended dream to the exit hooks, after the agent's workflow has been informed.
func (n *dreamRun) callExitHooks(ctx workflow.Context, ending activities.Ending, cost activities.FinishResult) {
	if !n.hasHooks(activities.AtExit) {
		return
	}
	options := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 2 * time.Minute, StartToCloseTimeout: activities.LongestHook + 5*time.Second,
		Summary:     "hooks at the exit",
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 3},
	})
	err := workflow.ExecuteLocalActivity(options, "Frontier.Leave", activities.ExitRequest{
		Stretch: n.currentStretch(ctx),
		Ending:  ending,
		Cost:    cost,
		Rules:   n.spec.Hooks,
		Handle:  n.spec.Handle,
		Budget:  n.spec.Budget,
	}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("the exit hooks could not be called", "dream", n.spec.Dream, "error", err)
	}
}
