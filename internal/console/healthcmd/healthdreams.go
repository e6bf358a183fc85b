package healthcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

// dreamsChecked is how many dreams are checked: a month of one a night, as in the rolling metrics.
const dreamsChecked = 30

// failedAlarm is how many failed dreams in a row are wrong. A single one may be due to an outage of the provider.
const failedAlarm = 2

// recordsOf returns the newest records, newest first, undone ones included.
func (e *examination) recordsOf(ctx context.Context, a dream.Agent) ([]*dream.Record, error) {
	items, err := e.app.Store.Find(ctx, memory.Query{
		Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, States: []dream.State{dream.Live, dream.Archived},
		Limit: dreamsChecked,
	})
	return memory.As[*dream.Record](items), err
}

// planned compares the dreams that were due with those that ran.
func (e *examination) planned(ctx context.Context, a dream.Agent, records []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "dreams", State: Fine}
	week, stuck, elsewhere := 0, []string{}, []*dream.Record{}
	for _, n := range records {
		if e.now.Sub(n.At) < 7*24*time.Hour {
			week++
		}
		if n.Outcome == dream.Dreaming {
			runs, _, err := e.running(ctx, []dream.Agent{a}, n.ID)
			if err != nil {
				return l, err
			}
			switch {
			case runs:
			case e.engine != nil && activities.Elsewhere(n.Cluster, e.engine.Workflows().ClusterID()):
				elsewhere = append(elsewhere, n)
			default:
				stuck = append(stuck, n.ID)
			}
		}
	}
	if len(stuck) > 0 {
		l.is(Wrong, fmt.Sprintf("recorded as still dreaming, but no workflow runs it: %s", strings.Join(stuck, ", ")),
			"A worker closes it within five minutes (oneiros up).")
		return l, nil
	}
	if len(elsewhere) > 0 {
		n := elsewhere[0]
		l.is(Wrong, fmt.Sprintf("%s is recorded as still dreaming on another Temporal cluster, %s", n.ID, n.Cluster),
			"If that cluster is gone for good, "+activities.Abandoning(n.ID)+".")
		return l, nil
	}
	l.Found = cli.Count(week, "dream") + " within a week"
	agentState, err := view.AgentStateOf(ctx, e.app, a)
	if err != nil {
		return l, err
	}
	auto := a.Auto || e.app.Settings.Auto
	switch missed := agentState.Next.Missed; {
	case !missed.At.IsZero():
		by := ""
		if missed.By != "" {
			by = " by its trigger " + missed.By
		}
		l.is(Look, fmt.Sprintf("%s; one was due at %s%s and did not begin", l.Found, cli.When(missed.At, a.Zone), by),
			"")
		if len(agentState.Next.Against) > 0 {
			l.Found += ": " + strings.Join(agentState.Next.Against, "; ")
		}
		l.Advice = "oneiros agents show " + a.Handle + " says what stands against it; oneiros up runs what begins it."
	case !auto:
		l.Found += "; none is planned, since dreaming by itself is off"
	case agentState.Next.At != nil:
		l.Found += "; the next not before " + cli.When(*agentState.Next.At, a.Zone)
	case len(agentState.Next.Against) > 0:
		l.Found += "; " + strings.Join(agentState.Next.Against, "; ")
	}
	return l, nil
}

// outcomes counts empty and failed dreams in a row.
func (e *examination) outcomes(_ context.Context, a dream.Agent, records []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "outcomes", State: Fine}
	empty, failed := 0, 0
	var kinds []dream.Outcome
	count := map[dream.Outcome]int{}
	emptyOver, failedOver := false, false
	for _, n := range records {
		if n.State != dream.Live || n.Unsettled() {
			continue
		}
		count[n.Outcome]++
		if count[n.Outcome] == 1 {
			kinds = append(kinds, n.Outcome)
		}
		switch n.Outcome {
		case dream.Empty:
			failedOver = true
			if !emptyOver {
				empty++
			}
		case dream.Aborted: // says nothing about what a completed dream would keep
			if !failedOver {
				failed++
			}
		case dream.Completed, dream.Exhausted, dream.Interrupted:
			emptyOver, failedOver = true, true
		case dream.Canceled, dream.Dreaming, dream.Undone:
		}
	}
	parts := make([]string, len(kinds))
	for i, k := range kinds {
		parts[i] = fmt.Sprintf("%d %s", count[k], k)
	}
	l.Found = "no dream has ended yet"
	if len(parts) > 0 {
		l.Found = strings.Join(parts, ", ")
	}
	alarm := e.app.Knobs.EmptyAlarm
	if alarm == 0 {
		alarm = dream.DefaultEmptyAlarm
	}
	switch {
	case failed >= failedAlarm:
		l.is(Wrong, fmt.Sprintf("%s; the last %d failed: %s", l.Found, failed, lastReason(records, dream.Aborted)), "oneiros dreams show last -a "+a.Handle+
			" says which call failed; oneiros doctor looks at the providers.")
	case empty >= alarm:
		l.is(Wrong, fmt.Sprintf("%s; the last %d kept nothing, and dream.empty_alarm is %d: %s", l.Found, empty, alarm,
			lastReason(records, dream.Empty)), "See what fragments were dropped for (oneiros fragments list -a "+a.Handle+
			" --status discarded), and whether there is anything new to dream about.")
	case empty > 0:
		l.is(Look, fmt.Sprintf("%s; the last %d kept nothing", l.Found, empty),
			fmt.Sprintf("At %d in a row this is wrong (dream.empty_alarm).", alarm))
	case failed > 0:
		l.is(Look, fmt.Sprintf("%s; the last failed: %s", l.Found, lastReason(records, dream.Aborted)),
			"oneiros dreams show last -a "+a.Handle+" says which call failed.")
	}
	return l, nil
}

func lastReason(records []*dream.Record, outcome dream.Outcome) string {
	for _, n := range records {
		if n.Outcome == outcome && n.State == dream.Live {
			return cli.OrDash(cli.Flat(n.Reason))
		}
	}
	return "-"
}

// lastKept reports when a dream last kept something.
func (e *examination) lastKept(_ context.Context, a dream.Agent, records []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "kept", State: Fine, Found: "it has not dreamt yet"}
	if len(records) > 0 {
		l.Found = "no dream that counts has ended yet"
	}
	since := 0
	for _, n := range records {
		if n.State != dream.Live || n.Unsettled() {
			continue
		}
		kept := 0
		for _, t := range n.Phases {
			if t.Phase != dream.Return {
				kept += t.Kept
			}
		}
		if kept > 0 {
			l.Found = fmt.Sprintf("%s by %s, %s", cli.Count(kept, "thing"), n.ID,
				cli.When(n.Ended, a.Zone))
			if since > 0 {
				l.Found += fmt.Sprintf("; nothing in the %s since", cli.Count(since, "dream"))
			}
			return l, nil
		}
		since++
	}
	if since > 0 {
		l.is(Look, fmt.Sprintf("nothing in the last %s", cli.Count(since, "dream")),
			"oneiros dreams list -a "+a.Handle+" says how each ended.")
	}
	return l, nil
}

// overdueBy is how long after its time a prediction is overdue: a worker resolves what is due once a minute.
const overdueBy = 5 * time.Minute

// overdue reports predictions that are due and unresolved.
func (e *examination) overdue(ctx context.Context, a dream.Agent, _ []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "predictions", State: Fine}
	q := memory.Query{
		Agent:    a.ID,
		Kinds:    []dream.Kind{dream.KindPrediction},
		Statuses: []string{dream.PredictionOpen},
	}
	open, err := e.app.Store.Count(ctx, q)
	if err != nil {
		return l, err
	}
	q.DueBefore = e.now.Add(-overdueBy)
	late, err := e.app.Store.Count(ctx, q)
	l.Found = fmt.Sprintf("%d open, none overdue", open)
	if late > 0 {
		l.is(Look, fmt.Sprintf("%d open, %d of them past their time", open, late),
			"Resolve what you know (oneiros predictions list -a "+a.Handle+"); a worker makes the rest void.")
	}
	return l, err
}

// reviews counts what waits for a person's decision.
func (e *examination) reviews(ctx context.Context, a dream.Agent, _ []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "review", State: Fine, Found: "nothing waits"}
	items, err := view.Reviewing(e.app).Waiting(ctx, a.ID)
	if err != nil || len(items) == 0 {
		return l, err
	}
	held, oldest := 0, items[0].Header().At
	for _, item := range items {
		if _, ok := item.(*dream.Fragment); ok {
			held++
		}
		if at := item.Header().At; at.Before(oldest) {
			oldest = at
		}
	}
	var parts []string
	if n := len(items) - held; n > 0 {
		parts = append(parts, cli.Count(n, "thing")+" to be accepted or rejected")
	}
	if held > 0 {
		parts = append(parts, cli.Count(held, "held fragment"))
	}
	l.is(Look, fmt.Sprintf("%s, the oldest since %s", strings.Join(parts, ", "),
		cli.Day(oldest, a.Zone)), "oneiros review list -a "+a.Handle)
	return l, nil
}

// recall reports dreams that made recall worse and were undone automatically, and the result of the newest probe.
func (e *examination) recall(_ context.Context, a dream.Agent, records []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "recall", State: Fine, Found: "no dream has been probed"}
	undone, counting := 0, true
	for i := len(records) - 1; i >= 0; i-- {
		if r := records[i].Recall; r != nil {
			l.Found = fmt.Sprintf("%d of %d of its own memories found before %s, %d after", r.Before, r.Requested,
				records[i].ID, r.After)
		}
	}
	for _, n := range records {
		switch n.Outcome {
		case dream.Undone:
			undone++
			if counting && undone >= failedAlarm {
				l.State = Wrong
			}
		case dream.Completed, dream.Exhausted, dream.Empty:
			counting = false
		case dream.Aborted, dream.Canceled, dream.Dreaming, dream.Interrupted:
		}
	}
	if undone == 0 {
		return l, nil
	}
	if l.State == Fine {
		l.State = Look
	}
	l.Found = fmt.Sprintf("%s made it worse and undone automatically; %s", cli.Count(undone, "dream"),
		l.Found)
	l.Advice = "oneiros events -a " + a.Handle +
		" --type DreamUndone says what was lost; look at the models, and what they were shown."
	return l, nil
}
