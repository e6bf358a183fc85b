package fleet_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workflows"
)

// soundWithin is how long everything may take to be as promised once all dreams have ended. Maintenance looks once a
// minute, and compares the ledger with Temporal's dreams a minute after a loss was noticed.
const soundWithin = 5 * time.Minute

// slack is how long an exchange may take to be remembered after its answer.
const slack = 3 * time.Second

// evidence is what a deployment holds once its dreams have ended and everybody has left.
type evidence struct {
	book      provider.Book // of both models
	rows      []spend.Row
	balances  map[string]spend.Balance
	dreams    []dreamt
	requested []string
	exchanges []exchange
	talks     map[string][]*dream.Episode // what agents remember of talks, by handle
	leaks     []string
	open      []string               // dreams with open reservations
	slots     map[string]memory.Slot // that are held
	leases    []string               // that are held
	lostSince func(exchange) bool    // whether a stated loss may have taken an exchange
	gaps      []gap                  // that were stated
	lostDream func(from, to time.Time) bool
	findings  []finding
}

// dreamt is a dream as the store, Temporal, the API and the command line tell it.
type dreamt struct {
	id               string
	record           *dream.Record // nil: the store has none
	began, ended     time.Time     // of its workflow
	inTemporal       bool          // Temporal has a workflow of it
	running          bool
	result           *workflows.Result
	byAPI, byCommand string // the outcome
}

// audit waits until everything has come to an end, and looks at all of it.
func (t *trial) audit() {
	t.Helper()
	t.settle()
	e := t.gather()
	faults := e.faults()
	for until := time.Now().Add(soundWithin); faults != nil && time.Now().Before(until); faults = e.faults() {
		t.wait(time.Second)
		e = t.gather()
	}
	require.NoError(t, faults, "%s", stringer(e.accountOfFaults))
	t.figures.lost, t.figures.again = 0, len(e.boughtAgain())
	for _, one := range e.exchanges {
		if one.Answered && e.remembered(one) == 0 {
			t.figures.lost++
		}
	}
}

// stringer is a text that is made when it is printed.
type stringer func() string

func (s stringer) String() string { return s() }

// settle waits until no dream goes on or waits to, and no client holds an agent.
func (t *trial) settle() {
	t.Helper()
	var why string
	require.Eventually(t, func() bool {
		why = t.unsettled()
		return why == ""
	}, settledWithin, 200*time.Millisecond, "%s", stringer(func() string { return why + "\n" + t.running() }))
}

// running describes the workflows that run, for a test that fails.
func (t *trial) running() string {
	found, err := t.reader.Client.ListWorkflow(t.ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: t.cluster.Namespace, Query: `WorkflowType = "Dream" AND ExecutionStatus = "Running"`,
	})
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, w := range found.GetExecutions() {
		state, err := t.reader.Client.DescribeWorkflowExecution(t.ctx, w.GetExecution().GetWorkflowId(), "")
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&all, "%s: %v %v\n", w.GetExecution().GetWorkflowId(), state.GetPendingActivities(),
			state.GetPendingWorkflowTask())
	}
	return all.String()
}

func (t *trial) unsettled() string {
	slots, err := t.reader.Store.Slots(t.ctx)
	if err != nil {
		return err.Error()
	}
	for agent, slot := range slots {
		return fmt.Sprintf("%s is held by %s", agent, slot.Dream)
	}
	for _, a := range t.agents {
		found, err := t.reader.Store.Find(t.ctx,
			memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States})
		if err != nil {
			return err.Error()
		}
		for _, r := range memory.As[*dream.Record](found) {
			if r.Unsettled() || r.Open {
				return fmt.Sprintf("%s is %s, open %t: %s", r.ID, r.Outcome, r.Open, r.Reason)
			}
		}
		status, err := t.reader.Store.Status(t.ctx, a.ID, time.Now())
		if err != nil {
			return err.Error()
		}
		if len(status.Leases) > 0 {
			return fmt.Sprintf("%s is held by %v", a.Handle, status.Leases)
		}
	}
	open, err := t.reader.Store.Ledger().OpenDreams(t.ctx)
	if err != nil || len(open) > 0 {
		return fmt.Sprintf("reservations of %v are open: %v", open, err)
	}
	return ""
}

// gather reads all evidence.
func (t *trial) gather() *evidence {
	t.Helper()
	require.NoError(t, t.talk.Billing.Quiet(t.ctx))
	require.NoError(t, t.night.Billing.Quiet(t.ctx))
	talk, night := t.talk.Billing.Book(), t.night.Billing.Book()
	e := &evidence{
		book: provider.Book{Calls: append(talk.Calls, night.Calls...), Failed: append(talk.Failed,
			night.Failed...)},
		balances:  map[string]spend.Balance{},
		exchanges: t.crowd.exchanges(),
		talks:     map[string][]*dream.Episode{},
		requested: t.requested,
		lostSince: t.mayBeLost,
		gaps:      t.gaps,
		lostDream: t.inGap,
		findings:  append(t.findings("doctor"), t.findings("health")...),
	}
	t.crowd.mu.Lock()
	e.leaks = slices.Clone(t.crowd.leaks)
	t.crowd.mu.Unlock()
	ledger := t.reader.Store.Ledger()
	var err error
	e.rows, err = ledger.Rows(t.ctx, spend.Query{})
	require.NoError(t, err)
	for _, row := range e.rows {
		for _, a := range row.Accounts {
			e.balances[a.Scope], err = ledger.Balance(t.ctx, a.Scope)
			require.NoError(t, err)
		}
	}
	e.open, err = ledger.OpenDreams(t.ctx)
	require.NoError(t, err)
	e.slots, err = t.reader.Store.Slots(t.ctx)
	require.NoError(t, err)
	t.gatherAgents(e)
	return e
}

func (t *trial) gatherAgents(e *evidence) {
	t.Helper()
	ids := map[string]*dream.Record{}
	for _, id := range t.requested {
		ids[id] = nil
	}
	for _, a := range t.agents {
		found, err := t.reader.Store.Find(t.ctx, memory.Query{
			Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord, dream.KindEpisode}, States: dream.States,
		})
		require.NoError(t, err)
		for _, r := range memory.As[*dream.Record](found) {
			ids[r.ID] = r
		}
		for _, m := range memory.As[*dream.Episode](found) {
			if m.Marks().Owner != "" {
				e.talks[a.Handle] = append(e.talks[a.Handle], m)
			}
		}
		status, err := t.reader.Store.Status(t.ctx, a.ID, time.Now())
		require.NoError(t, err)
		for _, l := range status.Leases {
			e.leases = append(e.leases, a.Handle+" by "+l.Client)
		}
	}
	answers := t.fromTheCommand()
	for id, record := range ids {
		d := t.look(id)
		d.record, d.byCommand = record, answers[id]
		if record != nil {
			d.byAPI = t.fromTheAPI(id)
		}
		e.dreams = append(e.dreams, d)
	}
}

// mayBeLost says whether what was stated to be lost may have taken an exchange: the store was put back behind it, or its
// server was killed before it was remembered.
func (t *trial) mayBeLost(one exchange) bool {
	if t.inGap(one.Began, one.Ended.Add(slack)) {
		return true
	}
	for _, r := range t.fleet.Deaths() {
		if r.Name == one.Server && one.Ended.Add(slack).After(r.Killed) {
			return true
		}
	}
	return false
}

// look reads the workflow of a dream.
func (t *trial) look(id string) dreamt {
	t.Helper()
	d := dreamt{id: id}
	described, err := t.reader.Client.DescribeWorkflowExecution(t.ctx, id, "")
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return d
	}
	require.NoError(t, err)
	info := described.GetWorkflowExecutionInfo()
	d.inTemporal, d.began, d.ended = true, info.GetStartTime().AsTime(), info.GetCloseTime().AsTime()
	d.running = info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	if info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		d.result = new(workflows.Result)
		require.NoError(t, t.reader.Client.GetWorkflow(t.ctx, id, "").Get(t.ctx, d.result))
	}
	return d
}

func (t *trial) fromTheAPI(id string) string {
	t.Helper()
	status, body := t.call(http.MethodGet, "/v1/dreams/"+strings.ReplaceAll(id, "/", "_"), "")
	require.Equal(t, http.StatusOK, status, body)
	var answers struct{ Outcome string }
	require.NoError(t, json.Unmarshal([]byte(body), &answers))
	return answers.Outcome
}

func (t *trial) fromTheCommand() map[string]string {
	t.Helper()
	body, err := t.fleet.Ask(t.ctx, "--json", "dreams", "list", "--all", "--limit", "0")
	require.NoError(t, err)
	var answers []struct{ ID, Outcome string }
	require.NoError(t, json.Unmarshal(body, &answers), "%s", body)
	all := map[string]string{}
	for _, d := range answers {
		all[d.ID] = d.Outcome
	}
	return all
}

// faults are all promises that are broken.
func (e *evidence) faults() error {
	return errors.Join(e.outcomes(), e.money(), e.memory(), e.apart(), e.ended(), e.diagnosis())
}

// outcomes: every dream has ended, and all who are asked say the same of it.
func (e *evidence) outcomes() error {
	var faults []error
	seen := map[string]bool{}
	for _, d := range e.dreams {
		seen[d.id] = true
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("%s: %s", d.id, fmt.Sprintf(format, args...)))
		}
		lost := e.lostDream(d.began, d.ended)
		switch {
		case d.running:
			fault("its workflow still runs")
		case d.record == nil && !lost:
			fault("it was requested, and the store has no record of it")
		case d.record == nil:
			if d.result == nil || d.result.Outcome != dream.Canceled && d.result.Outcome != dream.Aborted {
				fault("its record is lost, and its workflow says %+v", d.result)
			}
		default:
			e.outcome(d, fault)
		}
	}
	for _, id := range e.requested {
		if !seen[id] {
			faults = append(faults, fmt.Errorf("%s was requested, and nobody knows it", id))
		}
	}
	return errors.Join(faults...)
}

func (e *evidence) outcome(d dreamt, fault func(string, ...any)) {
	r := d.record
	if r.Outcome == "" || r.Outcome == dream.Dreaming || r.Ended.IsZero() ||
		r.Outcome != dream.Completed && r.Reason == "" {
		fault("its record says outcome %q, reason %q, ended %s", r.Outcome, r.Reason, r.Ended)
	}
	if !d.inTemporal && r.Outcome != dream.Canceled {
		fault("Temporal does not know it, and its record says %s", r.Outcome)
	}
	if d.inTemporal && d.result == nil && r.Outcome != dream.Canceled && r.Outcome != dream.Aborted {
		fault("its workflow returned nothing, and its record says %s", r.Outcome)
	}
	if d.result != nil && d.result.Outcome != r.Outcome {
		fault("its workflow says %s (%s), its record %s (%s)", d.result.Outcome, d.result.Reason, r.Outcome, r.Reason)
	}
	if d.byAPI != string(r.Outcome) || d.byCommand != string(r.Outcome) {
		fault("its record says %s, the API %s, the command line %s", r.Outcome, d.byAPI, d.byCommand)
	}
	var spent budget.Micros
	for _, row := range e.rows {
		if row.Dream == d.id {
			spent += row.Counted
		}
	}
	if spent != r.Spent {
		fault("its record says %s were spent, the ledger %s", r.Spent, spent)
	}
}

// money: the ledger has every call of the providers and counts no less, exactly as much where the bill was true, also of
// the times that the store has lost; no cap is passed but by what was entered again, nothing is paid twice, and every
// account is the sum of its rows.
func (e *evidence) money() error {
	books := chaos.Evidence{Rows: e.rows, Book: e.asEntered()}
	var faults []error
	faults = append(faults, chaos.Covered(books.Book, e.rows)...)
	for _, one := range e.boughtAgain() {
		if !e.lostDream(one.Answered.Ended.Add(-slack), one.Answered.Ended.Add(slack)) {
			faults = append(faults, one)
		}
	}
	for _, pair := range books.Truthful() {
		if pair.Row.Counted != pair.Call.Cost {
			faults = append(faults,
				&chaos.Unequal{Key: pair.Call.Key, Counted: pair.Row.Counted, Billed: pair.Call.Cost})
		}
	}
	for _, why := range e.book.Failed {
		faults = append(faults, errors.New(why))
	}
	sums := map[string]spend.Balance{}
	limits, reentered := map[string]budget.Micros{}, map[string]budget.Micros{}
	for _, row := range e.rows {
		for _, a := range row.Accounts {
			sum := sums[a.Scope]
			if row.State == spend.Open {
				sum.Reserved += row.Counted
			} else {
				sum.Spent += row.Counted
			}
			sums[a.Scope] = sum
			if a.Limit == budget.Unlimited {
				reentered[a.Scope] += row.Counted
			} else {
				limits[a.Scope] = a.Limit
			}
		}
		if row.State == spend.Open && row.Dream != "" {
			faults = append(faults, fmt.Errorf("%s of %s is still reserved", row.Step, row.Dream))
		}
	}
	for scope, balance := range e.balances {
		if sums[scope] != balance {
			faults = append(faults, fmt.Errorf("account %s is %+v, its rows add up to %+v", scope, balance,
				sums[scope]))
		}
		if limit, limited := limits[scope]; limited && balance.Spent-reentered[scope] > limit {
			faults = append(faults, &chaos.Exceeded{Scope: scope, Limit: limits[scope], Billed: balance.Spent})
		}
	}
	return errors.Join(faults...)
}

// accountOfFaults describes the calls and rows of each step that has a call without a row of its own, and the times
// that were lost, for a test that fails.
func (e *evidence) accountOfFaults() string {
	var all strings.Builder
	for _, g := range e.gaps {
		fmt.Fprintf(&all, "lost from %s to %s\n", g.from.Format(time.StampMilli), g.to.Format(time.StampMilli))
	}
	rowed := map[string]bool{}
	for _, row := range e.rows {
		rowed[keyOf(row)] = true
	}
	shown := map[string]bool{}
	for _, call := range e.book.Calls {
		step, _, _ := strings.Cut(call.Key, "#")
		if rowed[call.Key] || shown[step] {
			continue
		}
		shown[step] = true
		for _, c := range e.book.Calls {
			if strings.HasPrefix(c.Key, step+"#") {
				fmt.Fprintf(&all, "call %d %s: %s, from %s to %s\n", c.Number, c.Key, c.Cost,
					c.Arrived.Format(time.StampMilli), c.Ended.Format(time.StampMilli))
			}
		}
		for _, r := range e.rows {
			if strings.HasPrefix(r.Step, step) {
				fmt.Fprintf(&all, "row %s#%d: %s %q counts %s, limits %t, from %s to %s\n", r.Step, r.Attempt, r.State,
					r.Finish, r.Counted, !entered(r), r.At.Local().Format(time.StampMilli),
					r.Ended.Local().Format(time.StampMilli))
			}
		}
	}
	return all.String()
}

// asEntered is the book of the providers with each call of a lost time under the key that its row has now. Attempts are
// numbered anew when they are entered again, without the refused ones, and stand under a step of their own where theirs
// was answered meanwhile; the time of the reservation stays. Left out are calls that cost nothing and have no row, and
// those that the workflow of the dream had counted beyond the rows of their phase.
func (e *evidence) asEntered() provider.Book {
	kept := map[string]bool{} // keys of calls of other times
	inLostTime := func(call provider.Call) bool { return e.lostDream(call.Ended.Add(-slack), call.Ended.Add(slack)) }
	for _, call := range e.book.Calls {
		if !inLostTime(call) {
			kept[call.Key] = true
		}
	}
	rows := map[string][]spend.Row{} // the others, by step
	for _, row := range e.rows {
		if !kept[keyOf(row)] {
			rows[stepOf(row)] = append(rows[stepOf(row)], row)
		}
	}
	book := e.book
	book.Calls = nil
	fromWorkflows := map[string]budget.Micros{}
	for _, call := range e.book.Calls {
		if !inLostTime(call) {
			book.Calls = append(book.Calls, call)
			continue
		}
		step, _, _ := strings.Cut(call.Key, "#")
		at := reservedFor(rows[step], call.Arrived)
		if at >= 0 {
			call.Key = keyOf(rows[step][at])
			rows[step] = slices.Delete(rows[step], at, at+1)
		} else if call.Cost == 0 {
			continue
		} else if of, valid := chaos.ReadKey(call.Key); valid {
			phase := of.Dream + "/" + string(of.Phase) + "/lost"
			fromWorkflows[phase] += call.Cost
			if counted := rows[phase]; len(counted) > 0 && counted[0].Counted >= fromWorkflows[phase] {
				continue
			}
		}
		book.Calls = append(book.Calls, call)
	}
	return book
}

func keyOf(row spend.Row) string { return spend.Hold{Step: row.Step, Attempt: row.Attempt}.Key() }

// reservedFor is the place of the row whose reservation was the last before a call arrived, -1 without one.
func reservedFor(rows []spend.Row, arrived time.Time) int {
	best := -1
	for i, row := range rows {
		if !row.At.After(arrived) && (best < 0 || row.At.After(rows[best].At)) {
			best = i
		}
	}
	return best
}

func TestLostCallsAreInTheLedgerAgain(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	call := func(key string, cost budget.Micros, seconds int) provider.Call {
		return provider.Call{Key: key, Cost: cost, Arrived: at(seconds), Ended: at(seconds)}
	}
	row := func(step string, attempt int, counted budget.Micros, seconds int) spend.Row {
		return spend.Row{
			Ask: spend.Ask{Step: step, At: at(seconds)}, Attempt: attempt, Counted: counted, State: spend.Partial,
			Ended: at(seconds),
		}
	}
	const weigh = "dream/a/0002/rem/weigh"
	twoCut := []provider.Call{call(weigh+"#1", 5, 1), call(weigh+"#2", 7, 2), call(weigh+"#1", 9, 60)}
	last := row(weigh, 1, 9, 60)
	stamp := func(seconds int) string { return weigh + "/" + at(seconds).UTC().Format(time.RFC3339Nano) }
	for name, one := range map[string]struct {
		calls []provider.Call
		rows  []spend.Row
		fault string
	}{
		"both beside an answer": {twoCut, []spend.Row{last, row(stamp(1), 1, 5, 1), row(stamp(2), 1, 7, 2)}, ""},
		"both after it":         {twoCut, []spend.Row{last, row(weigh, 2, 5, 1), row(weigh, 3, 7, 2)}, ""},
		"one is missing":        {twoCut, []spend.Row{last, row(stamp(1), 1, 5, 1)}, "which was never reserved"},
		"it counts too little": {
			twoCut, []spend.Row{last, row(weigh, 2, 5, 1), row(weigh, 3, 6, 2)}, "counts $0.000006",
		},
		"the phase has it": {
			twoCut, []spend.Row{last, row(stamp(1), 1, 5, 1), row("dream/a/0002/rem/lost", 1, 7, 3)}, "",
		},
		"another phase has it": {
			twoCut,
			[]spend.Row{last, row(stamp(1), 1, 5, 1), row("dream/a/0002/onset/lost", 1, 7, 3)},
			"never reserved",
		},
		"a refused one is not entered": {
			[]provider.Call{call(weigh+"#1", 0, 1), call(weigh+"#2", 7, 2), call(weigh+"#2", 9, 60)},
			[]spend.Row{row(weigh, 1, 7, 2), row(weigh, 2, 9, 60)},
			"",
		},
		"a call of another time": {
			[]provider.Call{call(weigh+"#1", 5, 40)}, []spend.Row{row(stamp(40), 1, 5, 40)}, "never reserved",
		},
	} {
		e := evidence{
			rows: one.rows, book: provider.Book{Calls: one.calls},
			lostDream: func(from, to time.Time) bool { return from.Before(at(10)) && to.After(at(0)) },
		}
		err := e.money()
		if one.fault == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, one.fault, name)
		}
	}
}

// stepOf is the step of a row, without the time that it has where it was entered beside an answer.
func stepOf(row spend.Row) string {
	at := strings.LastIndex(row.Step, "/")
	if _, err := time.Parse(time.RFC3339Nano, row.Step[at+1:]); at > 0 && err == nil {
		return row.Step[:at]
	}
	return row.Step
}

// entered reports whether a row was entered whatever the caps say.
func entered(row spend.Row) bool {
	return len(row.Accounts) > 0 && !slices.ContainsFunc(row.Accounts, func(a budget.Account) bool {
		return a.Limit != budget.Unlimited
	})
}

// boughtAgain are calls that were made although their steps had been answered.
func (e *evidence) boughtAgain() []*chaos.Again {
	return (&chaos.Evidence{Rows: e.rows, Book: e.book}).BoughtAgain()
}

// remembered is how often an exchange is told: 0 or 1, or another number that is a fault.
func (e *evidence) remembered(one exchange) int {
	requests, responses := 0, 0
	for _, m := range e.talks[one.Agent] {
		switch {
		case m.Origin != one.Owner:
		case m.Content == one.Request:
			requests++
		case m.Content == one.Response:
			responses++
		}
	}
	if one.Answered && requests != responses {
		return -1
	}
	return requests
}

// memory: each exchange that a client was told is remembered once, word for word, and nothing else is.
func (e *evidence) memory() error {
	var faults []error
	expected := map[string]bool{}
	for _, one := range e.exchanges {
		expected[one.Request], expected[answerTo(one.Mark)] = true, true
		n := e.remembered(one)
		if n != 1 && (n != 0 || one.Answered && !e.lostSince(one)) {
			faults = append(faults, fmt.Errorf("%s of %s, answered by %s until %s, is told %d times", one.Mark,
				one.Owner, one.Server, one.Ended.Format(time.TimeOnly), n))
		}
		if one.Answered && one.Response != answerTo(one.Mark) {
			faults = append(faults, fmt.Errorf("%s was answered by %q", one.Mark, one.Response))
		}
	}
	for agent, talks := range e.talks {
		for _, m := range talks {
			if !expected[m.Content] {
				faults = append(faults, fmt.Errorf("%s remembers %q, which nobody said", agent, m.Content))
			}
		}
	}
	return errors.Join(faults...)
}

// apart: nothing of an agent, a principal or a user reached another.
func (e *evidence) apart() error {
	var faults []error
	for _, leak := range e.leaks {
		faults = append(faults, errors.New(leak))
	}
	for agent, talks := range e.talks {
		for _, m := range talks {
			for _, found := range mark.FindAllStringSubmatch(m.Content, -1) {
				owner := "talk/team" + found[2] + "/user" + found[3]
				if agentName(found[1]) != agent || owner != m.Origin {
					faults = append(faults, fmt.Errorf("%s keeps %s for %s", agent, found[0], m.Origin))
				}
			}
		}
	}
	return errors.Join(faults...)
}

// ended: nobody holds an agent, a slot or money.
func (e *evidence) ended() error {
	var faults []error
	for _, id := range e.open {
		faults = append(faults, fmt.Errorf("reservations of %q are open", id))
	}
	for agent, slot := range e.slots {
		faults = append(faults, fmt.Errorf("the slot of %s is held by %s", agent, slot.Dream))
	}
	for _, lease := range e.leases {
		faults = append(faults, fmt.Errorf("a lease is held: %s", lease))
	}
	return errors.Join(faults...)
}

// missing says whether an answered exchange of a time is forgotten, or an answer that was bought then had to be bought
// again.
func (e *evidence) missing(in gap) bool {
	return slices.ContainsFunc(e.exchanges, func(one exchange) bool {
		return one.Answered && e.remembered(one) == 0 && in.meets(one.Began, one.Ended.Add(slack))
	}) || slices.ContainsFunc(e.boughtAgain(), func(one *chaos.Again) bool {
		return in.meets(one.Answered.Ended.Add(-slack), one.Answered.Ended.Add(slack))
	})
}

// lossesTold counts the losses that doctor and health tell.
func (e *evidence) lossesTold() (count int) {
	for _, f := range e.findings {
		if f.Name == "losses" {
			count += strings.Count(f.Found, "is lost")
		}
	}
	return count
}

// diagnosis: once a trouble is over, doctor and health find nothing wrong, and tell each time of which writes are lost.
func (e *evidence) diagnosis() error {
	var faults []error
	certain := 0
	for _, one := range e.gaps {
		if !one.inLogs && (!one.perhaps || e.missing(one)) {
			certain++
		}
	}
	count := e.lossesTold()
	if count < 2*certain || count > 2*len(e.gaps) || count%2 != 0 {
		faults = append(faults, fmt.Errorf("%d losses were stated, %d for certain, doctor and health tell %d: %v",
			len(e.gaps), certain, count, e.findings))
	}
	for _, f := range e.findings {
		if f.bad() {
			faults = append(faults, fmt.Errorf("%s %s is %s: %s", f.Agent, f.Name, f.State, f.Found))
		}
	}
	return errors.Join(faults...)
}

// requireAnnounced requires that every agent's log tells once of each loss that doctor and health tell. It may tell of
// more, from before an archive was put back.
func (t *trial) requireAnnounced() {
	t.Helper()
	state, err := t.reader.Store.(memory.Aging).Swept(t.ctx)
	require.NoError(t, err)
	losses := state.Continuity.Losses
	require.Equal(t, 2*len(losses), t.gather().lossesTold())
	for _, a := range t.agents {
		var announced []time.Time
		require.Eventually(t, func() bool {
			announced = t.announced(a.ID)
			return !slices.ContainsFunc(losses, func(l memory.Loss) bool {
				return !slices.ContainsFunc(announced, l.Noticed.Equal)
			})
		}, soundWithin, time.Second, "%s: a loss of %v is not announced", a.Handle, losses)
		require.Len(t, slices.CompactFunc(announced, time.Time.Equal), len(announced),
			"%s: a loss is announced twice", a.Handle)
	}
}

// announced returns when the losses that are in an agent's log were noticed.
func (t *trial) announced(agent string) (all []time.Time) {
	t.Helper()
	events, err := t.reader.Store.Events(t.ctx, agent, 0, 0)
	require.NoError(t, err)
	for _, e := range events {
		if e.Type != (event.WritesLost{}).EventType() {
			continue
		}
		var lost event.WritesLost
		require.NoError(t, json.Unmarshal(e.Data, &lost))
		all = append(all, lost.Noticed)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// controls: each part of the audit is red for evidence that is not sound.
func (t *trial) controls() {
	t.Helper()
	sound := t.gather()
	require.NoError(t, sound.faults())
	doctored := *sound
	doctored.dreams = slices.Clone(sound.dreams)
	of := slices.IndexFunc(doctored.dreams, func(d dreamt) bool {
		return d.record != nil && d.record.Outcome == dream.Completed
	})
	require.GreaterOrEqual(t, of, 0, "no dream was completed")
	record := *doctored.dreams[of].record
	record.Outcome = dream.Exhausted
	doctored.dreams[of].record = &record
	require.ErrorContains(t, doctored.outcomes(), "its workflow says")

	short := *sound
	paid := slices.IndexFunc(sound.rows, func(r spend.Row) bool {
		return r.State == spend.Settled && r.Counted > 0 && !t.inGap(r.Ended.Add(-slack), r.Ended.Add(slack))
	})
	require.GreaterOrEqual(t, paid, 0, "nothing was paid")
	short.rows = slices.Delete(slices.Clone(sound.rows), paid, paid+1)
	require.ErrorContains(t, short.money(), "never reserved")

	regained := slices.IndexFunc(sound.rows, func(r spend.Row) bool {
		return r.State == spend.Settled && r.Counted > 0 && len(r.Accounts) > 0 && r.Accounts[0].Limit == budget.Unlimited
	})
	certain := slices.ContainsFunc(t.gaps, func(g gap) bool { return !g.perhaps })
	require.True(t, regained >= 0 || !certain, "no purchase was lost and entered again")
	if regained >= 0 {
		short.rows = slices.Delete(slices.Clone(sound.rows), regained, regained+1)
		require.Regexp(t, "never reserved|used for two calls", short.money())
	}

	whole := slices.IndexFunc(sound.exchanges, func(x exchange) bool { return x.Answered && !t.mayBeLost(x) })
	require.GreaterOrEqual(t, whole, 0, "nobody was told anything")
	one := sound.exchanges[whole]
	for name, change := range map[string]func([]*dream.Episode, int) []*dream.Episode{
		"told 0 times": func(all []*dream.Episode, i int) []*dream.Episode {
			return slices.DeleteFunc(slices.Delete(all, i, i+1),
				func(m *dream.Episode) bool { return m.Content == one.Response })
		},
		"told -1 times": func(all []*dream.Episode, i int) []*dream.Episode { return append(all, all[i]) },
	} {
		dropped := *sound
		all := slices.Clone(sound.talks[one.Agent])
		i := slices.IndexFunc(all, func(m *dream.Episode) bool { return m.Content == one.Request })
		dropped.talks = map[string][]*dream.Episode{one.Agent: change(all, i)}
		dropped.exchanges = []exchange{one}
		require.ErrorContains(t, dropped.memory(), name)
	}

	moved := *sound
	stray := *sound.talks[one.Agent][0]
	stray.Origin = "talk/team9/user9"
	moved.talks = map[string][]*dream.Episode{one.Agent: {&stray}}
	require.ErrorContains(t, moved.apart(), "keeps")

	held := *sound
	held.leases = []string{"agent-00 by a client"}
	require.ErrorContains(t, held.ended(), "a lease is held")
	silent := *sound
	silent.gaps = append(slices.Clone(sound.gaps), gap{})
	require.ErrorContains(t, silent.diagnosis(), "losses were stated")
	ill := *sound
	ill.findings = []finding{{Name: "redis", State: "wrong"}}
	require.ErrorContains(t, ill.diagnosis(), "redis")
}
