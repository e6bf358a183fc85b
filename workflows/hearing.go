package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// dreamt says whether the dream of this run has closed and nobody has noted it yet.
func (a *agentRun) dreamt() bool { return a.dream != nil && a.dream.IsReady() }

// catchUp takes in everything that has come.
func (a *agentRun) catchUp(ctx workflow.Context) {
	if a.dreamt() {
		if a.state.Dream != nil {
			a.over(ctx, Ended{Dream: a.state.Dream.Dream})
		} else { // it was interrupted, and has ended for good
			a.state.Broken = nil
		}
		a.dream = nil
	}
	a.drain(ctx)
}

// drain takes every signal that has come, so that none is lost when the run is continued as new.
func (a *agentRun) drain(ctx workflow.Context) {
	var ended Ended
	for a.ended.ReceiveAsync(&ended) {
		a.over(ctx, ended)
		ended = Ended{}
	}
	var when time.Time
	for a.active.ReceiveAsync(&when) {
		if when.After(a.state.LastActive) {
			a.state.LastActive = when
		}
	}
	var settings Settings
	for a.settings.ReceiveAsync(&settings) {
		a.state.Settings = settings
		settings = Settings{}
		a.forget()
		a.reopenHours(ctx)
	}
	a.drainCalls()
	a.drainWakes(ctx)
	came := false
	for a.visited.ReceiveAsync(nil) {
		came = true
	}
	if came {
		a.joined(ctx)
	}
}

// reopenHours forgets until when the former settings closed the hours, so that a dream that is due is planned by the
// new ones.
func (a *agentRun) reopenHours(ctx workflow.Context) {
	if a.state.NotBefore.IsZero() ||
		workflow.GetVersion(ctx, HoursFollowSettings, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	a.state.NotBefore, a.state.LastReason = time.Time{}, ""
}

// over notes that a sitting has ended, once: for good, or until the dream goes on.
func (a *agentRun) over(ctx workflow.Context, ended Ended) {
	if b := a.state.Broken; b != nil && b.Dream == ended.Dream && ended.Until.IsZero() {
		a.state.Broken = nil
	}
	if a.state.Dream == nil || a.state.Dream.Dream != ended.Dream {
		return
	}
	if !ended.Until.IsZero() {
		a.state.Broken = &Broken{Begun: *a.state.Dream, Until: ended.Until}
		a.missed(ctx, ended)
	} else {
		a.dream = nil
	}
	a.state.Dream = nil
	switch a.state.State {
	case Dreaming:
		a.state.State = Sleeping
	case Awake: // it had not waited for this dream: look again who is there
		a.state.Until = workflow.Now(ctx)
	}
	a.state.LastDream = workflow.Now(ctx)
}

// lookAtDream notices a dream that ended without being able to say so.
func (a *agentRun) lookAtDream(ctx workflow.Context) {
	held := *a.state.Dream
	var running bool
	err := workflow.ExecuteLocalActivity(shortly(ctx, "is it still dreaming"), "Bed.Running",
		activities.RunningRequest{Workflow: held.Workflow, Run: held.Run}).Get(ctx, &running)
	if err == nil && !running {
		a.over(ctx, Ended{Dream: held.Dream})
	}
}
