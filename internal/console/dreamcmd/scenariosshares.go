package dreamcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// sharesRead is how many dreams are searched for those that reached REM: a year of one a night.
const sharesRead = 365

func scenariosShares(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "shares", Short: "How many fragments are imagined further, and how many of those are staged",
		Long: fmt.Sprintf(
			"Shares counts over the last %d dreams of an agent that reached REM: which share of the fragments that the observer kept was\n"+
				"developed into scenarios, and on which share of those a hypothesis was staged. Each has a healthy range and an alarm.\n"+
				"They are watched and never aimed at: nothing is selected or staged to reach one.",
			hypnagogia.ShareWindow,
		),
	}
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		nights, err := fragmentsOf(ctx, app, a)
		if err != nil {
			return err
		}
		used, staged := hypnagogia.Shares(nights)
		values := map[string]any{
			"agent": a.Handle, "dreams": len(nights), "window": hypnagogia.ShareWindow,
			"used": used, "staged": staged,
		}
		t := cli.NewTable("SHARE,flex", "VALUE,right", "OF,right", "HEALTHY,right", "ALARM,right,drop=1", "STATE")
		if len(nights) > 0 {
			t.Add(shareRow("fragments developed in REM", used)...)
			t.Add(shareRow("of these staged as hypotheses", staged)...)
		}
		if err := app.Rows(values, t, "No dream of %s has reached REM yet.", a.Handle); err != nil {
			return err
		}
		if len(nights) > 0 {
			app.Note("Over %s of %s.", cli.Count(len(nights), "dream"), a.Handle)
		}
		return nil
	})
}

func shareRow(name string, s hypnagogia.Share) []string {
	percent := func(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
	value := "-"
	if s.State != hypnagogia.Unknown {
		value = fmt.Sprintf("%.1f%%", 100*s.Value)
	}
	return []string{
		name, value, fmt.Sprintf("%d/%d", s.Part, s.Whole), percent(s.Band.Low) + "-" + percent(s.Band.High),
		"<" + percent(s.Band.AlarmBelow) + " >" + percent(s.Band.AlarmAbove), shareState(s.State),
	}
}

// shareState describes the state of a share.
func shareState(s hypnagogia.State) string {
	switch s {
	case hypnagogia.Alarmed:
		return "ALARM"
	case hypnagogia.OutsideBand:
		return "beside its range"
	case hypnagogia.Unknown:
		return "nothing to count"
	}
	return string(s)
}

// fragmentsOf counts the fragments of an agent's newest dreams that reached REM, newest first.
func fragmentsOf(ctx context.Context, app *cli.App, a dream.Agent) ([]hypnagogia.Fragments, error) {
	items, err := app.Store.Find(ctx,
		memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Sort: memory.Newest, Limit: sharesRead})
	if err != nil {
		return nil, fmt.Errorf("read the dreams of %s: %w", a.Handle, err)
	}
	var counted []hypnagogia.Fragments
	for _, n := range memory.As[*dream.Record](items) {
		if !reachedREM(n) || len(counted) == hypnagogia.ShareWindow {
			continue
		}
		made, err := app.Store.Find(ctx, memory.Query{
			Agent: a.ID, Dream: n.ID, Kinds: []dream.Kind{dream.KindFragment, dream.KindScenario},
			States: dream.States,
		})
		if err != nil {
			return nil, fmt.Errorf("read what %s made: %w", n.ID, err)
		}
		counted = append(counted,
			hypnagogia.CountFragments(memory.As[*dream.Fragment](made), memory.As[*dream.Scenario](made)))
	}
	return counted, nil
}

// reachedREM reports whether a dream has ended and reached REM. One of the core tier never does.
func reachedREM(n *dream.Record) bool {
	if n.Outcome == dream.Dreaming {
		return false
	}
	for _, t := range n.Phases {
		if t.Phase == dream.REM && t.State != "skipped" {
			return true
		}
	}
	return false
}
