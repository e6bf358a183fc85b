package evaluating_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/eval"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/worlds"
)

// control is a kind of life and of nights for which the right word is known.
type control struct {
	what  string
	right eval.Word // TooLittle stands for every word but helps and harms
	rules bool      // of the life
	model *model    // that dreams; nil: the built-in model
	slow  bool      // it is left out of the reduced proof
}

// model is a scripted model. What it is asked beside patterns and gists is left to the scripted provider.
type model struct {
	claims func(l history, dice *rand.Rand) []dream.Check // that it makes in a night
	gist   func(statement string) string                  // how it shortens a statement that fades
}

func controls() []control {
	return []control{
		{what: "regularities, which the built-in model is shown", right: eval.Helps, rules: true},
		{what: "no regularity, the built-in model", right: eval.TooLittle, slow: true},
		{
			what: "no regularity, a model that makes claims up and shortens nothing away", right: eval.TooLittle,
			model: &model{history.madeUp, func(statement string) string { return "So it is said: " + strings.ToLower(statement) }},
		},
		{
			what: "regularities, a model that claims them and shortens what fades to an empty phrase", right: eval.Harms,
			rules: true,
			model: &model{history.held, func(string) string { return "Somebody likes soup." }},
		},
	}
}

// controlNights is how many dreams each arm has. One arm that dreams is judged, beside raw and the placebo.
const controlNights = 4

// The seeds of the lives. They were fixed before any of them was played; the lives were sized on seed 1.
const (
	controlSeeds = 101
	manySeeds    = 20
)

// fading finds the statements that a prompt shows for a last look.
var fading = regexp.MustCompile(`(?m)^- \[(r\d+)\] (.*)$`)

// answer is what the model says in a dream of a life; empty where the scripted provider is to answer.
func (m *model) answer(l history, q provider.Request) string {
	switch q.Schema {
	case "patterns":
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(q.Prompt))
		return worlds.Patterns(q.Prompt, m.claims(l, rand.New(rand.NewPCG(l.seed, sum.Sum64()))))
	case "gists":
		all := []map[string]string{}
		for _, found := range fading.FindAllStringSubmatch(q.Prompt, -1) {
			all = append(all, map[string]string{"source": found[1], "gist": m.gist(found[2])})
		}
		body, err := json.Marshal(map[string]any{"gists": all})
		if err == nil {
			return string(body)
		}
	}
	return ""
}

// environment is that of a process whose models are those of the control.
func (c control) environment(t *testing.T, l history) []string {
	t.Helper()
	dir := t.TempDir()
	env := []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ONEIROS_TEMPORALD=" + temporald(t), "KEY=any", "ONEIROS_DATA_DIR=" + dir,
	}
	if c.model == nil {
		return env
	}
	upstream, err := provider.Start(provider.Options{
		Seed: 1, Say: func(q provider.Request) string { return c.model.answer(l, q) },
	})
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	path := filepath.Join(dir, "oneiros.yaml")
	require.NoError(t, os.WriteFile(path, []byte(scriptedBy(upstream.URL)), 0o600))
	return append(env, "ONEIROS_CONFIG="+path)
}

// evaluate plays an evaluation of one life of the control.
func (c control) evaluate(t *testing.T, seed uint64) eval.Verdict {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	store, err := sqlitestore.Open(ctx, filepath.Join(dir, "lived.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	l := history{seed: seed, rules: c.rules}
	agent, err := l.lived(ctx, store)
	require.NoError(t, err)
	most := 20 * budget.Dollar
	e, err := deploy.NewProcess(c.environment(t, l)).Evaluation(ctx, deploy.EvaluationRequest{
		Agent:     agent,
		Store:     store,
		Dir:       filepath.Join(dir, "eval"),
		Nights:    controlNights,
		Judging:   judgeDays,
		Questions: 200,
		Seed:      seed,
		Budget:    &most,
		Arms:      []string{eval.Raw, eval.All, eval.Placebo},
	})
	require.NoError(t, err)
	for _, arm := range e.Arms {
		played, err := e.Play(ctx, arm, func(deploy.Progress) {})
		require.NoError(t, err)
		for _, n := range played.Nights {
			require.Equal(t, "completed", n.Outcome, "%s, %s: %s", arm, n.Day, n.Reason)
		}
		require.NoError(t, e.Keep(played))
	}
	require.NoError(t, e.Close())
	return eval.Judge(e.Result)
}

// TestAnEvaluationFindsWhatIsPlanted plays evaluations through the whole product, of lives whose truth is known.
// UPDATE=table with PROVE=full writes the table of docs/measurements/eval.md, which PROVE=full holds it to.
func TestAnEvaluationFindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("dreams on real Temporal servers; make test runs it")
	}
	n, all := manySeeds, controls()
	if !full {
		n, all = 1, slices.DeleteFunc(all, func(c control) bool { return c.slow })
	}
	verdicts := make([][]eval.Verdict, len(all))
	t.Run("played", func(t *testing.T) {
		for i, c := range all {
			verdicts[i] = make([]eval.Verdict, n)
			for k := range n {
				seed := uint64(controlSeeds + k)
				t.Run(fmt.Sprintf("%s/%d", c.what, seed), func(t *testing.T) {
					t.Parallel()
					verdicts[i][k] = c.evaluate(t, seed)
					for _, a := range verdicts[i][k].Arms {
						t.Logf("%s: %s: %s", a.Name, a.Word, a.Reason)
					}
				})
			}
		}
	})
	var table strings.Builder
	table.WriteString("| life, and the model that dreams | right | helps | harms | no difference seen | too little to say | " +
		"right, with its interval of 95 % | placebo harms |\n|---|---|---|---|---|---|---|---|\n")
	for i, c := range all {
		k := c.count(verdicts[i])
		table.WriteString(c.row(k))
		switch c.right {
		case eval.Helps:
			require.Zero(t, k.of[eval.Harms], c.what)
		case eval.Harms:
			require.Zero(t, k.of[eval.Helps], c.what)
		case eval.NoDifference, eval.TooLittle:
		}
		// So few are nearly never right where the word has its promised power, or is wrong in one case of twenty.
		require.GreaterOrEqual(t, 10*k.right, 6*k.all, c.what)
	}
	t.Logf("\n%s", table.String())
	if full {
		holdTable(t, table.String())
	}
}

// counted is how often each word was said of a control.
type counted struct {
	all, right int
	placebo    int // of the placebo that it harms
	of         map[eval.Word]int
}

func (c control) count(verdicts []eval.Verdict) counted {
	k := counted{all: len(verdicts), of: map[eval.Word]int{}}
	for _, v := range verdicts {
		nights, played := v.Arm(eval.All)
		if !played { // its evaluation has failed
			continue
		}
		k.of[nights.Word]++
		if nights.Word == c.right || c.right == eval.TooLittle && nights.Word == eval.NoDifference {
			k.right++
		}
		if placebo, _ := v.Arm(eval.Placebo); placebo.Word == eval.Harms {
			k.placebo++
		}
	}
	return k
}

// row is the line of a control in the table.
func (c control) row(k counted) string {
	word := string(c.right)
	if c.right == eval.TooLittle {
		word = "neither helps nor harms"
	}
	low, high := exactly(k.right, k.all)
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d of %d, %.0f to %.0f %% | %d |\n", c.what, word, k.of[eval.Helps],
		k.of[eval.Harms], k.of[eval.NoDifference], k.of[eval.TooLittle], k.right, k.all, 100*low, 100*high, k.placebo)
}

// exactly is the interval of 95 % of a share (Clopper and Pearson 1934).
func exactly(k, n int) (low, high float64) {
	low, high = 0, 1
	if k > 0 {
		low = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(.025)
	}
	if k < n {
		high = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(.975)
	}
	return low, high
}

// holdTable compares the table with that between the marks in the page of measurements, or writes it there.
func holdTable(t *testing.T, table string) {
	t.Helper()
	const begin, end = "<!-- controls -->\n", "<!-- end of controls -->\n"
	page := filepath.Join("..", "..", "docs", "measurements", "eval.md")
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(data), begin)
	require.True(t, found)
	old, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if os.Getenv("UPDATE") == "table" {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+table+end+after), 0o644))
		return
	}
	if runtime.GOARCH == "amd64" { // others round products differently
		require.Equal(t, old, table)
	}
}
