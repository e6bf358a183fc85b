package starter

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/workflows"
)

// LostDreams compares the spend ledger with dreams of a time of which the store has lost what was written.
type LostDreams struct {
	*Starter
	reads converter.DataConverter
}

// ForLostDreams returns the part that compares the ledger with the dreams that Temporal knows. A nil converter is
// workflows.DataConverter.
func (s *Starter) ForLostDreams(reads converter.DataConverter) LostDreams {
	if reads == nil {
		reads = workflows.DataConverter()
	}
	return LostDreams{s, reads}
}

// Reenter enters into the ledger what dreams have spent by their workflows beyond what the ledger has of them: of dreams
// that ran within a loss and have closed. A workflow knows what each phase had spent at the end of each of its cycles. It
// returns what was entered, and how many of these dreams still run; it may be repeated.
func (s LostDreams) Reenter(ctx context.Context, loss memory.Loss) (done memory.Reentered, running int, err error) {
	agents, err := s.Memory.Agents(ctx)
	if err != nil {
		return done, 0, err
	}
	byHandle := map[string]dream.Agent{}
	for _, a := range agents {
		byHandle[a.Handle] = a
	}
	query := fmt.Sprintf("WorkflowType = '%s' AND TaskQueue = '%s' AND StartTime <= '%s'", workflows.DreamType,
		s.Options.TaskQueue, loss.Noticed.UTC().Format(time.RFC3339Nano))
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: workflows.ListedAtOnce, Query: query}
	for {
		page, err := s.Client.ListWorkflow(ctx, request)
		if err != nil {
			return done, running, fmt.Errorf("list the dreams of a time that the store has lost: %w", err)
		}
		for _, w := range page.GetExecutions() {
			agent, found := byHandle[workflows.HandleOf(w.GetExecution().GetWorkflowId())]
			switch {
			case !found:
			case w.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
				running++
			case w.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED &&
				!w.GetCloseTime().AsTime().Before(loss.Since):
				one, err := s.reenter(ctx, agent, w)
				done = done.Plus(one)
				if err != nil {
					return done, running, err
				}
			}
		}
		request.NextPageToken = page.GetNextPageToken()
		if len(request.NextPageToken) == 0 {
			return done, running, nil
		}
	}
}

// reenter completes the sums of one dream.
func (s LostDreams) reenter(ctx context.Context, agent dream.Agent, w *workflowpb.WorkflowExecutionInfo,
) (done memory.Reentered, err error) {
	id := w.GetExecution().GetWorkflowId()
	var result workflows.Result
	if err := s.Client.GetWorkflow(ctx, id, w.GetExecution().GetRunId()).Get(ctx, &result); err != nil {
		return done, fmt.Errorf("read what %s spent: %w", id, sealed(err))
	}
	rows, err := s.Ledger.Rows(ctx, spend.Query{Dream: id})
	if err != nil {
		return done, fmt.Errorf("sum up %s: %w", id, err)
	}
	for _, t := range result.Tallies {
		missing := t.Spent - spentIn(rows, t.Phase)
		if missing <= 0 {
			continue
		}
		spec, err := s.spec(ctx, w)
		if err != nil {
			return done, err
		}
		one := missingIn(spec, t.Phase, missing, w.GetCloseTime().AsTime())
		err = spend.Enter(ctx, s.Ledger, one)
		if err != nil {
			return done, err
		}
		done = done.Plus(memory.Reentered{Calls: 1, Amount: missing})
	}
	return done, s.sumUp(ctx, agent, id)
}

func spentIn(rows []spend.Row, phase dream.Phase) (sum budget.Micros) {
	for _, row := range rows {
		if phase == "" || row.Phase == string(phase) {
			sum += row.Counted
		}
	}
	return sum
}

// spec reads with what a dream was begun.
func (s LostDreams) spec(ctx context.Context, w *workflowpb.WorkflowExecutionInfo) (spec activities.Spec, err error) {
	id := w.GetExecution().GetWorkflowId()
	first, err := s.Client.GetWorkflowHistory(ctx, id, w.GetExecution().GetRunId(), false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Next()
	if err == nil {
		err = s.reads.FromPayloads(first.GetWorkflowExecutionStartedEventAttributes().GetInput(), &spec)
	}
	if err != nil {
		return spec, fmt.Errorf("read with what %s was begun: %w", id, sealed(err))
	}
	return spec, nil
}

// missingIn is what a phase has spent beyond the rows of its dream, as one purchase under the accounts of the dream.
func missingIn(spec activities.Spec, phase dream.Phase, amount budget.Micros, ended time.Time) spend.Purchase {
	return spend.Purchase{
		Ask: spend.Ask{
			Step:     spec.Dream + "/" + string(phase) + "/lost",
			Agent:    spec.Agent,
			Dream:    spec.Dream,
			Phase:    string(phase),
			Day:      spec.Day,
			Amount:   amount,
			Accounts: append([]budget.Account{{Scope: activities.PhaseScope(spec.Dream, phase)}}, spec.Accounts...),
			At:       ended,
		},
		Bill: spend.Bill{State: spend.Settled, Amount: amount, Finish: spend.Completed, At: ended},
	}
}

// sumUp writes into the record of a dream that has ended what the ledger has of it.
func (s LostDreams) sumUp(ctx context.Context, agent dream.Agent, id string) error {
	record, err := memory.One[*dream.Record](ctx, s.Memory, agent.ID, id)
	if errors.Is(err, memory.ErrNotFound) {
		return nil
	}
	if err != nil || record.Unsettled() {
		return err
	}
	rows, err := s.Ledger.Rows(ctx, spend.Query{Dream: id})
	if err != nil {
		return fmt.Errorf("sum up %s: %w", id, err)
	}
	if record.Spent == spentIn(rows, "") {
		return nil
	}
	record.Spent = spentIn(rows, "")
	for i, t := range record.Phases {
		record.Phases[i].Spent = spentIn(rows, t.Phase)
	}
	_, err = s.Memory.Commit(ctx, memory.Write{Agent: agent.ID, Cause: id, Change: []dream.Item{record}})
	if err != nil {
		return fmt.Errorf("record what %s spent: %w", id, err)
	}
	return nil
}
