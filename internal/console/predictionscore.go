package console

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

func (app *App) predictionScore() *cobra.Command {
	cmd := &cobra.Command{
		Use: "score", Short: "How well the agent predicts: accuracy, Brier score, calibration by phase",
		Long: `Score holds what came true against what was claimed and against what each phase is expected to reach (onset .15,
NREM .30, REM .25). The range beside an accuracy is what so few outcomes allow, at 95 %; what is expected is only missed
where it lies outside. The Brier score is the mean squared residual: 0 is perfect. The bias is accuracy minus confidence:
below 0 the agent was too sure. Open and void predictions count for nothing.`,
	}
	app.addAgentFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		outcomes, err := activities.Outcomes(cmd.Context(), h.Store, a.ID)
		if err != nil {
			return err
		}
		s := prediction.Calibration(outcomes)
		t := &table{columns: []column{
			{title: "FORETOLD BY"},
			{title: "OUTCOMES", right: true},
			{title: "RIGHT", right: true, drop: 3},
			{title: "ACCURACY", right: true},
			{title: "RANGE", drop: 2},
			{title: "EXPECTED", right: true, drop: 1},
			{title: "CONFIDENCE", right: true, drop: 4},
			{title: "BRIER", right: true},
			{title: "BIAS", right: true, drop: 4},
			{title: "READING", drop: 1},
		}}
		for _, phase := range s.Phases {
			t.addRecord(string(phase.Phase), phase.Record)
		}
		t.addRecord("all dreams", s.Creative)
		t.addRecord(fmt.Sprintf("the last %d", prediction.Rolling), s.Rolling)
		t.addRecord("persons and tools", s.Analytical)
		return app.rows(s, t, "No prediction of %s has come true or failed yet.", a.Handle)
	}
	return cmd
}

// addRecord adds a track record to the table, unless it is empty.
func (t *table) addRecord(who string, r prediction.Record) {
	if r.Outcomes == 0 {
		return
	}
	expected, reading := "-", "-"
	if r.Expected > 0 {
		expected, reading = score(r.Expected), string(r.Read())
	}
	t.add(who, strconv.Itoa(r.Outcomes), strconv.Itoa(r.Right), score(r.Accuracy), score(r.Low)+" to "+score(r.High),
		expected,
		score(r.Confidence), fmt.Sprintf("%.3f", r.Brier), signed(r.Bias), reading)
}
