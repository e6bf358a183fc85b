package predictioncmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func predictionScore(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "score", Short: "How well the agent predicts: accuracy, Brier score, calibration by phase",
		Long: `Score holds what came true against what was claimed and against what each phase is expected to reach (onset .15,
NREM .30, REM .25). The range beside an accuracy is what so few outcomes allow, at 95 %; what is expected is only missed
where it lies outside. The Brier score is the mean squared residual: 0 is perfect. The skill
compares it with always saying the share that came true: 1 is perfect, 0 no better than that. The bias is accuracy minus confidence:
below 0 the agent was too sure. Open predictions count for nothing. Void ones, which nobody could judge, are left out of
every figure but their share of all that were resolved (VOID): where it is high, accuracy says little.`,
	}
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		s, err := review.Scores(ctx, app.Store, a.ID)
		if err != nil {
			return err
		}
		t := cli.NewTable("PREDICTED BY", "OUTCOMES,right", "CORRECT,right,drop=3", "ACCURACY,right", "RANGE,drop=3",
			"EXPECTED,right,drop=2", "CONFIDENCE,right,drop=4", "BRIER,right", "SKILL,right,drop=3", "BIAS,right,drop=4", "VOID,right",
			"READING,drop=1")
		for _, phase := range s.Phases {
			addRecord(t, string(phase.Phase), phase.Record)
		}
		addRecord(t, "all dreams", s.Creative)
		addRecord(t, fmt.Sprintf("the last %d", prediction.Rolling), s.Rolling)
		addRecord(t, "people and tools", s.Analytical)
		return app.Rows(s, t, "No prediction of %s has been resolved yet.", a.Handle)
	})
}

// addRecord adds a track record to the table, unless nothing of it was resolved.
func addRecord(t *cli.Table, who string, r prediction.Record) {
	if r.Outcomes+r.Void == 0 {
		return
	}
	void := cli.Score(r.VoidShare)
	if r.Outcomes == 0 {
		t.Add(who, "0", "-", "-", "-", "-", "-", "-", "-", "-", void, string(r.Read()))
		return
	}
	expected, reading, skill := "-", "-", "-"
	if r.Skill != nil {
		skill = cli.Signed(*r.Skill)
	}
	if r.Expected > 0 {
		expected, reading = cli.Score(r.Expected), string(r.Read())
	}
	t.Add(who, strconv.Itoa(r.Outcomes), strconv.Itoa(r.Right), cli.Score(r.Accuracy),
		cli.Score(r.Low)+" to "+cli.Score(r.High), expected, cli.Score(r.Confidence), fmt.Sprintf("%.3f", r.Brier),
		skill, cli.Signed(r.Bias), void, reading)
}
