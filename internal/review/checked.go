package review

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Checked is what a check of an agent's predictions came to.
type Checked struct {
	LookedUp
	Judged *Judgement `json:"judged,omitempty"` // what the model was asked; absent when it was to be left out
}

// Check resolves the open predictions of an agent that can be decided by now: those with a check by a look at what was
// lived, and then, unless lookOnly is set, those in prose by the model.
func (j Judge) Check(ctx context.Context, agent dream.Agent, lookOnly bool) (Checked, error) {
	var done Checked
	var err error
	done.LookedUp, err = j.LookUp(ctx, agent.ID)
	if err != nil || lookOnly {
		return done, err
	}
	judged, err := j.Once(ctx, agent, true)
	done.Judged = &judged
	return done, err
}
