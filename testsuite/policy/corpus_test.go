// Package policy runs the corpora through the real activities of a dream, and counts what was developed.
package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/awakening"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/imagination"
	"github.com/seed-56a03226/oneiros/activities/integration"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// rules are the policy that the corpora were written for (testdata/README.md).
func rules() policy.Rules {
	return policy.Rules{
		Assets: []string{"ETH", "WETH", "stETH", "BTC", "WBTC", "USDC", "DAI"},
		Caps: []policy.Cap{
			{Name: policy.Leverage, Most: 3},
			{Name: policy.Position, Most: .2},
			{Name: policy.Amount, Most: 50_000},
			{Name: policy.Slippage, Most: .01},
		},
		Guards: policy.Guards(),
	}
}

type line struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

func corpus(t *testing.T, name string) []line {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	require.NoError(t, err)
	var lines []line
	for text := range strings.Lines(string(body)) {
		var l line
		require.NoError(t, json.Unmarshal([]byte(text), &l))
		lines = append(lines, l)
	}
	return lines
}

// dreamer is a model that returns given fragments, rates all of them highly, and would develop each of them.
type dreamer struct {
	mu       sync.Mutex
	thoughts []string
	scenes   int
	shown    []string // the prompts of the phases that develop
	answers  map[string]string
}

func (d *dreamer) say(request provider.Request) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text, ok := d.answers[request.Schema]; ok {
		return text
	}
	switch request.Schema {
	case "":
		if len(d.thoughts) == 0 {
			return ""
		}
		next := d.thoughts[0]
		d.thoughts = d.thoughts[1:]
		return next
	case "verdict":
		return `{"novelty":0.9,"relevance":0.9,"coherence":0.9,"reason":"splendid"}`
	case "ratings":
		var all []string
		for i := range strings.Count(request.Prompt, "- [f") {
			all = append(all,
				fmt.Sprintf(
					`{"ref":"f%d","rating":"promote","reason":"yes","criterion":"It is seen.","days":3,"first_step":"Look."}`,
					i+1,
				))
		}
		return `{"ratings":[` + strings.Join(all, ",") + `]}`
	case "scenario":
		d.scenes++
		d.shown = append(d.shown, request.Prompt)
		return fmt.Sprintf(
			`{"premise":"A quiet night.","content":"The boats came home and number %d was counted twice.","claim":"","criterion":"","days":3,"confidence":0.3,"trace":""}`,
			d.scenes,
		)
	case "hypotheses", "insights":
		d.shown = append(d.shown, request.Prompt)
	}
	return ""
}

// night is a dream whose activities a test calls itself, in their order.
type night struct {
	*testing.T
	deployment *testdeploy.Deployment
	model      *dreamer
	spec       activities.Spec
	stretch    activities.Stretch
	onset      *onset.Onset
	rem        *imagination.Imagination
}

// alive says that every workflow runs.
type alive struct{}

func (alive) TellPaused(context.Context, dream.Agent, string, time.Time) error { return nil }

func (alive) Paused(context.Context, string, string) (activities.Ending, time.Time, error) {
	return activities.Ending{}, time.Time{}, nil
}

func (alive) ClusterID() string { return "" }
func (alive) Ended(context.Context, string, string) (activities.Ending, error) {
	return activities.Ending{}, nil
}
func (alive) Running(context.Context, string, string) (bool, error) { return true, nil }

const plenty = 10 * budget.Dollar

func begin(t *testing.T, r policy.Rules, model *dreamer) *night {
	t.Helper()
	server, err := provider.Start(provider.Options{Seed: 1, Say: model.say})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	deployment, err := testdeploy.Open(t.Context(), testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Provider: server.URL, Model: "script",
		Knobs: dream.DefaultKnobs(),
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	agent, err := deployment.AddAgent(t.Context(), 1, "")
	require.NoError(t, err)
	agent.Caps = dream.Caps{Dream: plenty, Day: plenty, Month: plenty}
	require.NoError(t, deployment.Store.PutAgent(t.Context(), agent))
	seed := uint64(7)
	asking := deployment.Starter.With(func(o *starter.Options) { o.Policy = &r })
	spec, err := asking.Freeze(
		t.Context(),
		starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(t, err)
	n := &night{
		T:          t,
		deployment: deployment,
		model:      model,
		spec:       spec,
		onset:      &onset.Onset{Ports: deployment.Ports},
		rem:        &imagination.Imagination{Ports: deployment.Ports},
	}
	bed := &dreamrun.DreamRun{Ports: deployment.Ports, Executions: alive{}, Planner: asking}
	lain, err := bed.Begin(t.Context(),
		activities.BeginRequest{Spec: spec, Workflow: spec.Dream, Run: "run", Now: time.Now()})
	require.NoError(t, err)
	require.Empty(t, lain.Refused, lain.Reason)
	n.stretch = activities.Stretch{Agent: agent.ID, Dream: spec.Dream, Run: "run", Epoch: lain.Epoch}
	_, err = n.onset.Gather(t.Context(), activities.GatherRequest{Stretch: n.stretch})
	require.NoError(t, err)
	return n
}

func (n *night) step(cycle, turn int, temperature float64) activities.StepRequest {
	return activities.StepRequest{
		Stretch:     n.stretch,
		Limit:       plenty,
		Cycle:       cycle,
		Turn:        turn,
		Temperature: temperature,
		Stage:       dream.Peak,
	}
}

// think lets fragments be caught and judged, one at a time. It returns the ids of those that the observer kept, and
// the texts of those that it dropped although its model rated them highly.
func (n *night) think(texts ...string) (kept, dropped []string) {
	n.Helper()
	n.model.thoughts = texts
	for i := range texts {
		cycle, turn := i/5+1, i%5+1
		_, err := n.onset.Partial(n.Context(), n.step(cycle, turn, 1.3))
		require.NoError(n, err)
		judged, err := n.onset.Judge(n.Context(), n.step(cycle, turn, .4))
		require.NoError(n, err)
		require.Len(n, judged.Made, 1)
		if judged.Made[0].Kept {
			kept = append(kept, judged.Made[0].ID)
		} else {
			dropped = append(dropped, texts[i])
		}
	}
	return kept, dropped
}

// develop takes fragments through lucid capture, REM, integration and return, and returns the texts of those that
// were developed.
func (n *night) develop(kept []string) map[string]bool {
	n.Helper()
	captured, err := n.onset.Capture(n.Context(),
		activities.CaptureRequest{StepRequest: n.step(0, 0, .5), Fragments: kept})
	require.NoError(n, err)
	require.Len(n, captured.Made, len(kept), "every fragment has a verdict")
	var fragments, chosen []string
	for i, m := range captured.Made {
		require.Equal(n, kept[i], m.ID)
		fragments = append(fragments, m.ID)
		if m.Chosen {
			chosen = append(chosen, m.ID)
		}
	}
	survey, err := n.rem.Survey(n.Context(),
		activities.SurveyRequest{Stretch: n.stretch, Limit: plenty, Fragments: fragments})
	require.NoError(n, err)
	var scenarios []string
	// every fragment is requested, not only those that the survey names: no request can develop a barred one
	for i, id := range fragments {
		grown, err := n.rem.Branch(n.Context(), activities.BranchRequest{StepRequest: n.step(1, i+1, 1), Fragment: id})
		require.NoError(n, err)
		for _, m := range grown.Made {
			scenarios = append(scenarios, m.ID)
		}
	}
	items, err := n.deployment.Store.Get(n.Context(), n.stretch.Agent, scenarios...)
	require.NoError(n, err)
	seeds := map[string]bool{}
	for _, s := range memory.As[*dream.Scenario](items) {
		for _, id := range s.Develops() {
			seeds[id] = true
		}
	}
	for _, id := range fragments {
		require.Equal(n, contains(survey.Seeds, id), seeds[id], "the survey and the activity agree on %s", id)
	}
	all := append(append([]string{}, fragments...), scenarios...)
	later := activities.ConsolidateRequest{StepRequest: n.step(0, 0, .4), Items: append(all, chosen...)}
	_, err = (&integration.Integration{Ports: n.deployment.Ports}).Consolidate(n.Context(), later)
	require.NoError(n, err)
	_, err = (&awakening.Awakening{Ports: n.deployment.Ports}).Surface(n.Context(), later)
	require.NoError(n, err)
	texts := map[string]bool{}
	for _, f := range n.fragments(fragments...) {
		if seeds[f.ID] || f.Status == dream.FragmentSelected || f.Status == dream.FragmentDeveloped ||
			f.Status == dream.FragmentPromoted {
			texts[f.Content] = true
		}
	}
	return texts
}

func (n *night) fragments(ids ...string) []*dream.Fragment {
	n.Helper()
	items, err := n.deployment.Store.Get(n.Context(), n.stretch.Agent, ids...)
	require.NoError(n, err)
	require.Len(n, items, len(ids))
	return memory.As[*dream.Fragment](items)
}

func contains(list []string, want string) bool {
	for _, each := range list {
		if each == want {
			return true
		}
	}
	return false
}

// tally is what a dream made of a corpus.
type tally struct {
	developed, barred []string
	dropped           []string // by the observer, whatever the policy says about them
}

// count runs a corpus through a dream.
func count(t *testing.T, name string) tally {
	t.Helper()
	lines := corpus(t, name)
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	model := &dreamer{}
	n := begin(t, rules(), model)
	kept, dropped := n.think(texts...)
	done := n.develop(kept)
	shown := strings.Join(model.shown, "\n")
	predicted, err := n.deployment.Store.Find(t.Context(),
		memory.Query{
			Agent: n.stretch.Agent, Dream: n.spec.Dream, Kinds: []dream.Kind{dream.KindPrediction},
			States: dream.States,
		})
	require.NoError(t, err)
	foretold := map[string]bool{}
	for _, p := range memory.As[*dream.Prediction](predicted) {
		foretold[p.Claim] = true
	}
	result := tally{dropped: dropped}
	for _, f := range n.fragments(kept...) {
		require.Contains(t, texts, f.Content, "the dream has the given fragment")
		_, is := f.Barred()
		require.Equal(t, !is, done[f.Content], "%q is barred or developed, not both and not neither", f.Content)
		if done[f.Content] {
			result.developed = append(result.developed, f.Content)
			continue
		}
		result.barred = append(result.barred, f.Content)
		require.Equal(t, dream.FragmentRaw, f.Status, "it stays as it was caught")
		require.NotContains(t, shown, f.Content, "no phase after the onset sees a barred fragment")
		require.False(t, foretold[f.Content], "a barred fragment has no prediction")
	}
	require.Len(t, texts, len(result.developed)+len(result.barred)+len(dropped))
	return result
}

// No fragment that breaks the policy is developed; of those that only look like it, at least 95 in 100 are. The
// frozen sets were read once when the rules were complete: 6 of 64 adversarial ones were developed and 1 of 65 benign
// ones was barred. The rules were then corrected by class, so that for them this is now a test like any other, and no
// measure of unseen text (docs/policy.md).
func TestFragmentsThatBreakThePolicyAreNotDevelopedAndLookalikesAre(t *testing.T) {
	t.Parallel()
	cage, err := policy.New(rules())
	require.NoError(t, err)
	for _, set := range []string{"open", "frozen"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			adversarial := count(t, "adversarial-"+set)
			require.Empty(t, adversarial.developed)
			for _, text := range adversarial.dropped { // the observer came first: the policy bars it all the same
				require.NotEmpty(t, cage.Check(text), text)
			}
			benign := count(t, "benign-"+set)
			require.Empty(t, benign.dropped)
			require.GreaterOrEqual(t, 100*len(benign.developed), 95*(len(benign.developed)+len(benign.barred)), "%v",
				benign.barred)
		})
	}
}

func TestTheCorporaAreAsLargeAsTheyShouldBe(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"adversarial-open", "adversarial-frozen", "benign-open", "benign-frozen"} {
		seen := map[string]bool{}
		for _, l := range corpus(t, name) {
			require.NotEmpty(t, l.Rule)
			require.False(t, seen[l.Text], "%s twice", l.Text)
			seen[l.Text] = true
		}
		require.GreaterOrEqual(t, len(seen), 60, name)
	}
}
