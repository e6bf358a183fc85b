package testdeploy

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Judging lets each worker process check the predictions of all agents again and again, as a server does.
type Judging struct {
	Daily budget.Micros `json:"daily"` // most that judging may cost an agent a day
	// The judge's clock shows Begin when it is Started, and runs so many times as fast as time.
	Started time.Time `json:"started"`
	Begin   time.Time `json:"begin"`
	Speed   float64   `json:"speed"`
}

func (j Judging) now() time.Time {
	return j.Begin.Add(time.Duration(float64(time.Since(j.Started)) * j.Speed))
}

// rules are the settings of predictions.
func (c Config) rules() dream.PredictionRules {
	rules := c.Predictions
	if c.Judge != nil {
		rules.JudgeDaily = c.Judge.Daily
	}
	return rules
}

// Breaks between two rounds over all agents: so many times as long as the round took, and so long at least.
const (
	breakOfRound  = 10
	shortestBreak = 200 * time.Millisecond
)

// judgeAgents checks the predictions of all agents, one after another, until ctx ends.
func (d *Deployment) judgeAgents(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		if err := d.judgeRound(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "check predictions:", err)
		}
		select {
		case <-time.After(max(shortestBreak, breakOfRound*time.Since(began))):
		case <-ctx.Done():
		}
	}
}

func (d *Deployment) judgeRound(ctx context.Context) error {
	agents, err := d.Store.Agents(ctx)
	if err != nil {
		return err
	}
	judge := d.Starter.ForPredictions().Judge()
	judge.Now = d.Config.Judge.now
	for _, agent := range agents {
		if _, err := judge.Check(ctx, agent, false); err != nil {
			return fmt.Errorf("agent %s: %w", agent.Handle, err)
		}
	}
	return nil
}
