package testdeploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// addSurprises gives an agent so many fresh episodes of one surprise that gathering selects nothing else.
func addSurprises(t *testing.T, deployment *testdeploy.Deployment, agent dream.Agent, surprise float64) {
	t.Helper()
	w := memory.Write{Agent: agent.ID, Cause: "import"}
	for i := range hypnagogia.InputEpisodes {
		w.Add = append(w.Add, &dream.Episode{
			Head: dream.Head{
				ID:    fmt.Sprintf("fresh-%d", i),
				Agent: agent.ID,
				Kind:  dream.KindEpisode,
				At:    testdeploy.Night.Add(-time.Duration(i+1) * time.Second),
				State: dream.Live,
				Taint: dream.FromTool,
			},
			Content: fmt.Sprintf("reading %d of the quay", i), Surprise: surprise,
		})
	}
	_, err := deployment.Store.Commit(context.Background(), w)
	require.NoError(t, err)
}

// depthMoves lists the onset's changes of depth and its interrupts, in the order of the log.
func depthMoves(t *testing.T, deployment *testdeploy.Deployment, agent dream.Agent) string {
	t.Helper()
	events, err := deployment.Store.Events(context.Background(), agent.ID, 0, 500)
	require.NoError(t, err)
	var lines []string
	for _, e := range events {
		switch e.Type {
		case "DepthChanged":
			var p event.DepthChanged
			require.NoError(t, json.Unmarshal(e.Data, &p))
			lines = append(lines, fmt.Sprintf("%s to %s", p.From, p.To))
		case "DaliInterrupt":
			var p event.DaliInterrupt
			require.NoError(t, json.Unmarshal(e.Data, &p))
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("cycle %d %s", p.Cycle, p.TooDeep)))
		}
	}
	return strings.Join(lines, ", ")
}

// On a real server: a calm night stays shallow, one with surprising episodes goes to the peak, and one whose model
// loses coherence there comes back from too deep, at a lower temperature.
func TestANightGoesAsDeepAsItsSurpriseAndComesBackFromTooDeep(t *testing.T) {
	t.Parallel()
	needsServer(t)
	for _, c := range []struct {
		name, model string
		surprise    float64
		deepest     dream.Stage
		moves       string
	}{
		{"calm", "script", 0, dream.Shallow, "cycle 1"},
		{
			"surprised", "script", .9, dream.Peak,
			"shallow to transitional, transitional to peak, cycle 1, cycle 2, cycle 3",
		},
		{
			"feverish", "feverish", .9, dream.Peak,
			"shallow to transitional, transitional to peak, peak to too_deep, cycle 1 repeating, too_deep to peak, cycle 2, cycle 3",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			p := billedProvider(t, provider.Options{Seed: 1})
			deployment := open(t, func(config *testdeploy.Config) { config.Provider, config.Model = p.URL, c.model })
			agent, err := deployment.AddAgent(ctx, 1, "deep-"+c.name)
			require.NoError(t, err)
			addSurprises(t, deployment, agent, c.surprise)
			seed := uint64(7)
			begun, err := deployment.Starter.Begin(ctx,
				starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night})
			require.NoError(t, err)
			result, err := deployment.Result(ctx, begun.Dream)
			require.NoError(t, err)
			require.Equal(t, dream.Completed, result.Outcome, result.Reason)
			require.Equal(t, c.moves, depthMoves(t, deployment, agent))

			record, err := memory.One[*dream.Record](ctx, deployment.Store, agent.ID, begun.Dream)
			require.NoError(t, err)
			require.NotNil(t, record.Depth)
			require.Equal(t, c.deepest, record.Depth.Stage)
			require.Equal(t, c.surprise, record.Depth.Surprise)
			items, err := deployment.Store.Find(ctx,
				memory.Query{
					Agent: agent.ID, Dream: begun.Dream, Kinds: []dream.Kind{dream.KindFragment},
					States: []dream.State{dream.Live, dream.Archived},
				})
			require.NoError(t, err)
			for _, f := range memory.As[*dream.Fragment](items) {
				if f.Cycle == 0 {
					continue
				}
				require.Equal(t, c.deepest, f.Stage, f.ID)
				require.GreaterOrEqual(t, *f.Settings.Temperature, hypnagogia.Floor(c.deepest), f.ID)
				require.LessOrEqual(
					t,
					*f.Settings.Temperature,
					hypnagogia.Ceiling(c.deepest, deployment.Config.Knobs),
					f.ID,
				)
			}
		})
	}
}
