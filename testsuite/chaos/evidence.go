package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Evidence is what a deployment, its Temporal server and its provider hold after the dreams have ended.
type Evidence struct {
	Book       provider.Book
	Rows       []spend.Row
	Dreams     []Dream // by id
	Events     map[string][]event.Event
	Slots      map[string]memory.Slot
	Open       []string                 // dreams with open attempts
	Balances   map[string]spend.Balance // of every scope that a spec or a row names
	Allowances map[string]budget.Micros // by "agent/day"
	Answers    map[string]int           // by step: the attempt whose answer is stored
	Fragments  map[string]*dream.Fragment
	Scenarios  []*dream.Scenario

	Agents   map[string]dream.Agent // by id
	Planted  []*dream.Prediction    // for the judge
	Judging  *testdeploy.Judging    // nil: nobody judges
	FleetDay budget.Micros          // the cap of the fleet that the judge's calls are under
}

// Dream is one dream as the store and the server have it.
type Dream struct {
	Record *dream.Record
	Begun  bool // a workflow of it was started
	Closed bool // and has ended
	Spec   activities.Spec
	Result *workflows.Result // nil when the workflow did not end by itself
}

// Gather reads all of it. It waits first until the provider serves no call.
func Gather(ctx context.Context, c *testdeploy.Deployment, upstream *provider.Billing) (Evidence, error) {
	e := Evidence{
		Events: map[string][]event.Event{}, Balances: map[string]spend.Balance{},
		Allowances: map[string]budget.Micros{},
		Fragments:  map[string]*dream.Fragment{},
		Agents:     map[string]dream.Agent{},
		Judging:    c.Config.Judge,
		FleetDay:   c.Starter.Options.FleetDay,
	}
	if err := upstream.Quiet(ctx); err != nil {
		return e, err
	}
	e.Book = upstream.Book()
	agents, err := c.Store.Agents(ctx)
	if err != nil {
		return e, err
	}
	for _, agent := range agents {
		e.Agents[agent.ID] = agent
		if err := e.agent(ctx, c, agent); err != nil {
			return e, err
		}
	}
	return e, e.money(ctx, c)
}

func (e *Evidence) agent(ctx context.Context, c *testdeploy.Deployment, agent dream.Agent) error {
	nights, err := c.Store.Find(ctx,
		memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}, Sort: memory.Oldest})
	if err != nil {
		return err
	}
	for _, record := range memory.As[*dream.Record](nights) {
		d, err := look(ctx, c, record)
		if err != nil {
			return err
		}
		e.Dreams = append(e.Dreams, d)
	}
	e.Events[agent.ID], err = c.Store.Events(ctx, agent.ID, 0, 0)
	if err != nil {
		return err
	}
	if err := e.planted(ctx, c, agent); err != nil {
		return err
	}
	return e.fragments(ctx, c, agent)
}

// look reads the workflow of a dream from the server.
func look(ctx context.Context, c *testdeploy.Deployment, record *dream.Record) (Dream, error) {
	d := Dream{Record: record}
	var notFound *serviceerror.NotFound
	described, err := c.Client.DescribeWorkflowExecution(ctx, record.ID, "")
	if errors.As(err, &notFound) {
		return d, nil
	}
	if err != nil {
		return d, fmt.Errorf("describe %s: %w", record.ID, err)
	}
	status := described.GetWorkflowExecutionInfo().GetStatus()
	d.Begun, d.Closed = true, status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	history := c.Client.GetWorkflowHistory(ctx, record.ID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := history.Next()
	if err != nil {
		return d, fmt.Errorf("read the history of %s: %w", record.ID, err)
	}
	input := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := workflows.DataConverter().FromPayloads(input, &d.Spec); err != nil {
		return d, fmt.Errorf("read the spec of %s: %w", record.ID, err)
	}
	if status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		d.Result = new(workflows.Result)
		if err := c.Client.GetWorkflow(ctx, record.ID, "").Get(ctx, d.Result); err != nil {
			return d, fmt.Errorf("read the result of %s: %w", record.ID, err)
		}
	}
	return d, nil
}

func (e *Evidence) money(ctx context.Context, c *testdeploy.Deployment) error {
	var err error
	ledger := c.Store.Ledger()
	e.Rows, err = ledger.Rows(ctx, spend.Query{})
	if err != nil {
		return err
	}
	if err := e.answers(ctx, c); err != nil {
		return err
	}
	e.Slots, err = c.Store.Slots(ctx)
	if err != nil {
		return err
	}
	e.Open, err = ledger.OpenDreams(ctx)
	if err != nil {
		return err
	}
	for _, scope := range e.scopes() {
		e.Balances[scope], err = ledger.Balance(ctx, scope)
		if err != nil {
			return err
		}
	}
	for _, d := range e.Dreams {
		if !d.Begun {
			continue
		}
		e.Allowances[d.Spec.Agent+"/"+d.Spec.Day], err = ledger.Allowance(ctx, d.Spec.Agent, d.Spec.Day)
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Evidence) scopes() []string {
	var all []string
	for _, row := range e.Rows {
		for _, a := range row.Accounts {
			all = append(all, a.Scope)
		}
	}
	for _, d := range e.Dreams {
		for _, a := range d.Spec.Accounts {
			all = append(all, a.Scope)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// accounts are the caps that a call of this dream and phase had to fit under, by its spec and not by the ledger: the
// phase's share (the onset's goes to NREM when it was skipped), and those the spec names.
func (e *Evidence) accounts(d Dream, phase dream.Phase) []budget.Account {
	plan := budget.Split(d.Spec.Budget, d.Spec.Knobs.Shares)
	if e.has(d, event.OnsetSkipped{}.EventType()) {
		plan = plan.WithoutOnset()
	}
	limits := map[dream.Phase]budget.Micros{
		dream.Onset: plan.Onset, dream.NREM: plan.NREM, dream.REM: plan.REM, dream.Integration: plan.Integration,
		dream.Return: plan.Return,
	}
	own := budget.Account{Scope: activities.PhaseScope(d.Record.ID, phase), Limit: limits[phase]}
	return append([]budget.Account{own}, d.Spec.Accounts...)
}

func (e *Evidence) has(d Dream, kind string) bool { return len(e.events(d, kind)) > 0 }

func (e *Evidence) events(d Dream, kind string) []event.Event {
	var found []event.Event
	for _, one := range e.Events[d.Record.Agent] {
		if one.Dream == d.Record.ID && one.Type == kind {
			found = append(found, one)
		}
	}
	return found
}
