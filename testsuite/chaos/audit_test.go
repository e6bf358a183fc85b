package chaos_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// flawless is the evidence of one dream without faults: a partial that became a fragment, and one whose answer never
// arrived.
func flawless() chaos.Evidence {
	id, ended := "dream/echo/0001", time.Date(2026, 10, 19, 23, 0, 0, 0, time.UTC)
	spec := activities.Spec{
		Dream:    id,
		Agent:    "a",
		Handle:   "echo",
		Day:      "2026-10-19",
		Budget:   1000,
		Knobs:    dream.DefaultKnobs(),
		Accounts: []budget.Account{{Scope: "dream:" + id, Limit: 1000}, {Scope: "day:a/2026-10-19", Limit: 2000}},
	}
	accounts := append([]budget.Account{{Scope: "phase:" + id + "/onset", Limit: 100}}, spec.Accounts...)
	row := func(activity string, attempt int, state spend.State, counted budget.Micros) spend.Row {
		return spend.Row{
			Ask: spend.Ask{
				Step:     id + "/onset/" + activity,
				Agent:    "a",
				Dream:    id,
				Phase:    "onset",
				Accounts: accounts,
			},
			Attempt:  attempt,
			Reserved: 60,
			Counted:  counted,
			State:    state,
			Ended:    ended,
			Latest:   attempt,
		}
	}
	call := func(n int, activity string, cost budget.Micros) provider.Call {
		return provider.Call{
			Number:    n,
			Key:       id + "/onset/" + activity,
			Cost:      cost,
			Charged:   true,
			Completed: true,
		}
	}
	record := &dream.Record{
		Head:    dream.Head{ID: id, Agent: "a", Dream: id},
		Outcome: dream.Completed,
		Ended:   ended,
		Spent:   70,
		Run:     "r",
	}
	log := []event.Event{
		{
			ID:    "1",
			Seq:   1,
			Agent: "a",
			Dream: id,
			Type:  "DreamStarted",
			Data:  json.RawMessage("{}"),
		},
		{
			ID:    "2",
			Seq:   2,
			Agent: "a",
			Dream: id,
			Type:  "DreamEnded",
			Data:  json.RawMessage("{}"),
		},
		{
			ID:    "3",
			Seq:   3,
			Agent: "a",
			Type:  "PredictionResolved",
			Data:  json.RawMessage(`{"prediction_id":"pr_honest_0001"}`),
		},
	}
	e := chaos.Evidence{
		Book: provider.Book{Calls: []provider.Call{call(1, "1/partial-1#1", 10), call(2, "1/partial-2#1", 12)}},
		Rows: []spend.Row{row("1/partial-1", 1, spend.Settled, 10), row("1/partial-2", 1, spend.Lost, 60)},
		Dreams: []chaos.Dream{{
			Record: record,
			Begun:  true,
			Closed: true,
			Spec:   spec,
			Result: &workflows.Result{Dream: id, Outcome: dream.Completed, Spent: 70},
		}},
		Events:     map[string][]event.Event{"a": log},
		Balances:   map[string]spend.Balance{},
		Allowances: map[string]budget.Micros{"a/2026-10-19": 70},
		Answers:    map[string]int{id + "/onset/1/partial-1": 1},
		Fragments: map[string]*dream.Fragment{
			id + "/onset/1.1": {Head: dream.Head{ID: id + "/onset/1.1"}, Cycle: 1, Status: dream.FragmentRaw},
		},
	}
	for _, a := range accounts {
		e.Balances[a.Scope] = spend.Balance{Spent: 70}
	}
	e.Agents, e.Judging = map[string]dream.Agent{"a": {ID: "a"}}, &testdeploy.Judging{Daily: 60}
	e.Planted = []*dream.Prediction{
		{Head: dream.Head{ID: "pr_honest_0001", Revision: 2}, Status: dream.PredictionRight},
		{Head: dream.Head{ID: "pr_invented_0001", Revision: 1}, Status: dream.PredictionOpen},
	}
	return e
}

// judgeRow is a call of the judge in the ledger, which counts so much.
func judgeRow(counted budget.Micros) spend.Row {
	return spend.Row{
		Ask: spend.Ask{
			Step:  "judge/a/0123",
			Agent: "a",
			Phase: "judge",
			Day:   "2026-10-19",
			Accounts: append([]budget.Account{{Scope: "judge:a/2026-10-19", Limit: 60}},
				activities.DayAccounts(dream.Agent{ID: "a"}, "2026-10-19", 0)...),
		},
		Attempt: 1,
		Counted: counted,
		State:   spend.Partial,
	}
}

func judgeCall(cost budget.Micros) provider.Call {
	return provider.Call{Number: 3, Key: "judge/a/0123#1", Cost: cost, Charged: true}
}

func TestTheAuditFindsEveryFlaw(t *testing.T) {
	t.Parallel()
	e := flawless()
	require.NoError(t, e.Audit())
	for name, c := range map[string]struct {
		flaw func(*chaos.Evidence)
		says string
	}{
		"unreserved call": {
			func(e *chaos.Evidence) { e.Book.Calls[1].Key = "dream/echo/0001/onset/1/partial-9#1" }, "was never reserved",
		},
		"key used twice": {
			func(e *chaos.Evidence) { e.Book.Calls[1].Key = e.Book.Calls[0].Key },
			"used for two calls",
		},
		"ledger below till": {func(e *chaos.Evidence) { e.Book.Calls[1].Cost = 61 }, "the ledger counts"},
		"cap exceeded": {
			func(e *chaos.Evidence) { e.Book.Calls[1].Cost = 91 },
			"cap phase:dream/echo/0001/onset is $0.0001 and the provider billed $0.000101",
		},
		"doubled settlement": {func(e *chaos.Evidence) { e.Rows[0].Counted = 20 }, "was billed correctly"},
		"account left out": {
			func(e *chaos.Evidence) { e.Rows[0].Accounts = e.Rows[0].Accounts[:2] },
			"was reserved under",
		},
		"wrong balance": {
			func(e *chaos.Evidence) { e.Balances["day:a/2026-10-19"] = spend.Balance{Spent: 71} },
			"its rows add up to",
		},
		"reserved for ever": {
			func(e *chaos.Evidence) { e.Balances["day:a/2026-10-19"] = spend.Balance{Spent: 70, Reserved: 1} },
			"its rows add up to",
		},
		"open attempts": {func(e *chaos.Evidence) { e.Open = []string{"dream/echo/0001"} }, "open reservations"},
		"slot held":     {func(e *chaos.Evidence) { e.Slots = map[string]memory.Slot{"a": {}} }, "still held"},
		"no outcome": {
			func(e *chaos.Evidence) { e.Dreams[0].Record.Outcome = dream.Dreaming },
			"its record says outcome",
		},
		"no reason": {
			func(e *chaos.Evidence) { e.Dreams[0].Record.Outcome = dream.Exhausted },
			"its record says outcome",
		},
		"workflow disagrees": {
			func(e *chaos.Evidence) { e.Dreams[0].Result.Outcome = dream.Empty },
			"its workflow says",
		},
		"workflow runs": {func(e *chaos.Evidence) { e.Dreams[0].Closed = false }, "still runs"},
		"record below ledger": {
			func(e *chaos.Evidence) { e.Dreams[0].Record.Spent, e.Dreams[0].Result.Spent = 69, 69 }, "were spent",
		},
		"record above ledger": {
			func(e *chaos.Evidence) { e.Dreams[0].Record.Spent, e.Dreams[0].Result.Spent = 71, 71 }, "were spent",
		},
		"two ends":             {func(e *chaos.Evidence) { e.Events["a"][0].Type = "DreamEnded" }, "2 ends"},
		"gap in the log":       {func(e *chaos.Evidence) { e.Events["a"][1].Seq = 3 }, "has the number 3"},
		"event recorded twice": {func(e *chaos.Evidence) { e.Events["a"][1].ID = "1" }, "recorded twice"},
		"allowance kept back":  {func(e *chaos.Evidence) { e.Allowances["a/2026-10-19"] = 0 }, "the allowance taken"},
		"aborted keeps it": {func(e *chaos.Evidence) {
			e.Dreams[0].Record.Outcome, e.Dreams[0].Result.Outcome = dream.Aborted, dream.Aborted
		}, "the allowance taken"},
		"provider failed it": {
			func(e *chaos.Evidence) { e.Book.Failed = []string{"a request carried tools"} },
			"carried tools",
		},
		"judge above its cap": {
			func(e *chaos.Evidence) {
				e.Rows, e.Book.Calls = append(e.Rows, judgeRow(61)), append(e.Book.Calls, judgeCall(61))
			},
			"cap judge:a/2026-10-19 is $0.00006 and the provider billed $0.000061",
		},
		"judge without the day's account": {
			func(e *chaos.Evidence) {
				row := judgeRow(10)
				row.Accounts = row.Accounts[:1]
				e.Rows = append(e.Rows, row)
			},
			"judge/a/0123#1 was reserved under",
		},
		"judge below till": {
			func(e *chaos.Evidence) {
				e.Rows, e.Book.Calls = append(e.Rows, judgeRow(9)), append(e.Book.Calls, judgeCall(10))
			},
			"the ledger counts $0.000009 for judge/a/0123#1",
		},
		"invented quotation": {
			func(e *chaos.Evidence) { e.Planted[1].Status, e.Planted[1].Revision = dream.PredictionRight, 2 },
			"prediction pr_invented_0001 is correct",
		},
		"resolved twice": {
			func(e *chaos.Evidence) { e.Planted[0].Revision = 3 },
			"prediction pr_honest_0001 is correct in revision 3, and was announced 1 times",
		},
		"call of no dream":     {func(e *chaos.Evidence) { e.Dreams[0].Begun = false }, "belongs to no dream"},
		"row of another dream": {func(e *chaos.Evidence) { e.Rows[0].Phase = "rem" }, "belongs to dream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := flawless()
			c.flaw(&e)
			require.ErrorContains(t, e.Audit(), c.says)
		})
	}
}

func TestEveryBoughtPartialIsAFragmentOrACut(t *testing.T) {
	t.Parallel()
	e := flawless()
	caught, err := e.AuditPartials()
	require.NoError(t, err)
	require.Equal(t, chaos.PartialCounts{Captured: 1, Cuts: 1}, caught)
	require.NoError(t, e.AuditOnce())
	first, second := "dream/echo/0001/onset/1.1", "dream/echo/0001/onset/1.2"

	e.Fragments[first].Status = dream.FragmentDiscarded
	caught, err = e.AuditPartials()
	require.NoError(t, err)
	require.Equal(t, chaos.PartialCounts{Discarded: 1, Cuts: 1}, caught)

	e.Fragments[second] = &dream.Fragment{Head: dream.Head{ID: second}, Cycle: 1}
	_, err = e.AuditPartials()
	require.ErrorContains(t, err, "has no answer at the provider")

	delete(e.Fragments, second)
	delete(e.Fragments, first)
	_, err = e.AuditPartials()
	require.ErrorContains(t, err, "no fragment has it")

	e = flawless() // and so are all ideas of a call that gave several
	e.Book.Calls[0].Key, e.Answers = "dream/echo/0001/onset/1/ideas#1",
		map[string]int{"dream/echo/0001/onset/1/ideas": 1}
	e.Fragments[second] = &dream.Fragment{Head: dream.Head{ID: second}, Cycle: 1, Status: dream.FragmentDiscarded}
	caught, err = e.AuditPartials()
	require.NoError(t, err)
	require.Equal(t, chaos.PartialCounts{Captured: 1, Discarded: 1, Cuts: 1}, caught)
	clear(e.Fragments)
	_, err = e.AuditPartials()
	require.ErrorContains(t, err, "no fragment has it")
	e.Answers["dream/echo/0001/onset/1/ideas/repair"] = 1
	_, err = e.AuditPartials()
	require.NoError(t, err, "no idea could be parsed, and the call was repeated once")

	e = flawless()
	e.Rows[1].State = spend.Settled
	_, err = e.AuditPartials()
	require.ErrorContains(t, err, "its answer is not stored")
	again := e.Rows[1]
	again.Attempt, again.Latest = 2, 2
	e.Rows, e.Answers[again.Step] = append(e.Rows, again), 2
	e.Book.Calls = append(e.Book.Calls, provider.Call{Number: 3, Key: again.Step + "#2", Completed: true})
	e.Fragments[second] = &dream.Fragment{Head: dream.Head{ID: second}, Cycle: 1}
	caught, err = e.AuditPartials()
	require.NoError(t, err, "another attempt's answer is kept, which had been reserved when this one ended")
	require.Equal(t, chaos.PartialCounts{Captured: 2, Twins: 1}, caught)

	e = flawless()
	e.Rows = append(e.Rows, e.Rows[0])
	e.Rows[2].Attempt, e.Rows[2].Latest, e.Rows[0].Latest = 2, 2, 2
	require.NoError(t, e.AuditOnce(), "two attempts that overlap are both counted")
	e.Rows[0].Latest = 1
	require.ErrorContains(t, e.AuditOnce(), "bought again, after that")
}
