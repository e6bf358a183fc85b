package histories_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// TestRecordNightsByDepth records one that stays shallow, one that goes to the peak, and one that comes back from too
// deep.
func TestRecordNightsByDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		surprise    float64
	}{{"shallow", "script", 0}, {"deep", "script", .9}, {"too-deep", "feverish", .9}} {
		s := newScene(t, provider.Options{Seed: 6}, func(p *testdeploy.Config) { p.Model = c.model }).startWorker()
		agent := s.addAgent("recorded-" + c.name)
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
				Content: fmt.Sprintf("reading %d of the quay", i), Surprise: c.surprise,
			})
		}
		_, err := s.deployment.Store.Commit(s.ctx, w)
		require.NoError(t, err)
		s.night("dream-"+c.name, s.request(agent), dream.Completed)
	}
}
