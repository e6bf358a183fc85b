package starter

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Options are the settings of a deployment for every dream.
type Options struct {
	TaskQueue  string
	Models     map[dream.Role]string
	Knobs      dream.Knobs
	FleetDay   budget.Micros // daily cap of all agents together
	Settings   workflows.Settings
	AutoPaid   bool // automatic dreams may cost money; off by default
	Searchable bool // the cluster has our search attributes
	// Interruptions reports whether it has the one of the days on which dreams were interrupted, too.
	Interruptions bool
	Cluster       string // id of the cluster and namespace; empty when unknown

	Review dream.Review // the review mode of agents that have none of their own

	Hooks       []activities.HookRule   // hooks called at the borders of a dream
	Policy      *policy.Rules           // what dreams may not develop; nil: policy.Default
	AgentPolicy map[string]policy.Rules // additional rules by agent handle

	ResumeTTL  time.Duration         // how long an interrupted dream may be resumed
	Thresholds *circadian.Thresholds // of vitality; nil: circadian.DefaultThresholds

	Predictions dream.PredictionRules // whose words resolve predictions, and what a model may judge
}

// Starter is the typed client of the workflows. It must not be copied after its first wake; use With instead.
type Starter struct {
	Client  client.Client
	Memory  memory.DreamStore
	Catalog inference.Catalog
	Options Options
	Now     func() time.Time

	Presence presence.Store
	WakeBus  presence.WakeBus
	Ledger   spend.Ledger // money left limits the depth of dreams; nil: no limit
	Guard    *spend.Guard // of the same ledger; nil: no model judges predictions
	Feeds    memory.Feeds
	Remover  memory.Remover // of the same store as Memory; nil: Remove is refused

	wokenAgents sync.Map // dream.Agent by the id or handle under which this process woke it or began its dream
	recording   recorder
	looks       looker
	joined      sync.Map // epoch (int64) by agent id: the last one for which join reported a client to the workflow
}

// With is a starter of the same deployment with other options.
func (s *Starter) With(edit func(*Options)) *Starter {
	other := &Starter{
		Client:   s.Client,
		Memory:   s.Memory,
		Catalog:  s.Catalog,
		Options:  s.Options,
		Now:      s.Now,
		Presence: s.Presence,
		WakeBus:  s.WakeBus,
		Ledger:   s.Ledger,
		Guard:    s.Guard,
		Feeds:    s.Feeds,
		Remover:  s.Remover,
	}
	edit(&other.Options)
	return other
}

// drafter completes requests for dreams and sends them.
type drafter struct{ *Starter }

// waking grants and ends the leases of clients, and reports wakes to workflows.
type waking struct{ *Starter }

// removal ends the workflows of a removed agent.
type removal struct{ *Starter }

// Failures that callers branch on.
var (
	ErrDreaming    = errors.New("already dreaming")
	ErrAwake       = errors.New("awake")
	ErrNothing     = errors.New("nothing to resume")
	ErrUnreachable = errors.New("no worker or server answered")
)

// answerWithin limits how long Begin waits for the agent's workflow, and afterwards how long withdraw may take.
const answerWithin = 20 * time.Second

// Begin starts a dream, and the agent's workflow if it does not run. If the last dream is just ending, it waits for
// that up to 3 s. ErrDreaming when the agent is dreaming, ErrUnreachable when no worker answers within 20 s.
func (s *Starter) Begin(ctx context.Context, w DreamRequest) (workflows.StartedDream, error) {
	d, err := drafter{s}.check(ctx, w)
	if err != nil {
		return workflows.StartedDream{}, err
	}
	return drafter{s}.begin(ctx, d)
}

func (s drafter) begin(ctx context.Context, d checkedRequest) (workflows.StartedDream, error) {
	if err := s.awaitLastDream(ctx, d.agent); err != nil {
		return workflows.StartedDream{}, err
	}
	if slots, err := s.Memory.Slots(ctx); err != nil {
		return workflows.StartedDream{}, err
	} else if held, ok := slots[d.agent.ID]; ok {
		if activities.Elsewhere(held.Cluster, s.Options.Cluster) {
			return workflows.StartedDream{},
				fmt.Errorf("%s: %w %s on another Temporal cluster, %s; if that one is gone for good, %s",
					d.agent.Handle, ErrDreaming, held.Dream, held.Cluster, activities.Abandoning(held.Dream))
		}
		if running, err := s.Executions().Running(ctx, held.Workflow, held.Run); err == nil && running {
			return workflows.StartedDream{}, fmt.Errorf("%s: %w %s", d.agent.Handle, ErrDreaming, held.Dream)
		}
	}
	spec, err := s.createDream(ctx, d)
	if err != nil {
		return workflows.StartedDream{}, err
	}
	begun, err := s.send(ctx, d.agent, spec)
	if err != nil {
		return begun, errors.Join(err, s.withdraw(ctx, spec, err))
	}
	return begun, nil
}

// Freeze makes the spec of a dream without beginning it, for a caller that starts the workflow by hand under the
// dream's id. It writes the dream's record, which is closed if no such workflow runs after five minutes.
func (s *Starter) Freeze(ctx context.Context, w DreamRequest) (activities.Spec, error) {
	d, err := drafter{s}.check(ctx, w)
	if err != nil {
		return activities.Spec{}, err
	}
	return drafter{s}.createDream(ctx, d)
}

// send requests a dream from the agent's workflow.
func (s drafter) send(ctx context.Context, agent dream.Agent, spec activities.Spec) (workflows.StartedDream, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	// not the dream's id alone: the agent's workflow may have answered for another dream of that id, which the store
	// has lost
	updateID := spec.Dream + "/" + rand.Text()
	begun, err := s.updateOnce(ctx, agent, spec, updateID)
	var notReady *serviceerror.WorkflowNotReady
	for errors.As(err, &notReady) && ctx.Err() == nil {
		select {
		case <-time.After(askAgain):
			begun, err = s.updateOnce(ctx, agent, spec, updateID)
		case <-ctx.Done():
		}
	}
	return begun, explained(ctx, "begin "+spec.Dream, err)
}

// explained says why an agent's workflow does not let a dream begin or go on.
func explained(ctx context.Context, doing string, err error) error {
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &app) && app.Type() == workflows.AlreadyDreaming:
		return fmt.Errorf("%w: %s", ErrDreaming, app.Message())
	case errors.As(err, &app) && app.Type() == workflows.HeldAwake:
		return fmt.Errorf("%w: %s", ErrAwake, app.Message())
	case ctx.Err() != nil, timedOut(err):
		return fmt.Errorf("%s: %w within %s; is a worker running?", doing, ErrUnreachable, answerWithin)
	}
	return fmt.Errorf("%s: %w", doing, sealed(err))
}

// askAgain is the pause before a workflow is asked again whose task has failed several times, as when its workers were
// killed one after another. The server refuses updates until the task succeeds.
const askAgain = 200 * time.Millisecond

// updateOnce sends the update that begins a dream. Sending it again under the same id has no further effect.
func (s drafter) updateOnce(
	ctx context.Context, agent dream.Agent, spec activities.Spec, updateID string,
) (workflows.StartedDream, error) {
	var begun workflows.StartedDream
	handle, err := s.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: waking(s).startAgent(agent),
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: updateID, UpdateName: workflows.UpdateDream, Args: []any{spec},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err == nil {
		err = handle.Get(ctx, &begun)
	}
	return begun, err
}

// sealed explains an error that could not be decrypted; the SDK says only that it is encoded.
func sealed(err error) error {
	if err != nil && strings.Contains(err.Error(), "Encoded failure") {
		return fmt.Errorf(
			"the answer is sealed with a key that this process does not have (seal.keys_file, seal.keys_env): %w", err)
	}
	return err
}

// timedOut says whether the server gave up waiting for a worker before we did.
func timedOut(err error) bool {
	var late *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &late)
}

// startAgent is the operation that starts the agent's workflow if it does not run.
func (s waking) startAgent(agent dream.Agent) client.WithStartWorkflowOperation {
	start := s.Options.agentWorkflow(agent)
	start.ID = workflows.AgentID(agent.Handle)
	start.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	return s.Client.NewWithStartWorkflowOperation(start, workflows.AgentType, s.Options.agentRequest(agent))
}

// signalAgent signals the agent's workflow, starting it if needed. An agent that was removed after it was read gets no
// new workflow.
func (s waking) signalAgent(ctx context.Context, agent dream.Agent, signal string, arg any) error {
	if _, err := s.Memory.Agent(ctx, agent.ID); errors.Is(err, memory.ErrRemoved) {
		return err // an unreachable store is reported elsewhere
	}
	_, err := s.Client.SignalWithStartWorkflow(ctx, workflows.AgentID(agent.Handle), signal, arg,
		s.Options.agentWorkflow(agent), workflows.AgentType, s.Options.agentRequest(agent))
	return err
}

// signalRunning signals a workflow; one that does not run needs no signal.
func (s *Starter) signalRunning(ctx context.Context, id, signal string, arg any) error {
	return signalRunning(ctx, s.Client, id, signal, arg)
}

func signalRunning(ctx context.Context, c client.Client, id, signal string, arg any) error {
	err := c.SignalWorkflow(ctx, id, "", signal, arg)
	if notFound(err) {
		return nil
	}
	return err
}

// notFound says whether Temporal knows no such workflow, or none that runs.
func notFound(err error) bool {
	var absent *serviceerror.NotFound
	return errors.As(err, &absent)
}

// workflow are the options that every workflow of an agent or a feed starts with.
func (o Options) workflow(summary string, memo map[string]any) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		TaskQueue: o.queue(), WorkflowTaskTimeout: workflows.TaskTimeout, StaticSummary: summary, Memo: memo,
	}
}

func (o Options) agentWorkflow(agent dream.Agent) client.StartWorkflowOptions {
	return o.workflow("agent "+agent.Handle, workflows.AgentMemo(agent))
}

func (o Options) agentRequest(agent dream.Agent) workflows.AgentRequest {
	return workflows.AgentRequest{Agent: agent.ID, Handle: agent.Handle, Settings: o.settings(agent)}
}

func (o Options) queue() string { return cmp.Or(o.TaskQueue, workflows.TaskQueue) }

// withdraw closes the record of a dream whose request failed. A dream that has begun all the same, because only its
// answer was late or lost, keeps its record.
func (s drafter) withdraw(ctx context.Context, spec activities.Spec, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	for {
		record, err := memory.One[*dream.Record](ctx, s.Memory, spec.Agent, spec.Dream)
		if err != nil || record.Run != "" || record.Outcome != dream.Dreaming {
			return err
		}
		record.Outcome, record.Reason, record.Ended = dream.Canceled, "it was never begun: "+cause.Error(),
			s.Now().UTC()
		_, err = s.Memory.Commit(ctx, memory.Write{Agent: spec.Agent, Cause: spec.Dream, Change: []dream.Item{record}})
		if !errors.Is(err, memory.ErrStale) {
			return err
		}
		// The record was changed after it was read: the dream may have begun in between, so it is read again.
	}
}

// tryAgain is the delay before an automatic dream is planned again when the store or Temporal was unreachable.
const tryAgain = time.Minute

// settings are the deployment's settings combined with the agent's.
func (o Options) settings(agent dream.Agent) workflows.Settings {
	settings := o.Settings
	settings.Auto = settings.Auto || agent.Auto
	settings.Searchable = o.Searchable
	if settings.TryAgain == 0 {
		settings.TryAgain = tryAgain
	}
	if agent.Triggers != nil {
		settings.Triggers, settings.Zone = agent.Triggers, agent.Zone
	}
	return settings
}

// EnsureWorkflow starts the agent's workflow if it does not run, and sends it the current settings.
func (s *Starter) EnsureWorkflow(ctx context.Context, agent dream.Agent) error {
	err := waking{s}.signalAgent(ctx, agent, workflows.SignalSettings, s.Options.settings(agent))
	if err != nil {
		return fmt.Errorf("start the workflow of %s: %w", agent.Handle, err)
	}
	return nil
}

// Active reports to the agent's workflow that the agent was used at a time, from which idleness is counted. Without a
// running workflow it does nothing.
func (s *Starter) Active(ctx context.Context, handle string, when time.Time) error {
	return s.signalRunning(ctx, workflows.AgentID(handle), workflows.SignalActive, when)
}

// Cancel ends a dream with its results so far. memory.ErrNotFound when it does not run.
func (s *Starter) Cancel(ctx context.Context, dreamID string) error {
	err := s.Client.CancelWorkflow(ctx, dreamID, "")
	if notFound(err) {
		return fmt.Errorf("dream %s does not run: %w", dreamID, memory.ErrNotFound)
	}
	return err
}

// Progress queries the progress of a running dream.
func (s *Starter) Progress(ctx context.Context, dreamID string) (workflows.Progress, error) {
	var p workflows.Progress
	value, err := s.Client.QueryWorkflow(ctx, dreamID, "", workflows.QueryProgress)
	if err != nil {
		return p, fmt.Errorf("query the workflow %s: %w", dreamID, err)
	}
	return p, value.Get(&p)
}

// Plan makes the spec of an automatic dream, or returns the reason why the agent may not dream now. It is the worker's
// activities.Planner. The only thing it writes is the counter of dreams: a number that was planned is not used again.
func (s *Starter) Plan(ctx context.Context, agent string, now time.Time) (
	planned activities.Spec, reason string, err error,
) {
	w := DreamRequest{Agent: agent}
	if now.After(s.Now()) { // a test server that skips idle time is ahead of our clock
		w.AsOf = now
	}
	d, err := drafter{s}.check(ctx, w)
	if errors.Is(err, memory.ErrAway) || errors.Is(err, memory.ErrUnwritable) { // not a reason against the dream: it is planned again
		return activities.Spec{}, "", err
	}
	if err != nil {
		return activities.Spec{}, err.Error(), nil
	}
	if !d.spec.Free && !s.Options.AutoPaid {
		return activities.Spec{}, "its models cost money, and automatic dreaming on a paid provider is switched off",
			nil
	}
	err = drafter{s}.followYield(ctx, &d.spec)
	if err != nil {
		return activities.Spec{}, "", err
	}
	spec, err := drafter{s}.nextSpec(ctx, d)
	spec.Alone = true
	return spec, "", err
}

// FleetDay is the cap of all agents together in one day.
func (s *Starter) FleetDay() budget.Micros { return s.Options.FleetDay }

// runningAgents is a query of Temporal's visibility for the workflows of agents on this deployment's task queue.
func (o Options) runningAgents() string {
	return fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = %q AND TaskQueue = %q", workflows.AgentType, "Running",
		o.queue())
}

// CountAgents returns how many workflows of agents run.
func (s *Starter) CountAgents(ctx context.Context) (int64, error) {
	found, err := s.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: s.Options.runningAgents()})
	return found.GetCount(), err
}

// RunningAgentWorkflows returns the ids of the running workflows of agents. Temporal's visibility may lag by some
// seconds.
func (s *Starter) RunningAgentWorkflows(ctx context.Context) (map[string]bool, error) {
	running := map[string]bool{}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: workflows.ListedAtOnce, Query: s.Options.runningAgents(),
	}
	for {
		page, err := s.Client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			running[e.GetExecution().GetWorkflowId()] = true
		}
		request.NextPageToken = page.GetNextPageToken()
		if len(request.NextPageToken) == 0 {
			return running, nil
		}
	}
}

// Running reports whether a workflow runs.
func (s *Starter) Running(ctx context.Context, workflow string) (bool, error) {
	return s.Executions().Running(ctx, workflow, "")
}

// Executions reads the state of workflows in the starter's cluster.
func (s *Starter) Executions() Executions {
	return Executions{Client: s.Client, Cluster: s.Options.Cluster}
}

var _ activities.Planner = (*Starter)(nil)
