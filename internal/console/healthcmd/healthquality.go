package healthcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/quality"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// quality reads the metrics of the newest dreams. An alarm is to be looked at: the dreams themselves are not wrong.
func (e *examination) quality(ctx context.Context, a dream.Agent, _ []*dream.Record) (healthLine, error) {
	l := healthLine{Name: "quality", State: Fine}
	q, err := review.Quality(ctx, e.app.Store, a.ID, nil)
	if err != nil {
		return l, err
	}
	read := 0
	var alarms []string
	for _, m := range q.Metrics {
		if m.State != quality.TooFew {
			read++
		}
		if m.State == quality.Alarm {
			alarms = append(alarms, fmt.Sprintf("%s is %.3g", strings.ReplaceAll(string(m.Name), "_", " "), m.Value))
		}
	}
	l.Found = cli.Count(read, "metric") + " of the newest dreams read"
	if read == 0 {
		l.Found = "too few dreams for the metrics"
	}
	if q.Yield.Flagged(e.now) {
		alarms = append(alarms, fmt.Sprintf("%.2f of the newest predictions came true, below %.2f for two weeks",
			q.Yield.Rolling, quality.LowYield))
	}
	if len(alarms) > 0 {
		l.is(Look, l.Found+"; "+strings.Join(alarms, "; "),
			"oneiros dreams quality -a "+a.Handle+" shows what is healthy.")
	}
	return l, nil
}
