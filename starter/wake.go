package starter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Connection is somebody who wants an agent awake.
type Connection struct {
	Agent   string // id or handle
	Client  string // names whoever comes; the same client renews its lease
	Cause   presence.Cause
	For     time.Duration // how long the lease holds; 0: the deployment's client_timeout, or alarm_hold for an alarm
	Trigger string        // of an alarm: "feed/rule"
}

// Woken is what whoever knocked goes on with.
type Woken struct {
	presence.Wake
	Raised   bool          // this knock woke the agent; otherwise it was awake already
	Degraded string        // what could not be done and is made good later; empty when all was done
	Took     time.Duration // from the call until the caller may go on

	agent dream.Agent
}

// The caller is answered within a second whatever is broken: a knock waits so long for the store, and so long for a
// bell that other processes hear; this one's deeds are stopped before.
const (
	storeWithin  = 600 * time.Millisecond
	noticeWithin = 200 * time.Millisecond
)

// Wake wakes an agent and returns as soon as the caller may go on: the raised epoch is durable, and the affect and
// digest that the client will see are fixed. The bell has been rung by then; the agent's workflow records the wake in
// the background (see Recorded). Where Temporal does not answer nothing waits for it. Where the store does not answer
// either, the agent's dreams in this process are stopped all the same, and the wake says what is missing.
func (s *Starter) Wake(ctx context.Context, k Connection) (Woken, error) {
	began := s.Now()
	if k.Client == "" {
		return Woken{}, errors.New("wake: client is empty; name whoever comes")
	}
	if k.Cause == "" {
		k.Cause = presence.Connect
	}
	agent, arrival, err := s.arrive(ctx, k, began)
	raised := s.Now()
	if errors.Is(err, memory.ErrNotFound) {
		return Woken{}, fmt.Errorf("wake %s: %w", k.Agent, err)
	}
	if err != nil {
		return s.blind(ctx, agent, k, began, err)
	}
	s.recording.stays(agent, k.Client)
	w := Woken{Wake: arrival.Wake, Raised: arrival.Raised, agent: agent}
	if arrival.Raised && !arrival.Notified {
		notice := presence.WakeNotice{
			Agent:  agent.ID,
			Epoch:  arrival.Epoch,
			Cause:  k.Cause,
			At:     began,
			Raised: raised,
		}
		if err := s.notify(ctx, notice); err != nil {
			w.Degraded = "the bell reached this process only: " + err.Error()
		}
	}
	w.Took = s.Now().Sub(began)
	if arrival.Raised {
		s.recording.add(ctx, s, agent, workflows.Wake{
			Epoch:   arrival.Epoch,
			Cause:   k.Cause,
			Client:  k.Client,
			At:      began,
			Raised:  raised,
			Trigger: k.Trigger,
			Hold:    s.holds(k),
			Told:    arrival.Dream,
		})
	} else if w.Joined(k.Cause) {
		s.join(ctx, agent, arrival.Epoch)
	}
	return w, nil
}

// arrive finds who is meant, and lets the visitor in. Whoever was woken keeps its handle for good (memory.ErrDreamt),
// so that one this process has woken before needs no looking up: the store refuses a visit to an agent of that name
// that is gone. The agent is answered as far as it is known, beside any error.
func (s *Starter) arrive(ctx context.Context, k Connection, now time.Time) (dream.Agent, presence.Arrival, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	visit := presence.Visit{
		Client: k.Client,
		Cause:  k.Cause,
		Now:    now,
		For:    s.holds(k),
		Lock:   s.Options.Settings.WakeLock,
		Notify: s.WakeBus != nil,
	}
	existing, seen := s.known.Load(k.Agent)
	if seen {
		agent := existing.(dream.Agent)
		visit.Agent, visit.Handle = agent.ID, agent.Handle
		arrival, err := s.Presence.Arrive(ctx, visit)
		if !errors.Is(err, memory.ErrNotFound) {
			return agent, arrival, err
		}
		s.known.Delete(k.Agent)
	}
	agent, err := s.Memory.Agent(ctx, k.Agent)
	if err != nil {
		return dream.Agent{Handle: k.Agent}, presence.Arrival{}, err
	}
	visit.Agent, visit.Handle = agent.ID, agent.Handle
	arrival, err := s.Presence.Arrive(ctx, visit)
	if err == nil {
		s.known.Store(k.Agent, agent)
	}
	return agent, arrival, err
}

// Alarm wakes an agent because of a trigger, "feed/rule"; it is the worker's activities.Alarms.
func (s *Starter) Alarm(ctx context.Context, agentID, trigger string) error {
	w, err := s.Wake(ctx,
		Connection{Agent: agentID, Client: "alarm/" + trigger, Cause: presence.Alarm, Trigger: trigger})
	if err == nil && w.Degraded != "" {
		err = errors.New(w.Degraded)
	}
	return err
}

func (s *Starter) notify(ctx context.Context, r presence.WakeNotice) error {
	if s.WakeBus == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noticeWithin)
	defer cancel()
	return s.WakeBus.Publish(ctx, r)
}

func (s *Starter) holds(k Connection) time.Duration {
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

// blind answers a knock whose store did not: the deeds of this process stop, the workflow is told, and it raises the
// epoch when the store is back. Of an agent that this process never met only the handle is known.
func (s *Starter) blind(ctx context.Context, agent dream.Agent, k Connection, began time.Time,
	cause error,
) (Woken, error) {
	if agent.ID != "" {
		_ = s.notify(context.WithoutCancel(ctx), presence.WakeNotice{
			Agent:  agent.ID,
			Epoch:  presence.EveryEpoch,
			Cause:  k.Cause,
			At:     began,
			Raised: s.Now(),
		})
	}
	s.recording.add(ctx, s, agent, workflows.Wake{
		Cause:   k.Cause,
		Client:  k.Client,
		At:      began,
		Trigger: k.Trigger,
		Hold:    s.holds(k),
	})
	w := Woken{ // nobody knows how the agent feels
		Wake: presence.Wake{Agent: agent.ID, Cause: k.Cause, Client: k.Client, At: began},
		Degraded: "the store does not answer (" + cause.Error() +
			"): nothing is recorded yet, and this process tells the agent's life for as long as it lives",
		Took: s.Now().Sub(began), agent: agent,
	}
	return w, ctx.Err()
}

// Recorded waits until the agent's workflow has recorded the wake of an epoch: the dream is put down, the agent awake.
// Epoch 0 is that of a wake which the store did not take; an agent that it could not tell then either is asked for by
// its handle.
func (s *Starter) Recorded(ctx context.Context, agentID string, epoch int64) (workflows.Awoken, error) {
	return s.recording.wait(ctx, agentID, epoch)
}

// sendWake tells the agent's life of a wake, and waits until the agent is awake.
func (s *Starter) sendWake(ctx context.Context, agent dream.Agent, w workflows.Wake) (workflows.Awoken, error) {
	var awoken workflows.Awoken
	if w.Told != "" {
		s.recording.gone.Go(func() { s.reportDream(ctx, w) })
	}
	o := client.UpdateWorkflowOptions{
		WorkflowID: workflows.AgentID(agent.Handle), UpdateName: workflows.UpdateWake, Args: []any{w},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	if w.Epoch > 0 {
		o.UpdateID = fmt.Sprintf("wake-%d", w.Epoch)
	}
	// most agents have a life, and starting one costs two steps of the server
	handle, err := s.Client.UpdateWorkflow(ctx, o)
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		newest, readErr := s.Memory.Agent(ctx, agent.ID)
		if errors.Is(readErr, memory.ErrNotFound) { // a removed agent gets no workflow again
			return awoken, fmt.Errorf("tell the life of %s that it is awake: %w", agent.Handle, readErr)
		}
		if readErr == nil {
			agent = newest // its life begins with what its record says now
		}
		handle, err = s.Client.UpdateWithStartWorkflow(ctx,
			client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: s.agentState(agent), UpdateOptions: o})
	}
	if err == nil {
		err = handle.Get(ctx, &awoken)
	}
	if err != nil {
		return awoken, fmt.Errorf("tell the life of %s that it is awake: %w", agent.Handle, sealed(err))
	}
	return awoken, nil
}

// reportDream tells a dream of the wake that interrupts it, beside the agent's life, which would come to do so two
// steps of the server later. Once the wake is recorded it is of no use, and what does not arrive the agent's life tells
// after all.
func (s *Starter) reportDream(ctx context.Context, w workflows.Wake) {
	id := w.Told
	w.Told = ""
	_ = s.Client.SignalWorkflow(ctx, id, "", workflows.SignalWake, w)
}

// Leave ends a client's lease, and tells the agent's life to look when it was the last one, or the one that would have
// lasted longest: the life waits for as long as it had heard of.
func (s *Starter) Leave(ctx context.Context, agent, name string) error {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil { // a wake that is not told yet is left all the same, when the store is back
		s.recording.left(s.met(agent), name, func(ctx context.Context, name string) error {
			a, err := s.Memory.Agent(ctx, agent)
			if err != nil {
				return err
			}
			return s.depart(ctx, a, name)
		})
		return fmt.Errorf("leave %s: %w", agent, err)
	}
	depart := func(ctx context.Context, name string) error { return s.depart(ctx, a, name) }
	s.recording.left(a, name, depart)
	return depart(ctx, name)
}

// met is an agent as far as this process knows it without the store.
func (s *Starter) met(agent string) dream.Agent {
	if existing, ok := s.known.Load(agent); ok {
		return existing.(dream.Agent)
	}
	return dream.Agent{Handle: agent}
}

func (s *Starter) depart(ctx context.Context, a dream.Agent, name string) error {
	before, err := s.Presence.Status(ctx, a.ID, s.Now())
	if err != nil {
		return err
	}
	status, err := s.Presence.Depart(ctx, a.ID, name, s.Now(), s.Options.Settings.WakeLock)
	if err != nil || len(status.Leases) > 0 && !before.Until().After(status.Until()) {
		return err
	}
	return s.lookAgain(ctx, a)
}

// Sleep lets an agent fall asleep although somebody may be connected, by the word of an operator.
func (s *Starter) Sleep(ctx context.Context, agent string) error {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return fmt.Errorf("let %s sleep: %w", agent, err)
	}
	s.recording.left(a, "", func(ctx context.Context, name string) error { return s.depart(ctx, a, name) })
	if _, err := s.Presence.Dismiss(ctx, a.ID, s.Now()); err != nil {
		return err
	}
	return s.lookAgain(ctx, a)
}

// lookAgain tells a life that somebody left. Where that takes longer it goes on in the background; a life that cannot
// be told at all finds out by itself, as it looks every two minutes.
func (s *Starter) lookAgain(ctx context.Context, a dream.Agent) error {
	if s.Client == nil {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	err := s.left(soon, a)
	if soon.Err() == nil {
		return err
	}
	s.recording.later(ctx, func(ctx context.Context) error { return s.left(ctx, a) })
	return ctx.Err()
}

func (s *Starter) left(ctx context.Context, a dream.Agent) error {
	err := s.Client.SignalWorkflow(ctx, workflows.AgentID(a.Handle), "", workflows.SignalSleep, nil)
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return nil
	}
	return err
}

// Status tells who holds an agent awake. One that this process has woken before needs no looking up.
func (s *Starter) Status(ctx context.Context, agent string) (presence.Status, error) {
	if existing, ok := s.known.Load(agent); ok {
		return s.Presence.Status(ctx, existing.(dream.Agent).ID, s.Now())
	}
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return presence.Status{}, fmt.Errorf("agent %q: %w", agent, err)
	}
	return s.Presence.Status(ctx, a.ID, s.Now())
}

// AgentState asks an agent's workflow where it stands. memory.ErrNotFound when the agent has no life yet.
func (s *Starter) AgentState(ctx context.Context, handle string) (workflows.AgentState, error) {
	var l workflows.AgentState
	value, err := s.Client.QueryWorkflow(ctx, workflows.AgentID(handle), "", workflows.QueryAgentState)
	var refused *serviceerror.QueryFailed
	// by a worker that has just taken it over, with an Update half told
	for again := 0; errors.As(err, &refused) && again < 2; again++ {
		value, err = s.Client.QueryWorkflow(ctx, workflows.AgentID(handle), "", workflows.QueryAgentState)
	}
	if err != nil {
		return l, fmt.Errorf("ask the life of %s where it stands: %w", handle, err)
	}
	return l, value.Get(&l)
}

// Resume lets the agent's interrupted dream go on. ErrNothing when none waits, ErrAwake and ErrDreaming when it may not
// now.
func (s *Starter) Resume(ctx context.Context, agent string) (workflows.Begun, error) {
	var begun workflows.Begun
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
	var notFound *serviceerror.NotFound
	switch {
	case err == nil:
		return begun, nil
	case errors.As(err, &notFound), errors.As(err, &app) && app.Type() == workflows.NothingToResume:
		return begun, fmt.Errorf("%s: %w", a.Handle, ErrNothing)
	case errors.As(err, &app) && app.Type() == workflows.AlreadyDreaming:
		return begun, fmt.Errorf("%w: %s", ErrDreaming, app.Message())
	case errors.As(err, &app) && app.Type() == workflows.HeldAwake:
		return begun, fmt.Errorf("%w: %s", ErrAwake, app.Message())
	case ctx.Err() != nil, unanswered(err):
		return begun,
			fmt.Errorf("resume the dream of %s: %w within %s; is a worker running?", a.Handle, ErrUnreachable,
				answerWithin)
	}
	return begun, fmt.Errorf("resume the dream of %s: %w", a.Handle, sealed(err))
}
