package starter

import (
	"context"
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
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/spend"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Options are the settings of a deployment for every dream.
type Options struct {
	TaskQueue  string
	Models     map[dream.Role]string
	Knobs      dream.Knobs
	FleetDay   budget.Micros // daily cap of all agents together
	Settings   workflows.Settings
	AutoPaid   bool   // automatic dreams may cost money; off by default
	Searchable bool   // the cluster has our search attributes
	Cluster    string // id of the cluster and namespace; empty when unknown

	Review dream.Review // the review mode of agents that have none of their own

	Hooks       []activities.HookRule   // hooks called at the borders of a dream
	Policy      *policy.Rules           // what dreams may not develop; nil: policy.Default
	AgentPolicy map[string]policy.Rules // additional rules by agent handle

	ResumeTTL  time.Duration         // how long an interrupted dream may be resumed
	Thresholds *circadian.Thresholds // of vitality; nil: circadian.DefaultThresholds
}

// Starter is the typed client of the workflows. It must not be copied after its first wake; use With instead.
type Starter struct {
	Client  client.Client
	Memory  memory.Store
	Catalog inference.Catalog
	Options Options
	Now     func() time.Time

	Presence presence.Store
	WakeBus  presence.WakeBus
	Ledger   spend.Ledger // money left limits the depth of dreams; nil: no limit
	Feeds    memory.Feeds

	wokenAgents sync.Map // agents that were woken by this process, by the name used
	recording   recorder
	joined      sync.Map // by agent, the newest epoch for which a joining client was reported
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
		Feeds:    s.Feeds,
	}
	edit(&other.Options)
	return other
}

// Failures that callers branch on.
var (
	ErrDreaming    = errors.New("already dreaming")
	ErrAwake       = errors.New("awake")
	ErrNothing     = errors.New("nothing to resume")
	ErrUnreachable = errors.New("no worker or server answered")
)

// answerWithin limits how long Begin waits for the agent's workflow.
const answerWithin = 20 * time.Second

// Begin starts a dream, and the agent's workflow if it does not run. If the last dream is just ending, it waits for
// that up to 3 s. ErrDreaming when the agent is dreaming, ErrUnreachable when no worker answers within 20 s.
func (s *Starter) Begin(ctx context.Context, w DreamRequest) (workflows.Begun, error) {
	d, err := s.draft(ctx, w)
	if err != nil {
		return workflows.Begun{}, err
	}
	return s.begin(ctx, d)
}

func (s *Starter) begin(ctx context.Context, d draft) (workflows.Begun, error) {
	if err := s.awaitLastDream(ctx, d.agent); err != nil {
		return workflows.Begun{}, err
	}
	if slots, err := s.Memory.Slots(ctx); err != nil {
		return workflows.Begun{}, err
	} else if held, ok := slots[d.agent.ID]; ok {
		if held.Cluster != "" && held.Cluster != s.Options.Cluster {
			return workflows.Begun{},
				fmt.Errorf("%s: %w %s on another Temporal cluster, %s; if that one is gone for good, abandon the dream",
					d.agent.Handle, ErrDreaming, held.Dream, held.Cluster)
		}
		if running, err := s.Executions().Running(ctx, held.Workflow, held.Run); err == nil && running {
			return workflows.Begun{}, fmt.Errorf("%s: %w %s", d.agent.Handle, ErrDreaming, held.Dream)
		}
	}
	spec, err := s.freeze(ctx, d)
	if err != nil {
		return workflows.Begun{}, err
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
	d, err := s.draft(ctx, w)
	if err != nil {
		return activities.Spec{}, err
	}
	return s.freeze(ctx, d)
}

// send requests a dream from the agent's workflow.
func (s *Starter) send(ctx context.Context, agent dream.Agent, spec activities.Spec) (workflows.Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var begun workflows.Begun
	handle, err := s.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: s.startAgent(agent),
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: spec.Dream, UpdateName: workflows.UpdateDream, Args: []any{spec},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err == nil {
		err = handle.Get(ctx, &begun)
	}
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return begun, nil
	case errors.As(err, &app) && app.Type() == workflows.AlreadyDreaming:
		return begun, fmt.Errorf("%w: %s", ErrDreaming, app.Message())
	case errors.As(err, &app) && app.Type() == workflows.HeldAwake:
		return begun, fmt.Errorf("%w: %s", ErrAwake, app.Message())
	case ctx.Err() != nil, timedOut(err):
		return begun,
			fmt.Errorf("begin %s: %w within %s; is a worker running?", spec.Dream, ErrUnreachable, answerWithin)
	}
	return begun, fmt.Errorf("begin %s: %w", spec.Dream, sealed(err))
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
func (s *Starter) startAgent(agent dream.Agent) client.WithStartWorkflowOperation {
	return s.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: workflows.AgentID(agent.Handle), TaskQueue: s.queue(),
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowTaskTimeout:      workflows.TaskTimeout,
		StaticSummary:            "agent " + agent.Handle,
		Memo:                     workflows.AgentMemo(agent),
	}, workflows.AgentType, workflows.AgentRequest{Agent: agent.ID, Handle: agent.Handle, Settings: s.settings(agent)})
}

func (s *Starter) queue() string {
	if s.Options.TaskQueue != "" {
		return s.Options.TaskQueue
	}
	return workflows.TaskQueue
}

// withdraw closes the record of a dream that could not be begun, unless it began without an answer in time.
func (s *Starter) withdraw(ctx context.Context, spec activities.Spec, cause error) error {
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
		if !errors.Is(err, memory.ErrStale) { // it began after it was read
			return err
		}
	}
}

// tryAgain is the delay before an automatic dream is planned again when the store or Temporal was unreachable.
const tryAgain = time.Minute

// settings are the deployment's settings combined with the agent's.
func (s *Starter) settings(agent dream.Agent) workflows.Settings {
	settings := s.Options.Settings
	settings.Auto = settings.Auto || agent.Auto
	settings.Searchable = s.Options.Searchable
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
	settings := s.settings(agent)
	if err := s.present(ctx, agent); err != nil {
		return err
	}
	_, err := s.Client.SignalWithStartWorkflow(ctx, workflows.AgentID(agent.Handle), workflows.SignalSettings, settings,
		client.StartWorkflowOptions{
			TaskQueue:           s.queue(),
			WorkflowTaskTimeout: workflows.TaskTimeout,
			StaticSummary:       "agent " + agent.Handle,
			Memo:                workflows.AgentMemo(agent),
		},
		workflows.AgentType, workflows.AgentRequest{Agent: agent.ID, Handle: agent.Handle, Settings: settings})
	if err != nil {
		return fmt.Errorf("start the workflow of %s: %w", agent.Handle, err)
	}
	return nil
}

// Active reports to the agent's workflow that the agent was used: idleness counts from when.
func (s *Starter) Active(ctx context.Context, handle string, when time.Time) error {
	err := s.Client.SignalWorkflow(ctx, workflows.AgentID(handle), "", workflows.SignalActive, when)
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return nil // without a workflow nothing counts idleness
	}
	return err
}

// Cancel ends a dream with its results so far. memory.ErrNotFound when it does not run.
func (s *Starter) Cancel(ctx context.Context, dreamID string) error {
	err := s.Client.CancelWorkflow(ctx, dreamID, "")
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
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

// Plan makes the spec of an automatic dream; it is the worker's activities.Planner. It writes nothing, except that
// the number of an abandoned plan is not used again.
func (s *Starter) Plan(ctx context.Context, agent string, now time.Time) (activities.Spec, string, error) {
	w := DreamRequest{Agent: agent}
	if now.After(s.Now()) { // a test server that skips idle time is ahead of our clock
		w.AsOf = now
	}
	d, err := s.draft(ctx, w)
	if errors.Is(err, memory.ErrAway) { // not a reason against the dream: it is planned again
		return activities.Spec{}, "", err
	}
	if err != nil {
		return activities.Spec{}, err.Error(), nil
	}
	if !d.spec.Free && !s.Options.AutoPaid {
		return activities.Spec{}, "its models cost money, and automatic dreaming on a paid provider is switched off",
			nil
	}
	spec, err := s.number(ctx, d)
	spec.Alone = true
	return spec, "", err
}

// FleetDay is the cap of all agents together in one day.
func (s *Starter) FleetDay() budget.Micros { return s.Options.FleetDay }

// runningAgents is a query of Temporal's visibility for the workflows of agents on this deployment's task queue.
func (s *Starter) runningAgents() string {
	return fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = %q AND TaskQueue = %q", workflows.AgentType, "Running",
		s.queue())
}

// CountAgents returns how many workflows of agents run.
func (s *Starter) CountAgents(ctx context.Context) (int64, error) {
	found, err := s.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: s.runningAgents()})
	return found.GetCount(), err
}

// RunningAgents returns the ids of the running workflows of agents. Temporal's visibility may lag by some seconds.
func (s *Starter) RunningAgents(ctx context.Context) (map[string]bool, error) {
	running := map[string]bool{}
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000, Query: s.runningAgents()}
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

// Executions reads the state of workflows in the starter's cluster.
func (s *Starter) Executions() Executions {
	return Executions{Client: s.Client, Cluster: s.Options.Cluster}
}

// Executions reads the state of workflows on the server.
type Executions struct {
	Client  client.Client
	Cluster string // id of the cluster and namespace; empty when unknown
}

// ClusterID names the cluster and namespace.
func (l Executions) ClusterID() string { return l.Cluster }

// Running is false when the run has closed or does not exist.
func (l Executions) Running(ctx context.Context, workflow, run string) (bool, error) {
	if workflow == "" {
		return false, nil
	}
	d, err := l.Client.DescribeWorkflowExecution(ctx, workflow, run)
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe %s: %w", workflow, err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

var (
	_ activities.Executions = Executions{}
	_ activities.Planner    = (*Starter)(nil)
)
