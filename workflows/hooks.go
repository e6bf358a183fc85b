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

// guarded says whether a hook is asked at a border.
func (n *dreamRun) guarded(at activities.Border) bool {
	return slices.ContainsFunc(n.spec.Hooks, func(r activities.HookRule) bool { return slices.Contains(r.At, at) })
}

// vetoed asks the hooks of the entry whether the onset may run: "" when it may, hypnagogia.SkipVeto when not.
func (n *dreamRun) vetoed(ctx workflow.Context, remaining budget.Micros) (string, error) {
	if !n.guarded(activities.AtEntry) {
		return "", nil
	}
	app := &phase{n: n, name: dream.Onset}
	r, err := app.one(ctx, ask{"hooks at the entry", "Frontier.Enter", func() any {
		return activities.EntryRequest{
			Stretch:   n.seat(ctx),
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

// review shows what a cycle kept to the hooks of the capture; the induction is cycle 0. Those they hold are never
// developed.
func (p *phase) review(ctx workflow.Context, cycle, before int) error {
	fresh := p.n.fragments[before:]
	if len(fresh) == 0 || !p.n.guarded(activities.AtCapture) {
		return nil
	}
	_, err := p.one(ctx, ask{"hooks at the capture", "Frontier.Review", func() any {
		return activities.ReviewRequest{Stretch: p.n.seat(ctx), Cycle: cycle, Fragments: ids(fresh)}
	}})
	if err == nil {
		p.n.shown = len(p.n.fragments)
	}
	return err
}

// leftTo tells the hooks of the exit what the dream came to; the dream is over and its life has been told.
func (n *dreamRun) leftTo(ctx workflow.Context, ending activities.Ending, cost activities.FinishResult) {
	if !n.guarded(activities.AtExit) {
		return
	}
	result := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 2 * time.Minute, StartToCloseTimeout: activities.LongestHook + 5*time.Second,
		Summary:     "hooks at the exit",
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 3},
	})
	err := workflow.ExecuteLocalActivity(result, "Frontier.Leave", activities.ExitRequest{
		Stretch: n.seat(ctx),
		Ending:  ending,
		Cost:    cost,
		Rules:   n.spec.Hooks,
		Handle:  n.spec.Handle,
		Budget:  n.spec.Budget,
	}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("the hooks of the exit could not be told", "dream", n.spec.Dream, "error", err)
	}
}
