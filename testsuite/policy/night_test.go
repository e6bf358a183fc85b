package policy_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// tempted is a model that sometimes returns fragments that break the policy, and otherwise answers as the scripted
// provider does.
type tempted struct {
	mu    sync.Mutex
	calls int
	shown map[string][]string // prompts by the requested schema
}

const (
	temptation = "Borrow twelve dollars for every dollar we hold and pour it all into PEPE."
	bolder     = "The scenario goes long on ETH at 40x leverage and never looks back."
)

func (m *tempted) say(request provider.Request) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.shown[request.Schema] = append(m.shown[request.Schema], request.Prompt)
	switch {
	case request.Schema == "" && len(m.shown[""])%3 == 0:
		return temptation
	case request.Schema == "scenario" && len(m.shown["scenario"])%3 == 1:
		return `{"premise":"A bold night.","content":"` + bolder +
			`","claim":"It wins.","criterion":"It is seen.","days":3,"confidence":0.3,"trace":""}`
	case request.Schema == "breaches":
		return `{"breaches":[]}`
	}
	return ""
}

// A whole dream on a real server, with a policy and a model that breaks it: no request of it carries tools, no phase
// after the onset is shown what was barred, and everything barred is reported by its rule and not by its text.
func TestAWholeNightUnderAPolicyCallsNoToolAndDevelopsNothingBarred(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs on a real Temporal server; make test runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	model := &tempted{shown: map[string][]string{}}
	scripted, err := provider.Start(provider.Options{Seed: 1, Say: model.say})
	require.NoError(t, err)
	t.Cleanup(scripted.Close)
	server := temporal.Shared(t)
	deployment, err := testdeploy.Open(ctx, testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Provider: scripted.URL, Model: "script",
	}, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	w, err := deployment.StartWorker()
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	agent, err := deployment.AddAgent(ctx, 1, "caged")
	require.NoError(t, err)
	strict := rules()
	strict.Sentences = []policy.Sentence{{Name: "kind", Text: "Nothing that would shame a person by name."}}
	asking := deployment.Starter.With(func(o *starter.Options) { o.Policy = &strict })
	seed := uint64(7)
	begun, err := asking.Begin(ctx, starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night})
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)

	require.Empty(t, scripted.Billing.Failed())
	calls := scripted.Billing.Calls()
	require.NotEmpty(t, calls)
	for _, c := range calls {
		require.False(t, c.Tools, "call %d of a dream carried tools", c.Number)
	}
	require.Len(t, model.shown["breaches"], 1, "the rules in words are judged once a dream")
	barred := 0
	for _, item := range made(t, deployment, agent, begun.Dream) {
		switch i := item.(type) {
		case *dream.Fragment:
			if i.Content != temptation || i.Status == dream.FragmentDiscarded {
				continue
			}
			flag, is := i.Barred()
			require.True(t, is)
			require.Contains(t, flag.By, "policy/")
			require.Equal(t, dream.FragmentRaw, i.Status)
			require.Empty(t, i.Scenario)
			barred++
		case *dream.Scenario:
			require.Equal(t, strings.Contains(i.Content, bolder), i.State == dream.Archived)
			require.False(t, i.Kept && i.State == dream.Archived)
		case *dream.Prediction:
			require.NotEqual(t, temptation, i.Claim)
			require.NotEqual(t, "It wins.", i.Claim, "the prediction of a barred scenario is dropped with it")
		}
	}
	require.NotZero(t, barred, "the model broke the policy")
	for schema, prompts := range model.shown {
		for _, p := range prompts {
			if schema != "" && schema != "verdict" && schema != "verdicts" {
				require.NotContains(t, p, temptation, schema)
				require.NotContains(t, p, bolder, schema)
			}
		}
	}
	events, err := deployment.Store.Events(ctx, agent.ID, 0, 1000)
	require.NoError(t, err)
	values := map[string]int{}
	for _, e := range events {
		values[e.Type]++
		require.NotContains(t, string(e.Data), "PEPE")
		require.NotContains(t, string(e.Data), "40x")
	}
	require.NotZero(t, values[event.FragmentFlagged{}.EventType()])
	require.NotZero(t, values[event.OutputBarred{}.EventType()])
}

func made(t *testing.T, deployment *testdeploy.Deployment, agent dream.Agent, id string) []dream.Item {
	t.Helper()
	items, err := deployment.Store.Find(t.Context(), memory.Query{Agent: agent.ID, Dream: id, States: dream.States})
	require.NoError(t, err)
	return items
}

// The policy is immutable while a dream runs. The file it came from is rewritten in the middle of a dream; that dream
// keeps its rules, and the next one has the new.
func TestAChangedPolicyFileDoesNotAffectARunningDream(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.yaml")
	read := func(text string) policy.Rules {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		c, err := config.Load(config.Options{File: path, BuiltIn: localmodel.Specs()})
		require.NoError(t, err)
		return c.Policy.Rules()
	}
	model := &dreamer{}
	n := begin(t, read("policy: {leverage: 3}"), model)
	const rash = "Long ETH at 10x leverage the moment gas falls."
	before, _ := n.think(rash)
	loose := read("policy: {guards: none}")
	require.True(t, loose.None())
	later := n.deployment.Starter.With(func(o *starter.Options) { o.Policy = &loose })

	n.model.thoughts = []string{rash}
	_, err := n.onset.Partial(t.Context(), n.step(2, 1, 1.3))
	require.NoError(t, err)
	judged, err := n.onset.Judge(t.Context(), n.step(2, 1, .4))
	require.NoError(t, err)
	fresh := onset.Onset{Ports: n.deployment.Ports} // a restarted process, which has only the store
	_, err = fresh.Capture(t.Context(),
		activities.CaptureRequest{StepRequest: n.step(0, 0, .5), Fragments: append(before, judged.Made[0].ID)})
	require.NoError(t, err)
	for _, f := range n.fragments(append(before, judged.Made[0].ID)...) {
		flag, barred := f.Barred()
		require.True(t, barred)
		require.Equal(t, "policy/leverage", flag.By)
		require.Equal(t, dream.FragmentRaw, f.Status)
	}
	next, err := later.Freeze(t.Context(), starter.DreamRequest{Agent: n.spec.Handle, AsOf: testdeploy.Night})
	require.NoError(t, err)
	require.Nil(t, next.Policy, "a dream begun now has the new rules")
	body, err := json.Marshal(n.spec)
	require.NoError(t, err)
	require.Contains(t, string(body), `"policy":{"caps":[{"name":"leverage","most":3}]`)
}
