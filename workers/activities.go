package workers

import (
	"context"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/attendance"
	"github.com/seed-56a03226/oneiros/activities/awakening"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/feeds"
	"github.com/seed-56a03226/oneiros/activities/hooks"
	"github.com/seed-56a03226/oneiros/activities/imagination"
	"github.com/seed-56a03226/oneiros/activities/integration"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/replay"
)

// RegisterActivities registers the activities of agents and dreams, each under its name.
func RegisterActivities(r worker.ActivityRegistry, p activities.Ports, executions activities.Executions,
	planner activities.Planner,
) {
	p = dreamrun.WithRunCache(p)
	run := &dreamrun.DreamRun{Ports: p, Executions: executions, Planner: planner}
	progress := &dreamrun.Progress{Ports: p}
	add(r, activities.DreamBegin, run.Begin)
	add(r, activities.DreamFinish, run.Finish)
	add(r, activities.DreamInterrupt, run.Interrupt)
	add(r, activities.DreamReusePhases, run.ReusePhases)
	add(r, activities.DreamRecordProgress, progress.Record)

	add(r, activities.AgentPlan, run.Plan)
	add(r, activities.AgentCheckTriggers, run.CheckTriggers)
	add(r, activities.AgentCheckClients, run.CheckClients)
	add(r, activities.AgentRaiseEpoch, run.RaiseEpoch)
	add(r, activities.AgentAnnounceWake, run.AnnounceWake)
	add(r, activities.AgentIsDreaming, run.IsRunning)

	onset := &onset.Onset{Ports: p}
	add(r, activities.OnsetGather, onset.Gather)
	add(r, activities.OnsetEmbed, onset.Embed)
	add(r, activities.OnsetInduce, onset.Induce)
	add(r, activities.OnsetPartial, onset.Partial)
	add(r, activities.OnsetPartials, sideBySide(p, steps{
		activities.OnsetPartial:       step(onset.Partial),
		activities.OnsetJudgeTogether: step(onset.JudgeTogether),
	}))
	add(r, activities.OnsetJudge, onset.Judge)
	add(r, activities.OnsetJudgeTogether, onset.JudgeTogether)
	add(r, activities.OnsetCapture, onset.Capture)
	add(r, activities.OnsetCheckPolicy, onset.CheckPolicy)

	replay := &replay.Replay{Ports: p}
	add(r, activities.ReplayRun, replay.Run)
	add(r, activities.ReplayLastLook, replay.LastLook)
	add(r, activities.ReplaySteps, inTurn(steps{
		activities.ReplayRun:      step(replay.Run),
		activities.ReplayLastLook: step(replay.LastLook),
	}))

	imagination := &imagination.Imagination{Ports: p}
	add(r, activities.ImaginationSurvey, imagination.Survey)
	add(r, activities.ImaginationBranch, imagination.Branch)
	add(r, activities.ImaginationRefine, imagination.Refine)
	add(r, activities.ImaginationMerge, imagination.Merge)
	add(r, activities.ImaginationMoves, sideBySide(p, steps{
		activities.ImaginationBranch: step(imagination.Branch),
		activities.ImaginationRefine: step(imagination.Refine),
		activities.ImaginationMerge:  step(imagination.Merge),
		activities.ImaginationScore:  scoreMade(imagination),
	}))
	add(r, activities.ImaginationScore, imagination.Score)
	add(r, activities.ImaginationKeep, imagination.Keep)

	integration := &integration.Integration{Ports: p}
	add(r, activities.IntegrationConsolidate, integration.Consolidate)

	awakening := &awakening.Awakening{Ports: p}
	add(r, activities.AwakeningSurface, awakening.Surface)
	add(r, activities.AwakeningSettleMood, awakening.SettleMood)

	add(r, activities.RoomsAttend, (&attendance.Attendance{Ports: p}).Attend)

	hooks := &hooks.Hooks{Ports: p}
	add(r, activities.HooksEntry, hooks.Entry)
	add(r, activities.HooksCapture, hooks.Capture)
	register(r, activities.HooksExit, func(ctx context.Context, in activities.ExitHookRequest) error {
		return activities.ToApplicationError(hooks.Exit(ctx, in))
	})
}

// RegisterFeeds registers the activities of feeds, each under its name.
func RegisterFeeds(r worker.ActivityRegistry, p activities.Ports, fetch activities.Fetcher, alarms activities.Alarms) {
	feed := &feeds.Feed{Ports: p, Fetch: fetch, Alarms: alarms}
	add(r, activities.FeedPoll, feed.Poll)
	add(r, activities.FeedDeliverAlarm, feed.DeliverAlarm)
	add(r, activities.FeedLoadSettings, feed.LoadSettings)
}

// add registers an activity whose errors become Temporal's.
func add[Request, Result any](r worker.ActivityRegistry, name string,
	do func(context.Context, Request) (Result, error),
) {
	register(r, name, func(ctx context.Context, in Request) (Result, error) {
		out, err := do(ctx, in)
		return out, activities.ToApplicationError(err)
	})
}

// steps are the activities whose work another one does as well, by name.
type steps map[string]func(context.Context, activities.SideStep) (activities.StepResult, error)

// do makes one step.
func (s steps) do(ctx context.Context, one activities.SideStep) (activities.StepResult, error) {
	do, ok := s[one.Activity]
	if !ok {
		return activities.StepResult{}, fmt.Errorf("the step %q is none of this activity's: %w", one.Activity,
			memory.ErrNotFound)
	}
	return do(ctx, one)
}

// step decodes the request of a step.
func step[Request any](do func(context.Context, Request) (activities.StepResult, error),
) func(context.Context, activities.SideStep) (activities.StepResult, error) {
	return func(ctx context.Context, one activities.SideStep) (activities.StepResult, error) {
		var request Request
		if err := json.Unmarshal(one.Request, &request); err != nil {
			return activities.StepResult{}, fmt.Errorf("read the request of a step: %w", err)
		}
		return do(ctx, request)
	}
}

// scoreMade scores the scenarios that the steps before it have made.
func scoreMade(m *imagination.Imagination) func(context.Context, activities.SideStep) (activities.StepResult, error) {
	return func(ctx context.Context, one activities.SideStep) (activities.StepResult, error) {
		return step(func(ctx context.Context, r activities.ScoreRequest) (activities.StepResult, error) {
			r.Scenarios = one.Made
			return m.Score(ctx, r)
		})(ctx, one)
	}
}

// sideBySide is an activity that makes some of these steps at once.
func sideBySide(p activities.Ports, s steps,
) func(context.Context, activities.SideBySideRequest) (activities.SideBySideResult, error) {
	return func(ctx context.Context, r activities.SideBySideRequest) (activities.SideBySideResult, error) {
		return activities.SideBySide(ctx, r, p.StepsAtOnce, s.do)
	}
}

// inTurn is an activity that makes some of these steps one after the other.
func inTurn(s steps) func(context.Context, activities.SideBySideRequest) (activities.SideBySideResult, error) {
	return func(ctx context.Context, r activities.SideBySideRequest) (activities.SideBySideResult, error) {
		return activities.InTurn(ctx, r, s.do)
	}
}

func register(r worker.ActivityRegistry, name string, do any) {
	r.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
}
