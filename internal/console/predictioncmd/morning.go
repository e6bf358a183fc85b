package predictioncmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Morning builds the command oneiros morning.
func Morning(app *cli.App) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use: "morning", Short: "What the agent knows now that it did not yesterday", GroupID: cli.MemoryGroup,
		Long: `Morning says what an agent knows now that it did not a day ago: claims that came true more often
than chance, and entries that were written into its playbook. It says what the agent no longer believes, and
which predictions are due within a week. Each line names the days on which it was said, and the episodes.`,
	}
	cmd.Flags().StringVar(&since, "since", "24h",
		"what is new after this `time`: 2026-11-20, 2026-11-20T06:00 or 36h (ago)")
	view.Completes(app, cmd, "since", cli.Nothing)
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		now := app.Now()
		from, err := cli.ReadTime(since, a.Zone, now)
		if err != nil || from.IsZero() {
			return exit.Usagef("--since is %q; it must be a time such as 2026-11-20, 2026-11-20T06:00 or 36h", since)
		}
		if from.After(now) {
			return exit.Usagef("--since is %s, which is still to come; name a time before now, such as 24h", since)
		}
		r, err := review.Morning(ctx, app.Store, a, from, now)
		if err != nil {
			return err
		}
		if app.Json {
			return app.Answer(r)
		}
		drawMorning(app, r, a.Zone)
		return nil
	})
}

// drawMorning draws a report in the width of the screen. Lines that are broken hang under their first one.
func drawMorning(app *cli.App, r morning.Report, zone string) {
	for _, l := range r.Lines(cli.Location(zone)) {
		switch {
		case l.Text == "":
			fmt.Fprintln(app.Out)
		case l.Heading:
			fmt.Fprintln(app.Out, app.Bold(l.Text))
		case l.Indent > 2:
			fmt.Fprintln(app.Out, app.Dim(cli.Wrap(l.Text, app.Width, strings.Repeat(" ", l.Indent))))
		default:
			fmt.Fprintln(app.Out, cli.Wrap(l.Text, app.Width, strings.Repeat(" ", l.Indent)))
		}
	}
}
