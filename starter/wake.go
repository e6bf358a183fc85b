package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Connection is a request to hold an agent awake.
type Connection struct {
	Agent   string // id or handle
	Client  string // the client's name; the same client renews its lease
	Cause   presence.Cause
	For     time.Duration // duration of the lease; 0: the deployment's client_timeout, or alarm_hold for an alarm
	Trigger string        // for an alarm: "feed/rule"
}

// WakeResult is the result of a wake.
type WakeResult struct {
	presence.Wake
	Raised   bool          // this request woke the agent; otherwise it was awake already
	Degraded string        // what failed and will be repeated later; empty when all was done
	Unstored error         // why the store has not recorded the wake; nil when it has
	Took     time.Duration // time until the caller may go on

	agent dream.Agent
}

// The caller gets an answer within a second whatever fails: these are the longest waits for the store and for the
// wake bus. Activities of this process are stopped before.
const (
	storeWithin  = 600 * time.Millisecond
	noticeWithin = 200 * time.Millisecond
)

// Wake wakes an agent and returns as soon as the caller may go on: the epoch is durable, the affect and digest for
// the client are fixed, and the wake notice is published. The agent's workflow records the wake in the background
// (see Recorded); nothing waits for Temporal. If the store does not answer, the agent's dreams in this process are
// stopped nevertheless, and the result says what is missing.
func (s *Starter) Wake(ctx context.Context, k Connection) (WakeResult, error) {
	began := s.Now()
	if k.Client == "" {
		return WakeResult{}, errors.New("wake: client is empty; name the client that connects")
	}
	if k.Cause == "" {
		k.Cause = presence.Connect
	}
	agent, arrival, err := waking{s}.arrive(ctx, k, began)
	raised := s.Now()
	if errors.Is(err, memory.ErrNotFound) {
		return WakeResult{}, fmt.Errorf("wake %s: %w", k.Agent, err)
	}
	if err != nil {
		return waking{s}.blind(ctx, agent, k, began, err)
	}
	s.recording.cancelDeparture(agent, k.Client)
	w := WakeResult{Wake: arrival.Wake, Raised: arrival.Raised, agent: agent}
	if arrival.Raised && !arrival.Notified {
		notice := presence.WakeNotice{
			Agent:  agent.ID,
			Epoch:  arrival.Epoch,
			Cause:  k.Cause,
			At:     began,
			Raised: raised,
		}
		if err := (waking{s}).notify(ctx, notice); err != nil {
			w.Degraded = "the wake notice reached this process only: " + err.Error()
		}
	}
	w.Took = s.Now().Sub(began)
	if arrival.Raised {
		s.recording.add(ctx, s, agent, workflows.Wake{
			Epoch:          arrival.Epoch,
			Cause:          k.Cause,
			Client:         k.Client,
			At:             began,
			Raised:         raised,
			Trigger:        k.Trigger,
			Hold:           waking{s}.holdTime(k),
			SignalledDream: arrival.Dream,
		})
	} else if w.Joined(k.Cause) {
		waking{s}.join(ctx, agent, arrival.Epoch)
	}
	return w, nil
}

// arrive resolves the agent and grants the lease. A handle stays with its agent (memory.ErrDreamt), so an agent that
// this process has woken, or has begun a dream of, needs no lookup: the store refuses a visit to a removed agent. With
// an error it returns the agent as far as it is known.
func (s waking) arrive(ctx context.Context, k Connection, now time.Time) (dream.Agent, presence.Arrival, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	visit := presence.Visit{
		Client: k.Client,
		Cause:  k.Cause,
		Now:    now,
		For:    s.holdTime(k),
		Lock:   s.Options.Settings.WakeLock,
		Notify: s.WakeBus != nil,
	}
	existing, seen := s.wokenAgents.Load(k.Agent)
	if seen {
		agent := existing.(dream.Agent)
		visit.Agent, visit.Handle = agent.ID, agent.Handle
		arrival, err := s.Presence.Arrive(ctx, visit)
		if !errors.Is(err, memory.ErrNotFound) {
			return agent, arrival, err
		}
		s.wokenAgents.Delete(k.Agent)
	}
	agent, err := s.Memory.Agent(ctx, k.Agent)
	if err != nil {
		return dream.Agent{Handle: k.Agent}, presence.Arrival{}, err
	}
	visit.Agent, visit.Handle = agent.ID, agent.Handle
	arrival, err := s.Presence.Arrive(ctx, visit)
	if err == nil {
		s.wokenAgents.Store(k.Agent, agent)
	}
	return agent, arrival, err
}

// Alarm wakes an agent because of a trigger, "feed/rule"; it is the worker's activities.Alarms.
func (s *Starter) Alarm(ctx context.Context, agentID, trigger string) error {
	w, err := s.Wake(ctx,
		Connection{Agent: agentID, Client: presence.AlarmClient + trigger, Cause: presence.Alarm, Trigger: trigger})
	if err == nil && w.Degraded != "" {
		err = errors.New(w.Degraded)
	}
	return err
}

func (s waking) notify(ctx context.Context, r presence.WakeNotice) error {
	if s.WakeBus == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noticeWithin)
	defer cancel()
	return s.WakeBus.Publish(ctx, r)
}

func (s waking) holdTime(k Connection) time.Duration {
	settings := s.Options.Settings
	switch {
	case k.For > 0:
		return k.For
	case k.Cause == presence.Alarm && settings.AlarmHold > 0:
		return settings.AlarmHold
	case settings.ClientTimeout > 0:
		return settings.ClientTimeout
	}
	return time.Minute
}

// blind handles a wake without the store: activities of this process stop, and the workflow is informed and raises
// the epoch when the store is back. Of an agent that this process has not woken before, only the handle is known.
func (s waking) blind(ctx context.Context, agent dream.Agent, k Connection, began time.Time,
	cause error,
) (WakeResult, error) {
	if agent.ID != "" {
		_ = s.notify(context.WithoutCancel(ctx), presence.WakeNotice{
			Agent:  agent.ID,
			Epoch:  presence.EveryEpoch,
			Cause:  k.Cause,
			At:     began,
			Raised: s.Now(),
		})
	}
	s.recording.add(ctx, s.Starter, agent, workflows.Wake{
		Cause:   k.Cause,
		Client:  k.Client,
		At:      began,
		Trigger: k.Trigger,
		Hold:    s.holdTime(k),
	})
	w := WakeResult{ // the mood of the agent is unknown
		Wake:     presence.Wake{Agent: agent.ID, Cause: k.Cause, Client: k.Client, At: began},
		Unstored: unstored(cause),
		Degraded: unstored(cause).Error() +
			"; nothing is recorded yet, and this process keeps reporting to the agent's workflow as long as it runs",
		Took: s.Now().Sub(began), agent: agent,
	}
	return w, ctx.Err()
}

// unstored says why the store has not recorded a wake.
func unstored(cause error) error {
	if errors.Is(cause, memory.ErrUnwritable) { // it says so itself
		return cause
	}
	return fmt.Errorf("the store does not answer: %w", cause)
}

// Recorded waits until the agent's workflow has recorded the wake of an epoch, so that its dream has stopped and the
// agent is awake. Epoch 0 means a wake without the store; an agent that could not be resolved is named by its handle.
func (s *Starter) Recorded(ctx context.Context, agentID string, epoch int64) (workflows.WakeAnswer, error) {
	return s.recording.wait(ctx, agentID, epoch)
}

// sendWake reports a wake to the agent's workflow and waits until the agent is awake.
func (s waking) sendWake(ctx context.Context, agent dream.Agent, w workflows.Wake) (workflows.WakeAnswer, error) {
	var answer workflows.WakeAnswer
	if w.SignalledDream != "" {
		s.recording.running.Go(func() { s.reportDream(ctx, w) })
	}
	options := client.UpdateWorkflowOptions{
		WorkflowID: workflows.AgentID(agent.Handle), UpdateName: workflows.UpdateWake, Args: []any{w},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	if w.Epoch > 0 {
		// with the time: a store that lost its newest writes gives the same epoch to another wake
		options.UpdateID = fmt.Sprintf("wake-%d-%d", w.Epoch, w.At.UnixMilli())
	}
	// most agents have a workflow, and starting one takes two steps of the server
	handle, err := s.Client.UpdateWorkflow(ctx, options)
	if notFound(err) {
		newest, readErr := s.Memory.Agent(ctx, agent.ID)
		if errors.Is(readErr, memory.ErrNotFound) { // a removed agent gets no new workflow
			return answer, fmt.Errorf("report the wake to the workflow of %s: %w", agent.Handle, readErr)
		}
		if readErr == nil {
			agent = newest // the new workflow starts with the current record
		}
		handle, err = s.Client.UpdateWithStartWorkflow(ctx,
			client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: s.startAgent(agent), UpdateOptions: options})
	}
	if err == nil {
		err = handle.Get(ctx, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("report the wake to the workflow of %s: %w", agent.Handle, sealed(err))
	}
	slept := w.Cause == presence.Connect && answer.State == workflows.Sleeping // as if the wake were an old one
	if s.Presence == nil || answer.Epoch == w.Epoch && !w.Raised.IsZero() && !slept {
		return answer, nil
	}
	status, err := s.Presence.Status(ctx, agent.ID, s.Now())
	if err == nil && (answer.Epoch > status.Epoch || status.Recorded < w.Epoch) {
		err = s.catchDown(ctx, agent)
	}
	return answer, err
}

// errAhead says that an agent's workflow had recorded wakes that the store has lost, and was begun anew.
var errAhead = errors.New("it knew wakes that the store has lost, and is begun anew")

// catchDown begins an agent's workflow anew that has recorded wakes of which the store knows nothing: the store was put
// back to an earlier state, or lost its newest writes. Such a workflow would take new wakes for old ones. It then returns
// errAhead: the wake is to be reported again.
func (s waking) catchDown(ctx context.Context, agent dream.Agent) error {
	found, err := s.Client.DescribeWorkflowExecution(ctx, workflows.AgentID(agent.Handle), "")
	if notFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("describe the workflow of %s: %w", agent.Handle, err)
	}
	state, err := s.AgentState(ctx, agent.Handle)
	if err != nil {
		return err
	}
	status, err := s.Presence.Status(ctx, agent.ID, s.Now()) // after the state: a store that lost nothing knows as much
	if err != nil || state.Greeted <= status.Recorded {
		return err
	}
	run := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	return cmp.Or(s.BeginAnew(ctx, agent, run), fmt.Errorf("the workflow of %s: %w", agent.Handle, errAhead))
}

// reportDreamAfter is how long a wake waits for the wake bus to stop the dream before the dream is signalled as well.
// Most dreams have reported their end by then, and a signal would cost a workflow task and the cancellation of
// activities that have ended already.
const reportDreamAfter = 50 * time.Millisecond

// reportDream signals the wake to the dream directly, two server steps sooner than the agent's workflow would, unless
// the wake is recorded before. A lost signal is repeated by the agent's workflow.
func (s waking) reportDream(ctx context.Context, w workflows.Wake) {
	if s.WakeBus != nil {
		wait := time.NewTimer(reportDreamAfter)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done(): // the agent's workflow has answered, or the attempt is over
			return
		}
	}
	id := w.SignalledDream
	w.SignalledDream = ""
	_ = s.Client.SignalWorkflow(ctx, id, "", workflows.SignalWake, w)
}

// Leave ends a client's lease, and informs the agent's workflow if it was the last one or the one that would have
// lasted longest, because the workflow waits for that time.
func (s *Starter) Leave(ctx context.Context, agent, name string) error {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil { // a wake that is not reported yet is ended when the store is back
		s.recording.endAfterRecord(waking{s}.lastSeen(agent), name, func(ctx context.Context, name string) error {
			a, err := s.Memory.Agent(ctx, agent)
			if err != nil {
				return err
			}
			return waking{s}.depart(ctx, a, name)
		})
		return fmt.Errorf("leave %s: %w", agent, err)
	}
	depart := func(ctx context.Context, name string) error { return waking{s}.depart(ctx, a, name) }
	s.recording.endAfterRecord(a, name, depart)
	return depart(ctx, name)
}

// lastSeen is an agent as far as this process knows it without the store.
func (s waking) lastSeen(agent string) dream.Agent {
	if existing, ok := s.wokenAgents.Load(agent); ok {
		return existing.(dream.Agent)
	}
	return dream.Agent{Handle: agent}
}

func (s waking) depart(ctx context.Context, a dream.Agent, name string) error {
	before, err := s.Presence.Status(ctx, a.ID, s.Now())
	if err != nil {
		return err
	}
	status, err := s.Presence.Depart(ctx, a.ID, name, s.Now(), s.Options.Settings.WakeLock)
	if err == nil {
		s.announceLeft(ctx, a.ID, status.Epoch)
	}
	if err != nil || len(status.Leases) > 0 && !before.Until().After(status.Until()) {
		return err
	}
	return s.lookAgain(ctx, a)
}

// Sleep lets an agent fall asleep although clients may be connected, for an operator.
func (s *Starter) Sleep(ctx context.Context, agent string) error {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return fmt.Errorf("let %s sleep: %w", agent, err)
	}
	s.recording.endAfterRecord(a, "", func(ctx context.Context, name string) error { return waking{s}.depart(ctx, a, name) })
	status, err := s.Presence.Dismiss(ctx, a.ID, s.Now())
	if err != nil {
		return err
	}
	waking{s}.announceLeft(ctx, a.ID, status.Epoch)
	return waking{s}.lookAgain(ctx, a)
}

// announceLeft tells every process that a lease was ended, so that those that rely on it ask the store. The notice is of the
// present epoch: it stops no activity. A process that does not get it asks within a second.
func (s waking) announceLeft(ctx context.Context, agent string, epoch int64) {
	if epoch > 0 {
		now := s.Now()
		_ = s.notify(ctx, presence.WakeNotice{Agent: agent, Epoch: epoch, At: now, Raised: now})
	}
}

// lookAgain signals the agent's workflow that a client left, in the background if it takes long. A lost signal is
// made up for by the workflow's check every two minutes.
func (s waking) lookAgain(ctx context.Context, a dream.Agent) error {
	if s.Client == nil {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	err := s.signalLeft(soon, a)
	if soon.Err() == nil {
		return err
	}
	s.recording.later(ctx, func(ctx context.Context) error { return s.signalLeft(ctx, a) })
	return ctx.Err()
}

func (s waking) signalLeft(ctx context.Context, a dream.Agent) error {
	return s.signalRunning(ctx, workflows.AgentID(a.Handle), workflows.SignalSleep, nil)
}

// Status is what holds an agent awake. An agent that this process has woken before needs no lookup.
func (s *Starter) Status(ctx context.Context, agent string) (presence.Status, error) {
	if existing, ok := s.wokenAgents.Load(agent); ok {
		return s.Presence.Status(ctx, existing.(dream.Agent).ID, s.Now())
	}
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return presence.Status{}, fmt.Errorf("agent %q: %w", agent, err)
	}
	return s.Presence.Status(ctx, a.ID, s.Now())
}

// AgentState queries the agent's workflow. memory.ErrNotFound when it does not run.
func (s *Starter) AgentState(ctx context.Context, handle string) (workflows.AgentState, error) {
	var state workflows.AgentState
	value, err := s.Client.QueryWorkflow(ctx, workflows.AgentID(handle), "", workflows.QueryAgentState)
	var refused *serviceerror.QueryFailed
	// refused by a worker that has just taken over the workflow within an update
	for again := 0; errors.As(err, &refused) && again < 2; again++ {
		value, err = s.Client.QueryWorkflow(ctx, workflows.AgentID(handle), "", workflows.QueryAgentState)
	}
	if err != nil {
		return state, fmt.Errorf("query the workflow of %s: %w", handle, err)
	}
	return state, value.Get(&state)
}

// Resume resumes the agent's interrupted dream. ErrNothing when there is none, ErrAwake and ErrDreaming when it may
// not run now.
func (s *Starter) Resume(ctx context.Context, agent string) (workflows.StartedDream, error) {
	var begun workflows.StartedDream
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return begun, fmt.Errorf("agent %q: %w", agent, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	handle, err := s.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.AgentID(a.Handle), UpdateName: workflows.UpdateResume,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, &begun)
	}
	var app *temporal.ApplicationError
	if notFound(err) || errors.As(err, &app) && app.Type() == workflows.NothingToResume {
		return begun, fmt.Errorf("%s: %w", a.Handle, ErrNothing)
	}
	return begun, explained(ctx, "resume the dream of "+a.Handle, err)
}
