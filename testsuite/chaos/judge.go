package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// Before each dream its agent gets two predictions in prose, and what was lived since shows both. The judge quotes it
// for one and invents a quotation for the other.

// Prefixes of the ids of planted predictions.
const (
	honest   = "pr_honest_"
	invented = "pr_invented_"
)

// foretell plants the predictions of the i-th dream and what was lived of them.
func (p *execution) foretell(ctx context.Context, i int, agent dream.Agent) error {
	if p.run.JudgeDaily <= 0 {
		return nil
	}
	made := testdeploy.Night.Add(-30 * time.Hour)
	w := memory.Write{Agent: agent.ID, Cause: "test"}
	for n, prefix := range []string{honest, invented} {
		boat := nameOf(2*i + n)
		id := fmt.Sprintf("%s%04d", prefix, i)
		w.Add = append(w.Add, &dream.Prediction{
			Head: dream.Head{
				ID:    id,
				Agent: agent.ID,
				Kind:  dream.KindPrediction,
				At:    made,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Source:     dream.Analytical,
			Claim:      "The boat " + boat + " sinks.",
			Criterion:  "Somebody says that " + boat + " sank.",
			Horizon:    testdeploy.Night,
			Confidence: .3,
			Status:     dream.PredictionOpen,
		}, &dream.Episode{
			Head: dream.Head{
				ID:    "ep_" + id,
				Agent: agent.ID,
				Kind:  dream.KindEpisode,
				At:    made.Add(time.Hour + time.Duration(2*i+n)*time.Second),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content:  "The boat " + boat + " sank in the harbour today.",
			Salience: .5,
		})
	}
	_, err := p.deployment.Store.Commit(ctx, w)
	return err
}

// nameOf is a word for a number.
func nameOf(n int) string {
	word := "K"
	for range 4 {
		word += string("bdfgklmnprstvz"[n%14]) + string("aeiou"[n/14%5])
		n /= 70
	}
	return word
}

var askedFor = regexp.MustCompile(`(?m)^- \[(p\d+)\] made .*: The boat (\w+) sinks\. What would show it: .* Compare it with (.+)\.$`)

// sayOutcomes answers the judge, and leaves every other request to the provider.
func sayOutcomes(q provider.Request) string {
	if q.Schema != "outcomes" && !strings.Contains(q.Prompt, "What would show it:") {
		return ""
	}
	outcomes := []map[string]string{}
	for _, m := range askedFor.FindAllStringSubmatch(q.Prompt, -1) {
		spoken := "The boat " + m[2] + " sank in the harbour today."
		for _, ref := range strings.Split(m[3], ", ") {
			_, line, _ := strings.Cut(q.Prompt, "["+ref+"] ")
			line, _, _ = strings.Cut(line, "\n")
			if !strings.Contains(line, spoken) {
				continue
			}
			quotation := spoken
			if isInventedBoat(m[2]) {
				quotation = "The boat " + m[2] + " sank."
			}
			outcomes = append(outcomes, map[string]string{
				"ref": m[1], "verdict": dream.PredictionRight, "memory": ref, "quotation": quotation,
			})
		}
	}
	body, err := json.Marshal(map[string]any{"outcomes": outcomes})
	if err != nil {
		return ""
	}
	return string(body)
}

// isInventedBoat says whether the judge invents its quotation about a boat.
func isInventedBoat(boat string) bool { return strings.IndexByte("bdfgklmnprstvz", boat[1])%2 == 1 }

// isJudgeCall says whether an idempotency key is of a call that judges predictions.
func isJudgeCall(key string) bool { return strings.HasPrefix(key, "judge/") }

// judgeAccounts are the caps that a call of the judge had to fit under.
func (e *Evidence) judgeAccounts(row spend.Row) []budget.Account {
	if e.Judging == nil {
		return nil
	}
	own := budget.Account{Scope: review.JudgeScope(row.Agent, row.Day), Limit: e.Judging.Daily}
	return append([]budget.Account{own}, activities.DayAccounts(e.Agents[row.Agent], row.Day, e.FleetDay)...)
}

// planted reads the predictions that foretell has planted.
func (e *Evidence) planted(ctx context.Context, c *testdeploy.Deployment, agent dream.Agent) error {
	items, err := c.Store.Find(ctx, memory.Query{
		Agent: agent.ID, Kinds: []dream.Kind{dream.KindPrediction}, Sort: memory.Oldest,
	})
	for _, p := range memory.As[*dream.Prediction](items) {
		if strings.HasPrefix(p.ID, honest) || strings.HasPrefix(p.ID, invented) {
			e.Planted = append(e.Planted, p)
		}
	}
	return err
}

// verdicts checks that each prediction was resolved once at most and announced as often, and none by a quotation that
// was invented.
func (e *Evidence) verdicts() []error {
	var faults []error
	announced := map[string]int{}
	for _, events := range e.Events {
		for _, one := range events {
			var r event.PredictionResolved
			if one.Type == r.EventType() && json.Unmarshal(one.Data, &r) == nil {
				announced[r.Prediction]++
			}
		}
	}
	for _, p := range e.Planted {
		want := 0
		if p.Status != dream.PredictionOpen {
			want = 1
		}
		if announced[p.ID] != want || p.Revision != want+1 {
			faults = append(faults, fmt.Errorf("prediction %s is %s in revision %d, and was announced %d times", p.ID,
				p.Status, p.Revision, announced[p.ID]))
		}
		if want == 1 && (!strings.HasPrefix(p.ID, honest) || p.Status != dream.PredictionRight) {
			faults = append(faults, fmt.Errorf("prediction %s is %s by %s: %s", p.ID, p.Status, p.ResolvedBy, p.Evidence))
		}
	}
	return faults
}

// JudgeFigures sum up what the judge did.
type JudgeFigures struct {
	Planted, Right int // of those whose quotation is not invented
	Calls          int
	Faults         int // of these calls, those that met a fault
	Open           int // calls whose process was killed
	Billed         budget.Micros
	Nearest        float64 // share of its cap that the judge's fullest day has taken
}

func (e *Evidence) judgeFigures() JudgeFigures {
	var f JudgeFigures
	for _, p := range e.Planted {
		if !strings.HasPrefix(p.ID, honest) {
			continue
		}
		f.Planted++
		if p.Status == dream.PredictionRight {
			f.Right++
		}
	}
	for _, call := range e.Book.Calls {
		if !isJudgeCall(call.Key) {
			continue
		}
		f.Calls++
		f.Billed += call.Cost
		if call.Fault != provider.None {
			f.Faults++
		}
	}
	for key, row := range keyed(e.Rows) {
		if isJudgeCall(key) && row.State == spend.Open {
			f.Open++
		}
	}
	for scope, b := range e.Balances {
		if e.Judging != nil && strings.HasPrefix(scope, "judge:") {
			f.Nearest = max(f.Nearest, float64(b.Spent+b.Reserved)/float64(e.Judging.Daily))
		}
	}
	return f
}

// String is a line of the report.
func (f JudgeFigures) String() string {
	return fmt.Sprintf("%d of %d that hold were resolved, in %d calls for %s; %d met a fault, %d were killed; "+
		"the fullest day of a judge took %.0f %% of its cap", f.Right, f.Planted, f.Calls, f.Billed, f.Faults, f.Open,
		100*f.Nearest)
}
