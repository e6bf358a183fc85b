package recording_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/answers"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// full says whether the proof runs at its full size.
var full = os.Getenv("PROVE") == "full"

// proof starts recorders, kills them, and holds what they said against what their provider served.
type proof struct {
	*testing.T
	recorder recorder
	provider *provider.Server
	dice     *rand.Rand

	mu       sync.Mutex
	process  *os.Process
	killAt   int               // arrivals until the recorder is killed; 0: it is not
	answered map[string]string // by model and number, as the recorders printed it
	served   int               // answers that the provider wrote
	faults   []string
}

// begin starts the provider. Every answer of it differs from all others; one call in ten fails.
func begin(t *testing.T, seed uint64, requests int, most budget.Micros) *proof {
	t.Helper()
	p := &proof{T: t, dice: rand.New(rand.NewPCG(seed, 1)), answered: map[string]string{}}
	failing := provider.Seeded(seed, .1, provider.Limit, provider.ServerError, provider.CutMiddle, provider.NoUsage)
	var err error
	p.provider, err = provider.Start(provider.Options{
		Models: models(requests),
		Each:   300 * time.Microsecond,
		Jitter: 300 * time.Microsecond,
		Say:    p.say,
		Plan: func(a provider.Arrival) provider.Fault {
			p.arrive(a.Model)
			return failing(a)
		},
	})
	require.NoError(t, err)
	t.Cleanup(p.provider.Close)
	p.recorder.URL, p.recorder.Most, p.recorder.Requests = p.provider.URL, most, requests
	p.recorder.File = filepath.Join(t.TempDir(), "answers.jsonl")
	return p
}

func (p *proof) say(provider.Request) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served++
	return fmt.Sprintf("This is answer %d, and no other answer of any call is like it in all its words.", p.served)
}

// arrive judges a call: its request must not have been answered in full before.
func (p *proof) arrive(model string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := 1
	var i int
	if n, _ := fmt.Sscanf(model, "writer-%d", &i); n == 1 {
		wanted = times(i)
	}
	open := false
	for nth := range wanted {
		open = open || p.answered[place(model, nth)] == ""
	}
	if !open {
		p.faults = append(p.faults, model+" was called although it was answered")
	}
	if p.killAt > 0 {
		p.killAt--
		if p.killAt == 0 {
			_ = p.process.Kill()
		}
	}
}

func place(model string, nth int) string { return fmt.Sprint(model, " ", nth) }

// note takes a line of a recorder and says whether its answer is new.
func (p *proof) note(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	fields := strings.SplitN(line, " ", 3)
	at := fields[0] + " " + fields[1]
	before := p.answered[at]
	if before != "" && before != fields[2] {
		p.faults = append(p.faults, fmt.Sprintf("%s was answered %s and then %s", at, before, fields[2]))
	}
	p.answered[at] = fields[2]
	return before == ""
}

// run runs one recorder to its end, or kills it after so many calls or new answers, where these are not 0. It returns
// the exit code; -1 when it was killed.
func (p *proof) run(calls, news int) int {
	p.Helper()
	config, err := json.Marshal(&p.recorder)
	require.NoError(p, err)
	cmd := exec.CommandContext(p.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), recorderOf+"="+string(config)), os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(p, err)
	p.mu.Lock()
	require.NoError(p, cmd.Start())
	p.process, p.killAt = cmd.Process, calls
	p.mu.Unlock()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !p.note(lines.Text()) || news == 0 {
			continue
		}
		news--
		if news == 0 {
			_ = cmd.Process.Kill()
		}
	}
	var exit *exec.ExitError
	err = cmd.Wait()
	if err != nil && !errors.As(err, &exit) {
		require.NoError(p, err)
	}
	p.mu.Lock()
	p.killAt = 0
	p.mu.Unlock()
	require.NoError(p, p.provider.Billing.Quiet(p.Context()))
	return cmd.ProcessState.ExitCode()
}

// killOnce runs a recorder and kills it at a random moment.
func (p *proof) killOnce() int {
	p.Helper()
	after := 1 + p.dice.IntN(6)
	if p.dice.IntN(2) == 0 {
		return p.run(after, 0)
	}
	return p.run(0, after)
}

// audit checks the money after a recorder has ended, and returns what the file counts.
func (p *proof) audit() answers.Spent {
	p.Helper()
	log, err := answers.Open(p.recorder.File, p.recorder.Most)
	require.NoError(p, err)
	require.NoError(p, log.Close())
	spent := log.Spent()
	counted := spent.Paid + spent.Open
	require.LessOrEqual(p, p.provider.Billing.Total(), counted, "counted is never below what was billed")
	require.LessOrEqual(p, counted, p.recorder.Most)
	require.Empty(p, p.provider.Billing.Repeated(), "idempotency keys")
	return spent
}

// dearest is the most that one call of a recorder can cost.
func dearest() budget.Micros {
	spec := inference.Spec{Price: &price}
	return spend.GenerationCost(spec, inference.Request{
		MaxTokens: 40, Messages: []inference.Message{{Role: "user", Content: "This is request 1000."}},
	})
}

// A recorder is killed again and again, at random moments of its calls and its writes, and begun again until everything
// is answered. What a recorder answered is never paid again and stays as it was.
func TestKilledRecordersPayEachAnswerOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	requests, kills := 24, 10
	if full {
		requests, kills = 240, 200
	}
	p := begin(t, 7, requests, budget.Micros(10*requests+20*kills)*dearest())
	killed := 0
	for range kills {
		if p.killOnce() != -1 {
			break
		}
		killed++
		p.audit()
	}
	require.Zero(t, p.run(0, 0))
	spent := p.audit()
	require.Empty(t, p.faults)
	places := 0
	for i := range requests {
		places += times(i) + 1
	}
	require.Len(t, p.answered, places)
	calls := len(p.provider.Billing.Calls())
	t.Logf("%d kills; %d requests cost %d calls; billed %s, counted %s, of it %s for calls that were killed",
		killed, places, calls, p.provider.Billing.Total(), spent.Paid+spent.Open, spent.Open)
	require.GreaterOrEqual(t, killed, kills/5, "a slow machine answers more between two kills")
	require.Positive(t, spent.Open)

	require.Zero(t, p.run(0, 0))
	require.Len(t, p.provider.Billing.Calls(), calls, "a finished run is repeated without a call")
}

// The proof sees recorders that do not find what earlier ones recorded.
func TestKilledRecordersThatForgetPayTwice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	p := begin(t, 7, 16, budget.Unlimited)
	for i := range 4 {
		p.recorder.File = filepath.Join(t.TempDir(), fmt.Sprint(i))
		p.killOnce()
	}
	p.run(0, 0)
	p.recorder.File = filepath.Join(t.TempDir(), "last")
	p.run(0, 0)
	require.NotEmpty(t, p.faults)
	require.Contains(t, strings.Join(p.faults, "\n"), "was called although it was answered")
	require.Contains(t, strings.Join(p.faults, "\n"), " and then ")
}

// Recorders with too little money are killed and begun again. Their provider never bills more than the cap.
func TestKilledRecordersKeepTheCap(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	caps := []budget.Micros{0, 1, 12, 30}
	if full {
		caps = append(caps, 2, 3, 5, 8, 17, 20, 25, 40, 60, 80)
	}
	for i, most := range caps {
		p := begin(t, uint64(i), 80, most*dearest())
		code, runs := -1, 0
		for ; code == -1; runs++ {
			code = p.killOnce()
			p.audit()
		}
		if most <= 12 { // not even without a kill is it enough
			require.Equal(t, noMoney, code)
		}
		require.Empty(t, p.faults)
		spent := p.audit()
		t.Logf("cap %s: billed %s, counted %s and %s open, in %d runs", p.recorder.Most, p.provider.Billing.Total(),
			spent.Paid, spent.Open, runs)
	}
}
