package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// mayBegin refuses a dream that must not begin; nothing of it is recorded. News of an end that has come and was not
// read yet is left for begin to read: a validator changes nothing.
func (a *agentRun) mayBegin(_ workflow.Context, spec activities.Spec) error {
	if a.state.State == Dreaming && !a.dreamt() && a.ended.Len() == 0 {
		return a.alreadyDreaming()
	}
	if a.state.State == Waking || a.state.State == Awake {
		return a.heldAwake()
	}
	if spec.Agent != a.request.Agent {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the order is for agent %q and this is %q", spec.Agent, a.request.Agent), "BadOrder", nil)
	}
	return spec.Validate()
}

func (a *agentRun) alreadyDreaming() error {
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("%s is already dreaming %s", a.request.Handle, a.state.Dream.Dream), AlreadyDreaming, nil)
}

// heldAwake says why an agent that is awake begins no dream.
func (a *agentRun) heldAwake() error {
	_, err := circadian.Step(circadian.State(a.state.State), circadian.Asked)
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%s: %v", a.request.Handle, err), HeldAwake, nil)
}

// asked begins a dream that somebody asked for; asking is a use of the agent.
func (a *agentRun) asked(ctx workflow.Context, spec activities.Spec) (Begun, error) {
	a.state.LastActive = workflow.Now(ctx)
	return a.begin(ctx, spec)
}
