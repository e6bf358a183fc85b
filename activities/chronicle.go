package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/purse"
)

// Chronicle announces where a night stands, with the figures of the ledger.
type Chronicle struct{ Ports }

// MarkRequest asks to announce the state of a phase.
type MarkRequest struct {
	Sitting
	Phase   dream.Phase   `json:"phase"`
	Mark    string        `json:"mark"`  // makes the events' ids: "open", "cycle-1", "close"
	State   string        `json:"state"` // of the tally: running, ran, skipped, exhausted
	Reason  string        `json:"reason,omitempty"`
	Cap     budget.Micros `json:"cap"`
	Made    int           `json:"made"`
	Kept    int           `json:"kept"`
	Cycles  int           `json:"cycles,omitempty"`
	Failed  int           `json:"failed,omitempty"`
	Started time.Time     `json:"started"`
	Now     time.Time     `json:"now"`
	Open    *Opening      `json:"open,omitempty"`
}

// Opening is what an onset announces when it starts.
type Opening struct {
	Gathered GatherResult `json:"gathered"`
	Depth    dream.Stage  `json:"depth"`
}

// Mark sums up the phase from the ledger, announces it and returns it.
func (c *Chronicle) Mark(ctx context.Context, r MarkRequest) (dream.Tally, error) {
	t := dream.Tally{
		Phase: r.Phase, State: r.State, Reason: r.Reason, Cap: r.Cap, Made: r.Made, Kept: r.Kept,
		Cycles: r.Cycles, Failed: r.Failed, Started: r.Started, Ended: r.Now,
	}
	rows, err := c.Purse.Ledger.Rows(ctx, purse.Query{Dream: r.Dream, Phase: string(r.Phase)})
	if err != nil {
		return t, tell(fmt.Errorf("sum up %s of %s: %w", r.Phase, r.Dream, err))
	}
	for _, row := range rows {
		t.Spent += row.Counted
		t.In += row.Tokens.In
		t.Cached += row.Tokens.Cached
		t.Out += row.Tokens.Out
		if row.State == purse.Settled || row.State == purse.Partial {
			t.Calls++
		}
	}
	events := append(c.edge(r, t), c.event(r.Sitting, string(r.Phase)+"/"+r.Mark, event.Spent{Tally: t}))
	return t, tell(c.write(ctx, r.Sitting, memory.Write{Events: events}))
}

// edge is the announcement that belongs to the beginning or the end of a phase.
func (c *Chronicle) edge(r MarkRequest, t dream.Tally) []event.Event {
	var payloads []event.Payload
	switch {
	case r.Phase == dream.Onset && r.State == "skipped":
		payloads = append(payloads, event.OnsetSkipped{Reason: r.Reason})
	case r.Mark == "open" && r.Phase == dream.Onset && r.Open != nil:
		g := r.Open.Gathered
		payloads = append(payloads, event.OnsetStarted{
			Depth: r.Open.Depth, Budget: r.Cap, Affect: g.Affect, Bias: g.Bias, Selected: g.Selected, Shown: g.Shown,
		})
	case r.Mark == "open" && r.Phase != dream.Return:
		payloads = append(payloads, event.PhaseStarted{Phase: r.Phase, Budget: r.Cap})
	case r.Mark == "close" && r.Phase == dream.Onset:
		payloads = append(payloads, event.OnsetCompleted{
			Fragments: r.Kept, Spent: t.Spent, Seconds: r.Now.Sub(r.Started).Seconds(), Cycles: r.Cycles, Reason: r.Reason,
		})
	case r.Mark == "close" && r.Phase != dream.Return:
		payloads = append(payloads, event.PhaseCompleted{Phase: r.Phase, Made: r.Made, Kept: r.Kept, Calls: t.Calls, Spent: t.Spent, State: r.State})
	}
	events := make([]event.Event, len(payloads))
	for i, p := range payloads {
		events[i] = c.event(r.Sitting, string(r.Phase)+"/"+r.Mark, p)
	}
	return events
}

// DepthRequest asks to announce a change of depth.
type DepthRequest struct {
	Sitting
	Mark string      `json:"mark"`
	From dream.Stage `json:"from"`
	To   dream.Stage `json:"to"`
	Heat float64     `json:"heat"`
}

// Deepen announces a move between Hori stages.
func (c *Chronicle) Deepen(ctx context.Context, r DepthRequest) error {
	e := c.event(r.Sitting, "onset/depth-"+r.Mark, event.DepthChanged{From: r.From, To: r.To, Temperature: r.Heat})
	return tell(c.write(ctx, r.Sitting, memory.Write{Events: []event.Event{e}}))
}
