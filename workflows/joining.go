package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// joined wakes a sleeper whom somebody has come to while an alarm, or an operator, held it awake: those leave it
// asleep, and a knock that finds it held raises no epoch, so it is no wake that is told. Whoever says so may be late,
// or say it again: the store knows who is there.
func (a *agentRun) joined(ctx workflow.Context) {
	if a.state.State != Sleeping {
		return
	}
	now := workflow.Now(ctx)
	var found activities.LookResult
	err := workflow.ExecuteLocalActivity(shortly(ctx, "who has come"), "Bed.Look",
		activities.LookRequest{Agent: a.request.Agent, Now: now, Asleep: true}).Get(ctx, &found)
	if err != nil {
		workflow.GetLogger(ctx).Warn("nobody could say who has come; the agent is told asleep until its next wake",
			"error", err)
		return
	}
	if found.Visit.Client == "" || a.state.State != Sleeping { // gone again; or woken, or dreaming, meanwhile
		return
	}
	state, err := circadian.Step(circadian.Sleeping, circadian.Connect)
	if err != nil {
		return
	}
	a.state.State, a.state.Since, a.state.LastActive = string(state), now, now
	a.state.Until = later(found.Until, now.Add(time.Second))
	if most := now.Add(look); a.state.Until.After(most) { // whoever leaves may not reach us
		a.state.Until = most
	}
	if found.Epoch == a.state.Epoch { // otherwise the wake that raised it is on its way, and is announced
		a.state.Wake = &Wake{
			Epoch: found.Epoch, Cause: presence.Connect, Client: found.Visit.Client,
			At: found.Visit.At,
		}
		a.state.Greeted = found.Epoch - 1 // what was noted of it was that it slept on
	}
	a.ready(ctx)
}
