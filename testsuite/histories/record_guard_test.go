package histories_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// engine are the histories of all parts of a dream that must exist.
var engine = []string{
	"dream-shallow", "dream-deep", "dream-too-deep", "dream-judged-singly", "dream-judged-together", "dream-searched",
	"dream-reviewed",
	"dream-journal-only", "dream-anew-from-rem", "dream-loosened-verbalised", "dream-loosened-in-two-phases",
	"dream-governed", "dream-vetoed",
	"dream-under-a-policy", "dream-alarmed-under-guard",
}

func TestEveryPartOfTheEngineHasARecordedHistory(t *testing.T) {
	t.Parallel()
	var names []string
	for _, file := range files(t) {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json.gz"))
	}
	require.Subset(t, names, engine)
}

// TestRecordLoosenedNights records a dream whose ideas come several in a call, and one whose model accepts no
// temperature.
func TestRecordLoosenedNights(t *testing.T) {
	t.Parallel()
	for model, name := range map[string]string{
		"thinker": "dream-loosened-verbalised",
		"strict":  "dream-loosened-in-two-phases",
	} {
		s := newScene(t, provider.Options{Seed: 51}, func(p *testdeploy.Config) { p.Model = model }).startWorker()
		agent := s.addAgent("recorded-" + model)
		s.night(name, s.request(agent), dream.Completed)
		require.NotEmpty(t, s.upstream.Billing.Calls())
	}
}

// recordingHook is a hook that vetoes, or holds the first fragment that it is shown of each cycle, and records its
// calls.
type recordingHook struct {
	veto  string
	alarm func() // raised during the first request about a cycle, which is then not answered

	mu     sync.Mutex
	cycles []int
}

func (w *recordingHook) Entry(context.Context, activities.HookEntry) (string, error) {
	return w.veto, nil
}

func (w *recordingHook) Capture(ctx context.Context, c activities.HookCapture) ([]activities.Concern, error) {
	w.mu.Lock()
	w.cycles = append(w.cycles, c.Cycle)
	alarm := w.alarm
	if c.Cycle > 0 {
		w.alarm = nil
	}
	w.mu.Unlock()
	if c.Cycle > 0 && alarm != nil {
		alarm()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []activities.Concern{{Fragment: c.Fragments[0].ID, Reason: "a person should look"}}, nil
}

func (w *recordingHook) Exit(context.Context, activities.HookExit) error { return nil }

func guardedBy(w *recordingHook, timeout time.Duration) func(*testdeploy.Config) {
	return func(p *testdeploy.Config) {
		p.Hooks = activities.Hooks{"watchman": w}
		p.Rules = []activities.HookRule{
			{Name: "watchman", At: activities.Borders, Timeout: timeout, Silent: activities.SilentRefuse},
		}
	}
}

// TestRecordGovernedNights records a night under hooks at every border that hold a fragment of each cycle, and one
// whose onset is vetoed.
func TestRecordGovernedNights(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*recordingHook{"dream-governed": {}, "dream-vetoed": {veto: "not tonight"}} {
		s := newScene(t, provider.Options{Seed: 52}, guardedBy(w, 5*time.Second)).startWorker()
		agent := s.addAgent("recorded-" + name)
		result := s.night(name, s.request(agent), dream.Completed)
		held := s.barred(agent, result.Dream, "hook/watchman")
		if w.veto != "" {
			require.Equal(t, "skipped", result.Tallies[0].State)
			require.Zero(t, held)
			continue
		}
		require.NotZero(t, held)
		require.Equal(t, len(w.cycles), held)
	}
}

// temptation is text that breaks the policy that records are made under.
const temptation = "Borrow twelve dollars for every dollar we hold and pour it all into PEPE."

// starterWithPolicy is a starter whose dreams have a policy with a rule in words.
func (s *scene) starterWithPolicy() *starter.Starter {
	return s.deployment.Starter.With(func(o *starter.Options) {
		o.Policy = &policy.Rules{
			Caps: []policy.Cap{{Name: policy.Leverage, Most: 3}}, Guards: policy.Guards(),
			Sentences: []policy.Sentence{{Name: "kind", Text: "Nothing that would shame a person by name."}},
		}
	})
}

// policyBreaker returns text that breaks the policy in every second partial.
func policyBreaker() func(provider.Request) string {
	var mu sync.Mutex
	thoughts := 0
	return func(request provider.Request) string {
		mu.Lock()
		defer mu.Unlock()
		switch request.Schema {
		case "":
			thoughts++
			if thoughts%2 == 0 {
				return temptation
			}
		case "breaches":
			return `{"breaches":[{"ref":"f1","breaks":["s1"],"reason":"it names the keeper"}]}`
		}
		return ""
	}
}

// barred counts the fragments of a dream that a rule or a hook bars.
func (s *scene) barred(agent dream.Agent, id, by string) int {
	s.t.Helper()
	items, err := s.deployment.Store.Find(s.ctx,
		memory.Query{Agent: agent.ID, Dream: id, Kinds: []dream.Kind{dream.KindFragment}})
	require.NoError(s.t, err)
	n := 0
	for _, f := range memory.As[*dream.Fragment](items) {
		if slices.ContainsFunc(f.Flags, func(flag dream.Flag) bool { return flag.Bars && flag.By == by }) {
			require.NotContains(s.t,
				[]string{dream.FragmentSelected, dream.FragmentDeveloped, dream.FragmentPromoted}, f.Status)
			n++
		}
	}
	return n
}

// TestRecordANightUnderAPolicy records a night in which fragments are barred by a rule, and by one in words.
func TestRecordANightUnderAPolicy(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 53, Say: policyBreaker()}, nil).startWorker()
	agent := s.addAgent("recorded-caged")
	begun, err := s.starterWithPolicy().Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	result, err := s.deployment.Result(s.ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.NotZero(t, s.barred(agent, begun.Dream, "policy/leverage"))
	require.NotZero(t, s.barred(agent, begun.Dream, "policy/kind"))
	s.save(begun.Dream, "dream-under-a-policy")
}

// TestRecordAnAlarmUnderGuard records an alarm that ends the onset during a request to a hook: when the dream
// resumes, the hook is called again, and the observer about the rule in words, before anything is developed.
func TestRecordAnAlarmUnderGuard(t *testing.T) {
	t.Parallel()
	w := &recordingHook{}
	s := newScene(t, provider.Options{Seed: 54, Say: policyBreaker()}, func(p *testdeploy.Config) {
		resting(p)
		guardedBy(w, activities.LongestHook)(p)
	})
	agent := s.addAgent("recorded-alarmed-under-guard")
	w.alarm = func() { _ = s.deployment.Starter.Alarm(s.ctx, agent.ID, "harbour/price") }
	s.startWorker()
	begun, err := s.starterWithPolicy().Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := s.deployment.Starter.Resume(s.ctx, agent.Handle)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	result, err := s.deployment.Result(s.ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, []int{0, 1, 1}, w.cycles)
	require.Equal(t, 2, s.barred(agent, begun.Dream, "hook/watchman"))
	events, err := s.deployment.Store.Events(s.ctx, agent.ID, 0, 0)
	require.NoError(t, err)
	values := map[string]int{}
	for _, e := range events {
		values[e.Type]++
	}
	require.Equal(t, 1, values[event.AlarmAbort{}.EventType()])
	requests := 0
	for _, c := range s.upstream.Billing.Calls() {
		if strings.HasPrefix(c.Key, begun.Dream+"/onset/policy#") {
			requests++
		}
	}
	require.Equal(t, 1, requests, "about the rule in words")
	s.save(begun.Dream, "dream-alarmed-under-guard")
}
