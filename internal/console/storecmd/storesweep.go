package storecmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/retention"
)

func storeSweep(app *cli.App) *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use: "sweep", Short: "Remove what has become old, by the ages of the configuration", Args: cobra.NoArgs,
		Long: `Sweep does now what a worker does once every retention.every: calls older than retention.ledger are folded into sums,
and events, earlier revisions, and fragments and scenarios of ended dreams that are older than their age are removed. What
people and agents said, and what dreams concluded, has no age. It may run beside workers, and may be stopped at any time.`,
		Example: "  oneiros store sweep --dry-run\n  oneiros store sweep",
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "count what would go, and remove nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if err := app.Within(ctx); err != nil {
			return err
		}
		if app.Sweeper == nil {
			return exit.Refusedf("this store does not age")
		}
		s := *app.Sweeper
		s.Dry = dry
		removed, err := s.Pass(ctx)
		if err != nil {
			return deploy.SweepError(err)
		}
		answer := sweepAnswer{DryRun: dry, Removed: removed, Ages: agesOf(s.Ages)}
		if err := app.Rows(answer, sweptTable(s.Ages, removed, dry), ""); err != nil {
			return err
		}
		if dry {
			app.Note("Nothing was removed. oneiros store sweep does it; docs/retention.md says what never goes.")
		}
		return nil
	}
	return cmd
}

// sweepAnswer is the answer of store sweep in JSON.
type sweepAnswer struct {
	DryRun bool `json:"dry_run"`
	memory.Removed
	Ages ages `json:"ages"`
}

// ages are the ages of the configuration in milliseconds; 0 keeps for ever.
type ages struct {
	Ledger int64 `json:"ledger_ms"`
	Events int64 `json:"events_ms"`
	Undo   int64 `json:"undo_ms"`
	Dreams int64 `json:"dreams_ms"`
}

func agesOf(a retention.Ages) ages {
	return ages{
		Ledger: a.Ledger.Milliseconds(),
		Events: a.Events.Milliseconds(),
		Undo:   a.Undo.Milliseconds(),
		Dreams: a.Dreams.Milliseconds(),
	}
}

// sweptTable shows what was removed of each kind, with its age.
func sweptTable(a retention.Ages, removed memory.Removed, dry bool) *cli.Table {
	t := cli.NewTable()
	done := "REMOVED"
	if dry {
		done = "WOULD GO"
	}
	t.Columns = cli.Columns("WHAT", "KEPT FOR,right", done+",right")
	revisions := fmt.Sprint(removed.Revisions)
	if dry {
		revisions = "not counted"
	}
	t.Add("calls, folded into sums", keptFor(a.Ledger), fmt.Sprint(removed.Attempts))
	t.Add("events", keptFor(a.Events), fmt.Sprint(removed.Events))
	t.Add("earlier revisions", keptFor(a.Undo), revisions)
	t.Add("fragments and scenarios of ended dreams", keptFor(a.Dreams), fmt.Sprint(removed.Items))
	return t
}

func keptFor(age time.Duration) string {
	if age == 0 {
		return "ever"
	}
	return cli.Plural(int(age/(24*time.Hour)), "day", "days")
}
