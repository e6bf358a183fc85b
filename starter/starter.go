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

// Options are what a deployment gives to every dream.
type Options struct {
	TaskQueue  string
	Models     map[dream.Role]string
	Knobs      dream.Knobs
	FleetDay   budget.Micros // cap of all agents together, a day
	Settings   workflows.Settings
	AutoPaid   bool   // automatic dreams may spend money (Z13: off until switched on)
	Searchable bool   // the cluster has our search attributes
	Cluster    string // id of the cluster and namespace; empty when it is not known

	Review dream.Review // what becomes of what dreams leave behind, of agents that have no way of their own

	Hooks       []activities.HookRule   // who is asked at the borders of a dream
	Policy      *policy.Rules           // what no dream may develop; nil: policy.Default
	AgentPolicy map[string]policy.Rules // what is added for an agent, by handle

	ResumeTTL  time.Duration         // how long an interrupted dream may go on
	Thresholds *circadian.Thresholds // of vitality; nil: circadian.DefaultThresholds
}

// Starter is the typed client of the workflows. It must not be copied after its first wake; With makes another.
type Starter struct {
	Client  client.Client
	Memory  memory.Store
	Catalog inference.Catalog
	Options Options
	Now     func() time.Time

	Presence presence.Store
	WakeBus  presence.WakeBus
	Ledger   spend.Ledger // what an agent has left bounds how deep it dreams; nil: it is taken to thrive
	Feeds    memory.Feeds

	known     sync.Map // agents that were woken here, by what they were called
	recording recorder
	joined    sync.Map // by agent, the newest epoch of which its life was told that somebody joined it
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

// answerWithin bounds how long Begin waits for the agent's life to answer.
const answerWithin = 20 * time.Second

// Begin starts a dream of the agent, and the agent's life if it has none yet. ErrDreaming when it dreams already, and
// not only rises from a dream that is over: that is waited for, up to 3 s. ErrUnreachable when nobody answers within 20
// s after that.
func (s *Starter) Begin(ctx context.Context, w DreamRequest) (workflows.Begun, error) {
	d, err := s.draft(ctx, w)
	if err != nil {
		return workflows.Begun{}, err
	}
	return s.begin(ctx, d)
}

func (s *Starter) begin(ctx context.Context, d draft) (workflows.Begun, error) {
	if err := s.risen(ctx, d.agent); err != nil {
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

// Freeze makes the order of a dream without beginning it, for a caller that starts the workflow by hand, under the id
// of the dream. It opens the record of the night; when no such workflow runs five minutes later, the record is closed.
func (s *Starter) Freeze(ctx context.Context, w DreamRequest) (activities.Spec, error) {
	d, err := s.draft(ctx, w)
	if err != nil {
		return activities.Spec{}, err
	}
	return s.freeze(ctx, d)
}

// send asks the agent's life to begin an order.
func (s *Starter) send(ctx context.Context, agent dream.Agent, spec activities.Spec) (workflows.Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var begun workflows.Begun
	handle, err := s.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: s.agentState(agent),
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
	case ctx.Err() != nil, unanswered(err):
		return begun,
			fmt.Errorf("begin %s: %w within %s; is a worker running?", spec.Dream, ErrUnreachable, answerWithin)
	}
	return begun, fmt.Errorf("begin %s: %w", spec.Dream, sealed(err))
}

// sealed says of an answer that could not be opened what is missing: the SDK shows only that it is encoded.
func sealed(err error) error {
	if err != nil && strings.Contains(err.Error(), "Encoded failure") {
		return fmt.Errorf(
			"the answer is sealed with a key that this process does not have (seal.keys_file, seal.keys_env): %w", err)
	}
	return err
}

// unanswered says that the server gave up waiting for a worker before we did.
func unanswered(err error) bool {
	var late *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &late)
}

func (s *Starter) agentState(agent dream.Agent) client.WithStartWorkflowOperation {
	return s.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: workflows.AgentID(agent.Handle), TaskQueue: s.queue(),
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowTaskTimeout:      workflows.TaskTimeout,
		StaticSummary:            "the life of " + agent.Handle,
		Memo:                     workflows.AgentMemo(agent),
	}, workflows.AgentType, workflows.AgentRequest{Agent: agent.ID, Handle: agent.Handle, Settings: s.settings(agent)})
}

func (s *Starter) queue() string {
	if s.Options.TaskQueue != "" {
		return s.Options.TaskQueue
	}
	return workflows.TaskQueue
}

// withdraw closes the record of a dream that could not be begun, unless it did begin, although nobody said so in time.
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
		if !errors.Is(err, memory.ErrStale) { // it lay down since it was read
			return err
		}
	}
}

// tryAgain is how long after a plan that failed, because the store or Temporal was away, a dream by itself is planned
// again.
const tryAgain = time.Minute

// settings are the deployment's, and what the agent's record adds to them.
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

// Live starts the agent's life if it has none, and gives it the deployment's settings.
func (s *Starter) Live(ctx context.Context, agent dream.Agent) error {
	settings := s.settings(agent)
	if err := s.present(ctx, agent); err != nil {
		return err
	}
	_, err := s.Client.SignalWithStartWorkflow(ctx, workflows.AgentID(agent.Handle), workflows.SignalSettings, settings,
		client.StartWorkflowOptions{
			TaskQueue:           s.queue(),
			WorkflowTaskTimeout: workflows.TaskTimeout,
			StaticSummary:       "the life of " + agent.Handle,
			Memo:                workflows.AgentMemo(agent),
		},
		workflows.AgentType, workflows.AgentRequest{Agent: agent.ID, Handle: agent.Handle, Settings: settings})
	if err != nil {
		return fmt.Errorf("start the life of %s: %w", agent.Handle, err)
	}
	return nil
}

// Active tells the agent's life that somebody used the agent: idleness counts from when.
func (s *Starter) Active(ctx context.Context, handle string, when time.Time) error {
	err := s.Client.SignalWorkflow(ctx, workflows.AgentID(handle), "", workflows.SignalActive, when)
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return nil // it has no life yet that could fall asleep
	}
	return err
}

// Cancel ends a dream with what it has. memory.ErrNotFound when no such dream runs.
func (s *Starter) Cancel(ctx context.Context, dreamID string) error {
	err := s.Client.CancelWorkflow(ctx, dreamID, "")
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return fmt.Errorf("dream %s does not run: %w", dreamID, memory.ErrNotFound)
	}
	return err
}

// Progress asks a running dream where it stands.
func (s *Starter) Progress(ctx context.Context, dreamID string) (workflows.Progress, error) {
	var p workflows.Progress
	value, err := s.Client.QueryWorkflow(ctx, dreamID, "", workflows.QueryProgress)
	if err != nil {
		return p, fmt.Errorf("ask %s where it stands: %w", dreamID, err)
	}
	return p, value.Get(&p)
}

// Plan freezes an order for a dream that starts by itself; it is the worker's activities.Planner. It writes nothing,
// but that the number of a plan which comes to nothing is not given again.
func (s *Starter) Plan(ctx context.Context, agent string, now time.Time) (activities.Spec, string, error) {
	w := DreamRequest{Agent: agent}
	if now.After(s.Now()) { // a server that skips idle time is ahead of our clock
		w.AsOf = now
	}
	d, err := s.draft(ctx, w)
	if errors.Is(err, memory.ErrAway) { // nothing speaks against the dream: it is planned again
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

// Executions looks at the workflows of the starter's cluster.
func (s *Starter) Executions() Executions {
	return Executions{Client: s.Client, Cluster: s.Options.Cluster}
}

// Executions looks at workflows on the server.
type Executions struct {
	Client  client.Client
	Cluster string // id of the cluster and namespace; empty when it is not known
}

// Here names the cluster and namespace.
func (l Executions) Here() string { return l.Cluster }

// Running is false when the run has closed or was never known.
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
