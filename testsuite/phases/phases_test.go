package phases_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/eval"
)

// history is what the arms live through.
type history struct {
	set, name       string
	diary, dialogue string // as oneiros eval takes them
	nights, judge   int
}

// The sets that a phase is judged on: the lives that ship, and dialogues of LoCoMo.
const lives, dialogues = "lives", "dialogues"

// firstSeed is that of the dreams of the first run; none of the seeds had been used before.
const firstSeed = 11

// seed is the one that SEED names.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := cmp.Or(os.Getenv("SEED"), strconv.Itoa(firstSeed))
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, "SEED is a whole number")
	return n
}

// left names the arm that leaves out a phase.
var left = []struct{ phase, arm string }{
	{"onset", eval.NoOnset}, {"NREM", eval.NoNREM}, {"REM", eval.NoREM}, {"integration", eval.NoIntegration},
}

// price is that of testsuite/ablation, a small hosted model: the built-in one costs nothing, so its tokens are priced.
var price = budget.Price{In: 150_000, CachedIn: 150_000, Out: 600_000}

// histories are the two lives, and the dialogues in the file that LOCOMO names.
func histories() []history {
	all := []history{
		{
			set:    lives,
			name:   "house",
			diary:  "house",
			nights: 14,
			judge:  14,
		},
		{
			set:    lives,
			name:   "oncall",
			diary:  "oncall",
			nights: 14,
			judge:  14,
		},
	}
	if file := os.Getenv("LOCOMO"); file != "" {
		for _, d := range []string{"conv-26", "conv-30"} {
			all = append(all, history{
				set:      dialogues,
				name:     d,
				diary:    file,
				dialogue: d,
				nights:   6,
				judge:    6,
			})
		}
	}
	return all
}

// prepare prepares an evaluation in a folder of its own.
func prepare(t *testing.T, h history, nights int) *deploy.Evaluation {
	t.Helper()
	return prepareIn(t, t.TempDir(), h, nights)
}

func prepareIn(t *testing.T, dir string, h history, nights int) *deploy.Evaluation {
	t.Helper()
	server := os.Getenv("ONEIROS_TEMPORALD")
	if server == "" {
		var err error
		server, err = filepath.Abs("../../bin/temporald")
		require.NoError(t, err)
	}
	process := deploy.NewProcess([]string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ONEIROS_TEMPORALD=" + server, "ONEIROS_DATA_DIR=" + dir,
	})
	e, err := process.Evaluation(t.Context(), deploy.EvaluationRequest{
		Diary:     h.diary,
		Dialogue:  h.dialogue,
		Dir:       filepath.Join(dir, "work"),
		Nights:    nights,
		Judging:   h.judge,
		Questions: 200,
		Seed:      seed(t),
	})
	require.NoError(t, err)
	return e
}

// played is what one arm came to.
type played struct {
	nights int
	cost   budget.Micros // of all nights
	claims []eval.Claim
	found  int // questions
}

// play plays an arm.
func play(t *testing.T, h history, arm string, nights int) played {
	t.Helper()
	return playIn(t, prepare(t, h, nights), h, arm, nights)
}

func playIn(t *testing.T, e *deploy.Evaluation, h history, arm string, nights int) played {
	t.Helper()
	a, err := e.Play(t.Context(), arm, func(deploy.Progress) {})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	p := played{nights: nights, claims: a.Claims}
	for _, night := range a.Nights {
		p.cost += price.Cost(budget.Tokens{In: night.In, Out: night.Out})
	}
	for _, answer := range a.Answers {
		if answer.Place > 0 {
			p.found++
		}
	}
	t.Logf("%s, %s: %d nights", h.name, arm, nights)
	return p
}

// row shows an arm: what it cost, what came true of it, and how many questions found their memory.
func (p played) row(h history, arm string) string {
	hits, trials, beyond := 0, 0, 0.
	for _, c := range p.claims {
		if c.Trials > 0 && c.DecoyTrials > 0 {
			hits, trials = hits+c.Hits, trials+c.Trials
		}
	}
	for _, d := range eval.Differences(p.claims, nil) {
		beyond += d
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %d of %d | %.1f | %d |\n", h.name, arm, p.nights, p.cost, hits, trials, beyond,
		p.found)
}

// TestEachPhaseIsLeftOut plays whole dreams and dreams without one phase, for as many nights and for as much money.
func TestEachPhaseIsLeftOut(t *testing.T) {
	if os.Getenv("LOCOMO") == "" {
		t.Skip("make bench-phases LOCOMO=locomo10.json leaves out each phase of a dream")
	}
	var arms strings.Builder
	total := map[string][]float64{} // by phase, set and way of comparing
	for _, h := range histories() {
		whole := play(t, h, eval.All, h.nights)
		arms.WriteString(play(t, h, eval.Raw, h.nights).row(h, eval.Raw))
		arms.WriteString(whole.row(h, eval.All))
		arms.WriteString(play(t, h, eval.Placebo, h.nights).row(h, eval.Placebo))
		e := prepare(t, h, h.nights)
		past := e.Plan.Days - e.Plan.JudgingDays
		require.NoError(t, e.Close())
		for _, l := range left {
			part := play(t, h, l.arm, h.nights)
			arms.WriteString(part.row(h, l.arm))
			bought := min(past, int(int64(h.nights)*int64(whole.cost)/int64(part.cost)))
			rich := play(t, h, l.arm, bought)
			arms.WriteString(rich.row(h, l.arm+", same money"))
			for way, other := range map[string]played{"nights": part, "money": rich} {
				key := l.phase + h.set + way
				total[key] = append(total[key], eval.Differences(whole.claims, other.claims)...)
			}
		}
	}
	tables := phaseTable(total) + "\n| history | arm | nights | tokens' price | came true | beyond chance | found |\n" +
		"|---|---|---|---|---|---|---|\n" + arms.String()
	fmt.Println(tables)
	if os.Getenv("UPDATE") == "table" {
		writeTables(t, tables)
	}
}

// phaseTable shows what each phase adds to what comes true.
func phaseTable(total map[string][]float64) string {
	var b strings.Builder
	b.WriteString("| phase | set | adds, for the same money | adds, in as many nights |\n|---|---|---|---|\n")
	for _, l := range left {
		for _, set := range []string{lives, dialogues} {
			key := l.phase + set
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.phase, set, estimate(total[key+"money"]), estimate(total[key+"nights"]))
		}
	}
	return b.String()
}

func estimate(differences []float64) string {
	e := eval.Total(differences)
	if e == (eval.Estimate{}) {
		return "0"
	}
	return fmt.Sprintf("%+.1f (%+.1f to %+.1f)", e.Mean, e.Low, e.High)
}

// TestThePlansAreThoseThatWereWrittenDown compares the hash of each plan with the page of measurements.
func TestThePlansAreThoseThatWereWrittenDown(t *testing.T) {
	if os.Getenv("LOCOMO") == "" {
		t.Skip("make bench-phases LOCOMO=locomo10.json leaves out each phase of a dream")
	}
	page, err := os.ReadFile(measured)
	require.NoError(t, err)
	var missing []string
	for _, h := range histories() {
		e := prepare(t, h, h.nights)
		require.NoError(t, e.Close())
		row := fmt.Sprintf("| %s | %d | %d, %d | %d | %s |", h.name, h.nights, e.Plan.Days, h.judge, seed(t), e.Plan.Hash())
		if !strings.Contains(string(page), row) {
			missing = append(missing, row)
		}
	}
	require.Empty(t, missing, "%s does not name these plans", measured)
}

// measured is the page with the tables.
var measured = filepath.Join("..", "..", "docs", "measurements", "phases.md")

// writeTables puts the tables between the marks of this seed in the page of measurements.
func writeTables(t *testing.T, tables string) {
	t.Helper()
	data, err := os.ReadFile(measured)
	require.NoError(t, err)
	begin := fmt.Sprintf("<!-- phases, seed %d -->\n", seed(t))
	before, rest, found := strings.Cut(string(data), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, "<!-- end -->\n")
	require.True(t, found)
	whole := before + begin + tables + "<!-- end -->\n" + after
	require.NoError(t, os.WriteFile(measured, []byte(whole), 0o644))
}
