package testdeploy_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// holdingHook is a hook in this process that holds every fragment and records what it was shown.
type holdingHook struct {
	veto string
	hold bool

	mu    sync.Mutex
	seen  []string
	exits []activities.HookExit
}

func (g *holdingHook) Entry(context.Context, activities.HookEntry) (string, error) {
	return g.veto, nil
}

func (g *holdingHook) Capture(_ context.Context, c activities.HookCapture) ([]activities.Concern, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var concerns []activities.Concern
	for _, f := range c.Fragments {
		g.seen = append(g.seen, f.ID)
		if g.hold {
			concerns = append(concerns, activities.Concern{Fragment: f.ID, Reason: "a person should look"})
		}
	}
	return concerns, nil
}

func (g *holdingHook) Exit(_ context.Context, x activities.HookExit) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.exits = append(g.exits, x)
	return nil
}

// guardedNight dreams one night with a hook.
func guardedNight(t *testing.T, hook activities.Hook) (*testdeploy.Deployment, dream.Agent, workflows.Result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t, provider.Options{Seed: 3})
	deployment := open(t, func(config *testdeploy.Config) {
		config.Provider = p.URL
		config.Hooks = activities.Hooks{"guard": hook}
		config.Rules = []activities.HookRule{
			{Name: "guard", At: activities.Borders, Timeout: 5 * time.Second, Silent: activities.SilentAllow},
		}
	})
	agent, err := deployment.AddAgent(ctx, 0, "")
	require.NoError(t, err)
	seed := uint64(7)
	begun, err := deployment.Starter.Begin(
		ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	return deployment, agent, result
}

func fragmentsOf(t *testing.T, deployment *testdeploy.Deployment, agent dream.Agent, dreamID string) []*dream.Fragment {
	t.Helper()
	items, err := deployment.Store.Find(context.Background(),
		memory.Query{Agent: agent.ID, Dream: dreamID, Kinds: []dream.Kind{dream.KindFragment}})
	require.NoError(t, err)
	return memory.As[*dream.Fragment](items)
}

func TestAVetoedOnsetIsSkippedAndTheNightGoesOn(t *testing.T) {
	t.Parallel()
	g := &holdingHook{veto: "not tonight"}
	deployment, agent, result := guardedNight(t, g)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, "skipped", result.Tallies[0].State)
	require.Equal(t, "veto of the hook guard: not tonight", result.Tallies[0].Reason)
	require.Empty(t, fragmentsOf(t, deployment, agent, result.Dream))
	require.Equal(t, result.Tallies[1].Cap, result.Tallies[2].Cap+result.Tallies[1].Cap*10/45,
		"the share of the onset goes to NREM")
	require.Len(t, g.exits, 1)
	require.Equal(t, result.Spent, g.exits[0].Spent)
}

func TestHeldFragmentsAreShownAndNeverDeveloped(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{false, true} { // the hook that holds nothing is the control
		t.Run(map[bool]string{true: "held", false: "let pass"}[hold], func(t *testing.T) {
			t.Parallel()
			g := &holdingHook{hold: hold}
			deployment, agent, result := guardedNight(t, g)
			require.Equal(t, dream.Completed, result.Outcome, result.Reason)
			developed := 0
			for _, f := range fragmentsOf(t, deployment, agent, result.Dream) {
				if f.Status == dream.FragmentDeveloped || f.Status == dream.FragmentPromoted ||
					f.Status == dream.FragmentSelected {
					developed++
				}
				flag, barred := f.Barred()
				require.Equal(t, barred, hold && slices.Contains(g.seen, f.ID), "%s: %v", f.ID, flag)
			}
			require.NotEmpty(t, g.seen)
			require.Equal(t, !hold, developed > 0, "%d were developed", developed)
			require.Len(t, g.exits, 1)
			require.Equal(t, hold, g.exits[0].Held > 0)
		})
	}
}

func TestAWebhookGovernsANight(t *testing.T) {
	t.Parallel()
	secret := []byte("a secret of at least sixteen bytes")
	var mu sync.Mutex
	request := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		request[r.Header.Get(governor.BorderHeader)]++
		if r.Header.Get(governor.BorderHeader) == "capture" {
			w.WriteHeader(http.StatusInternalServerError) // a failing hook allows
		}
	}))
	t.Cleanup(server.Close)
	deployment, agent, result := guardedNight(t, &governor.Webhook{URL: server.URL, Secret: secret})
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, 1, request["entry"])
	require.Equal(t, 1, request["exit"])
	require.NotZero(t, request["capture"])
	events, err := deployment.Store.Events(context.Background(), agent.ID, 0, 0)
	require.NoError(t, err)
	silent := 0
	for _, e := range events {
		if e.Type == "HookTimedOut" {
			silent++
		}
	}
	require.Equal(t, request["capture"], silent)
}
