package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// dreamClosed says whether the dream begun in this run has closed and this was not handled yet.
func (a *agentRun) dreamClosed() bool { return a.dream != nil && a.dream.IsReady() }

// catchUp handles everything that has arrived.
func (a *agentRun) catchUp(ctx workflow.Context) {
	if a.dreamClosed() {
		if a.state.Dream != nil {
			a.noteEnd(ctx, EndedDream{Dream: a.state.Dream.Dream})
		} else { // it was interrupted before, and has now ended for good
			a.state.Interrupted = nil
		}
		a.dream = nil
	}
	a.drain(ctx)
}

// drain reads every signal, so that none is lost at continue-as-new.
func (a *agentRun) drain(ctx workflow.Context) {
	var ended EndedDream
	for a.ended.ReceiveAsync(&ended) {
		a.noteEnd(ctx, ended)
		ended = EndedDream{}
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
		a.reopenHours()
	}
	a.drainCalls()
	a.drainWakes(ctx)
	connected := false
	for a.connected.ReceiveAsync(nil) {
		connected = true
	}
	if connected {
		a.wakeForClient(ctx)
	}
}

// reopenHours forgets the end of the quiet hours of the former settings, so that a due dream is planned by the new
// ones.
func (a *agentRun) reopenHours() {
	if !a.state.NotBefore.IsZero() {
		a.state.NotBefore, a.state.LastReason = time.Time{}, ""
	}
}

// noteEnd notes once that a dream has ended for good or was interrupted.
func (a *agentRun) noteEnd(ctx workflow.Context, ended EndedDream) {
	if b := a.state.Interrupted; b != nil && b.Dream == ended.Dream && ended.Until.IsZero() {
		a.state.Interrupted = nil
	}
	if a.state.Dream == nil && !ended.Until.IsZero() &&
		workflow.GetVersion(ctx, changeAdopt, workflow.DefaultVersion, 1) > workflow.DefaultVersion {
		a.state.Dream = &StartedDream{Dream: ended.Dream, Workflow: ended.Dream}
	}
	if a.state.Dream == nil || a.state.Dream.Dream != ended.Dream {
		return
	}
	if !ended.Until.IsZero() {
		a.state.Interrupted = &InterruptedDream{StartedDream: *a.state.Dream, Until: ended.Until}
		a.recordMissed(ctx, ended)
	} else {
		a.dream = nil
	}
	a.state.Dream = nil
	switch a.state.State {
	case Dreaming:
		a.state.State = Sleeping
	case Awake: // the agent woke before this dream stopped: check the clients again
		a.state.Until = workflow.Now(ctx)
	}
	a.state.LastDream = workflow.Now(ctx)
}

// checkDream notices a dream that ended without reporting it.
func (a *agentRun) checkDream(ctx workflow.Context) {
	held := *a.state.Dream
	var running bool
	err := workflow.ExecuteLocalActivity(shortly(ctx, "does the dream still run"), activities.AgentIsDreaming,
		activities.RunningRequest{Workflow: held.Workflow, Run: held.Run}).Get(ctx, &running)
	if err == nil && !running {
		a.noteEnd(ctx, EndedDream{Dream: held.Dream})
	}
}
