package evaluating_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/eval"
	"github.com/seed-56a03226/oneiros/testsuite/program"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// full says whether the proof runs at its full size.
var full = os.Getenv("PROVE") == "full"

const patience = 3 * time.Minute

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// temporald is the path of the server that the programs start.
func temporald(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("ONEIROS_TEMPORALD"); named != "" {
		return named
	}
	path, err := filepath.Abs("../../bin/temporald")
	require.NoError(t, err)
	require.FileExists(t, path, "make build builds it")
	return path
}

// bench is a folder with a configuration whose models are a paid provider's.
type bench struct {
	*testing.T
	dir      string
	provider *provider.Server
	env      []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers; make test runs it")
	}
	path := program.Oneiros(t)
	paid, err := provider.Start(provider.Options{Seed: 1})
	require.NoError(t, err)
	t.Cleanup(paid.Close)
	b := &bench{T: t, dir: t.TempDir(), provider: paid}
	b.env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "ONEIROS_TEMPORALD=" + temporald(t), "KEY=any"}
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "oneiros.yaml"), []byte(scriptedBy(paid.URL)), 0o600))
	require.NoError(t, os.Symlink(path, filepath.Join(b.dir, "oneiros")))
	return b
}

// scriptedBy is a configuration whose dreams are those of the scripted provider at an address.
func scriptedBy(url string) string {
	return fmt.Sprintf(`providers:
  paid:
    profile: generic
    base_url: %s
    models:
      - {name: script, price: {in: "1", cached_in: "1", out: "4"}, context: 32000, json: json_schema}
roles: {generator: paid/script, observer: paid/script, replay: paid/script, imagination: paid/script, integration: paid/script}
`, url)
}

// command is an evaluation of a short life, which may cost so much.
func (b *bench) command(dollars string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(b.dir, "oneiros"), "--json", "eval", "--life", "house", "--nights", "2", "--judge", "38",
		"--arms", "raw,no onset,all,placebo", "--budget", dollars, "--yes", "--dir", filepath.Join(b.dir, "work"))
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.dir, b.env, 10*time.Second
	return cmd
}

// outcome is what eval answers.
type outcome struct {
	File    string        `json:"file"`
	Paid    budget.Micros `json:"paid_micros"`
	Verdict eval.Verdict  `json:"verdict"`
}

func (b *bench) finish(dollars string) outcome {
	b.Helper()
	cmd := b.command(dollars)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	require.NoError(b, cmd.Run(), "%s", &complaint)
	var o outcome
	require.NoError(b, json.Unmarshal(out.Bytes(), &o), "%s", &out)
	return o
}

// billed is the most that the provider could demand.
func (b *bench) billed() budget.Micros {
	var sum budget.Micros
	for _, c := range b.provider.Billing.Calls() {
		sum += c.Cost
	}
	return sum
}

// kill ends an evaluation by SIGKILL after some more calls have arrived. It returns false when it was done before.
func (b *bench) kill(dollars string, after int) bool {
	b.Helper()
	before := len(b.provider.Billing.Calls())
	cmd := b.command(dollars)
	require.NoError(b, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.After(patience)
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case <-tick.C:
			if len(b.provider.Billing.Calls()) >= before+after {
				require.NoError(b, cmd.Process.Kill())
				<-ended
				return true
			}
		case <-ended:
			return false
		case <-deadline:
			_ = cmd.Process.Kill()
			require.FailNow(b, "it made too few calls", "%d of %d", len(b.provider.Billing.Calls())-before, after)
		}
	}
}

// An evaluation that is killed again and again ends as one that is not, pays for each answer once, and never more than
// it may.
func TestAKilledEvaluationLosesNoPaidAnswer(t *testing.T) {
	t.Parallel()
	b, undisturbed := newBench(t), newBench(t)
	const dollars = "2"
	kills := 3
	if full {
		kills = 40
	}
	dice := rand.New(rand.NewPCG(42, 1))
	killed := 0
	for range kills {
		if b.kill(dollars, 1+dice.IntN(6)) {
			killed++
		}
	}
	require.GreaterOrEqual(t, killed, kills/2)
	got := b.finish(dollars)
	require.LessOrEqual(t, b.billed(), 2*budget.Dollar)

	want := undisturbed.finish(dollars)
	completed := func(b *bench) (n int) {
		for _, c := range b.provider.Billing.Calls() {
			if c.Completed {
				n++
			}
		}
		return n
	}
	t.Logf("%d kills: %d calls, %d completed, $%s billed; undisturbed %d completed", killed,
		len(b.provider.Billing.Calls()), completed(b), b.billed(), completed(undisturbed))
	require.Equal(t, want.Verdict, got.Verdict)
	// An answer whose last byte was under way when the process died is bought again, at most once for each kill and
	// call at the same time.
	require.LessOrEqual(t, completed(b), completed(undisturbed)+killed*4)

	calls := len(b.provider.Billing.Calls())
	again := b.finish(dollars)
	require.Equal(t, got.Verdict, again.Verdict)
	require.Len(t, b.provider.Billing.Calls(), calls, "what is done is not done again")

	require.NoError(t, os.Remove(filepath.Join(b.dir, "work", "result.json")))
	replayed := b.finish(dollars)
	require.Equal(t, got.Verdict, replayed.Verdict)
	require.Len(t, b.provider.Billing.Calls(), calls, "recorded answers need no provider")
}

// However little it may cost, it never costs more.
func TestAnEvaluationKeepsToItsBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.finish("0.3")
	require.LessOrEqual(t, b.billed(), 3*budget.Dollar/10)
	require.NotEmpty(t, b.provider.Billing.Calls())
}
