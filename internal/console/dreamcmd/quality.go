package dreamcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/quality"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func dreamsQuality(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "quality", Short: "What the newest dreams yield: eight metrics, and how often dreams come true",
		Long: fmt.Sprintf(`Quality measures the newest %d dreams: each metric with the range in which it is healthy and the values that are an
alarm, and how many of the predictions that dreams made came true. The metrics are watched, and nothing is chosen to
reach one. With few dreams or items a metric is not read.`, quality.Dreams),
	}
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		q, err := review.Quality(ctx, app.Store, a.ID, nil)
		if err != nil {
			return err
		}
		if app.Json {
			return app.Answer(q)
		}
		if q.Dreams == 0 {
			app.Say("%s has ended no dream yet.", a.Handle)
			return nil
		}
		t := cli.NewTable("METRIC", "VALUE,right", "HEALTHY", "ALARM,drop=1", "OF,right,drop=2", "READING", "MEANS,flex,drop=3")
		for i, m := range q.Metrics {
			r := quality.Ranges[i]
			value := "-"
			if m.Of > 0 {
				value = number(m.Value)
			}
			t.Add(strings.ReplaceAll(string(m.Name), "_", " "), value, number(r.Low)+" to "+number(r.High), alarmOf(r),
				fmt.Sprint(m.Of), string(m.State), r.Means)
		}
		if err := app.Rows(q, t, ""); err != nil {
			return err
		}
		app.Say("%s", yieldLine(q, app, a))
		if line := reasoningLine(q.Reasoning); line != "" {
			app.Say("%s", line)
		}
		return nil
	})
}

func number(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.3g", x), ".") }

func alarmOf(r quality.Range) string {
	var parts []string
	if r.AlarmLow != nil {
		parts = append(parts, "below "+number(*r.AlarmLow))
	}
	if r.AlarmHigh != nil {
		parts = append(parts, "above "+number(*r.AlarmHigh))
	}
	return strings.Join(parts, ", ")
}

// reasoningLine compares how predictions were reasoned with what came of them; empty when none was reviewed.
func reasoningLine(r quality.Reasoning) string {
	if r.Reviewed() == 0 {
		return ""
	}
	line := fmt.Sprintf("Of %s whose reasoning was reviewed %d were sound and came true, %d sound and did not, %d unsound "+
		"and came true, %d unsound and did not.", cli.Count(r.Reviewed(), "prediction"),
		r.AlignedCorrect, r.AlignedIncorrect, r.MisalignedCorrect, r.MisalignedIncorrect)
	if r.MisalignedCorrect > 0 {
		line += " What was unsound and came true was luck: the accuracy may be inflated by it."
	}
	return line
}

// yieldLine says what came of the predictions of dreams.
func yieldLine(q review.DreamQuality, app *cli.App, a dream.Agent) string {
	y := q.Yield
	if y.Resolved == 0 {
		return cli.Count(q.Dreams, "dream") + " measured. No prediction of a dream has come true or failed yet."
	}
	line := fmt.Sprintf("%s measured. Of %s of dreams %d came true (%s; of the newest hundred %s, at best %s); %s passed.",
		cli.Count(q.Dreams, "dream"), cli.Count(y.Resolved, "resolved prediction"),
		y.Correct, cli.Score(y.Accuracy()), cli.Score(y.Rolling), cli.Score(y.Peak), cli.Count(y.Passed, "claim"))
	switch {
	case y.Flagged(app.Now()):
		line += fmt.Sprintf(" Below %s since %s: look at the model and at what the agent lives.", cli.Score(quality.LowYield),
			cli.When(y.Low, a.Zone))
	case !y.High.IsZero():
		line += fmt.Sprintf(" Above %s since %s: more dreams or a larger budget may pay (oneiros agents edit %s).",
			cli.Score(quality.HighYield), cli.When(y.High, a.Zone), a.Handle)
		if app.Predictions.FollowYield {
			line += " Dreams that begin by themselves come earlier and imagine one scenario more (predictions.follow_yield)."
		}
	}
	return line
}
