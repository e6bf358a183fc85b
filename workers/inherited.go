package workers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/workflows"
)

// OpenExecution is an open execution that was begun under another contract than this build's.
type OpenExecution struct {
	Workflow string
	Run      string
	Type     string
	Contract int   // 0: of a build that did not say
	Fault    error // why this build cannot go on with it; nil: it can
}

// UpgradeCheck says where to look for inherited executions, and how to read them: as the client of the worker does.
type UpgradeCheck struct {
	Client           client.Client
	Namespace        string
	TaskQueue        string                  // empty: workflows.TaskQueue
	DataConverter    converter.DataConverter // nil: workflows.DataConverter
	FailureConverter converter.FailureConverter
	Oldest           int // the oldest contract that can be continued; 0: workflows.OldestContract
}

// Find lists the open executions of the task queue that were begun under another contract, each with whether this build
// can go on with it: its history is replayed. No worker of the task queue should run meanwhile. An execution that
// cannot be read, for want of a key or of an answer, is in the error and not in the list: nothing is known of it.
func (i UpgradeCheck) Find(ctx context.Context) ([]OpenExecution, error) {
	i.TaskQueue = Options{TaskQueue: i.TaskQueue}.filled().TaskQueue
	if i.Oldest == 0 {
		i.Oldest = workflows.OldestContract
	}
	if i.DataConverter == nil {
		i.DataConverter = workflows.DataConverter()
	}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: i.Namespace,
		PageSize:  workflows.ListedAtOnce,
		Query: fmt.Sprintf("ExecutionStatus = 'Running' AND WorkflowType IN ('%s', '%s', '%s', '%s')",
			workflows.AgentType, workflows.DreamType, workflows.FeedType, workflows.AttendType),
	}
	var open []*workflowpb.WorkflowExecutionInfo
	var faults []error
	for {
		page, err := i.Client.ListWorkflow(ctx, request)
		if err != nil {
			faults = append(faults, fmt.Errorf("list the open workflows: %w", err))
			break
		}
		for _, info := range page.GetExecutions() {
			if info.GetTaskQueue() == i.TaskQueue && i.contract(info) != workflows.Contract && !versioned(info) {
				open = append(open, info)
			}
		}
		request.NextPageToken = page.GetNextPageToken()
		if len(request.NextPageToken) == 0 {
			break
		}
	}
	found, err := i.judgeAll(ctx, open)
	return found, errors.Join(append(faults, err)...)
}

// judgedAtOnce is how many executions are read and replayed at once: more than there are processors, because half of
// the time is waiting for their histories.
func judgedAtOnce() int { return 2 * runtime.GOMAXPROCS(0) }

// judgeAll replays executions, several at once. Those that cannot be read are in the error alone.
func (i UpgradeCheck) judgeAll(ctx context.Context, open []*workflowpb.WorkflowExecutionInfo) ([]OpenExecution, error) {
	judged := make([]OpenExecution, len(open))
	faults := make([]error, len(open))
	free := make(chan struct{}, judgedAtOnce())
	var all sync.WaitGroup
	for n, info := range open {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			judged[n], faults[n] = i.judge(ctx, info)
		})
	}
	all.Wait()
	var found []OpenExecution
	for n, one := range judged {
		if faults[n] == nil {
			found = append(found, one)
		}
	}
	return found, errors.Join(faults...)
}

// versioned says whether Temporal keeps an execution on the build that began it, whose workers go on with it.
func versioned(info *workflowpb.WorkflowExecutionInfo) bool {
	return info.GetVersioningInfo().GetDeploymentVersion() != nil
}

// contract is what the memo of an execution says; 0 where it says nothing.
func (i UpgradeCheck) contract(info *workflowpb.WorkflowExecutionInfo) int {
	contract := 0
	if stamp, ok := info.GetMemo().GetFields()[workflows.MemoContract]; ok {
		_ = i.DataConverter.FromPayload(stamp, &contract) // of a key that is not known here: its history says so
	}
	return contract
}

// judge replays an execution.
func (i UpgradeCheck) judge(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) (OpenExecution, error) {
	execution := info.GetExecution()
	one := OpenExecution{
		Workflow: execution.GetWorkflowId(),
		Run:      execution.GetRunId(),
		Type:     info.GetType().GetName(),
		Contract: i.contract(info),
	}
	history, err := i.history(ctx, execution)
	if err != nil {
		return one, fmt.Errorf("read the history of %s: %w", one.Workflow, err)
	}
	for _, event := range history.GetEvents() {
		for _, sealed := range event.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads() {
			var input any
			if err := i.DataConverter.FromPayload(sealed, &input); err != nil {
				return one, fmt.Errorf("read what %s was begun with: %w", one.Workflow, err)
			}
		}
	}
	if one.Contract > workflows.Contract {
		one.Fault = fmt.Errorf("it is of contract %d, and this build knows contracts up to %d", one.Contract,
			workflows.Contract)
		return one, nil
	}
	if one.Contract < i.Oldest {
		one.Fault = fmt.Errorf("it is of contract %d, and this build continues contracts from %d on", one.Contract,
			i.Oldest)
		return one, nil
	}
	if len(history.GetEvents()) < 3 { // no task was completed: there is nothing to replay
		return one, nil
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter:               i.DataConverter,
		FailureConverter:            i.FailureConverter,
		DisableRegistrationAliasing: true,
		DisableDeadlockDetection:    true,
	})
	if err != nil {
		return one, fmt.Errorf("make a replayer: %w", err)
	}
	workflows.Register(replayer)
	one.Fault = replayer.ReplayWorkflowHistoryWithOptions(mute{}, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: one.Workflow, RunID: one.Run},
	})
	return one, nil
}

func (i UpgradeCheck) history(ctx context.Context, execution *commonpb.WorkflowExecution) (*historypb.History, error) {
	history := new(historypb.History)
	events := i.Client.GetWorkflowHistory(ctx, execution.GetWorkflowId(), execution.GetRunId(), false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		history.Events = append(history.Events, event)
	}
	return history, nil
}

// mute drops what the replayer logs: the error says the same.
type mute struct{}

func (mute) Debug(string, ...any) {}
func (mute) Info(string, ...any)  {}
func (mute) Warn(string, ...any)  {}
func (mute) Error(string, ...any) {}
