package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// mayBegin is the validator of the dream update; a refused update is not recorded. An unread signal that a dream has
// ended lets the update pass, since begin reads it and a validator must not.
func (a *agentRun) mayBegin(_ workflow.Context, spec activities.Spec) error {
	if a.state.State == Dreaming && !a.dreamClosed() && a.ended.Len() == 0 {
		return a.alreadyDreaming()
	}
	if a.state.State == Waking || a.state.State == Awake {
		return a.heldAwake()
	}
	if spec.Agent != a.request.Agent {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the dream spec is for agent %q and this is %q", spec.Agent, a.request.Agent), InvalidSpec, nil)
	}
	return spec.Validate()
}

func (a *agentRun) alreadyDreaming() error {
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("%s is already dreaming %s", a.request.Handle, a.state.Dream.Dream), AlreadyDreaming, nil)
}

// heldAwake is the error for a dream request while the agent is awake.
func (a *agentRun) heldAwake() error {
	_, err := circadian.Step(circadian.State(a.state.State), circadian.Requested)
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%s: %v", a.request.Handle, err), HeldAwake, nil)
}

// handleDream handles the dream update, which counts as a use of the agent.
func (a *agentRun) handleDream(ctx workflow.Context, spec activities.Spec) (StartedDream, error) {
	a.state.LastActive = workflow.Now(ctx)
	return a.begin(ctx, spec)
}
