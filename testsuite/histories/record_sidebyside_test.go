package histories_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// TestRecordStepsSideBySide records a dream whose partials and scenarios are made side by side by one activity for each
// cycle and round. The histories that were recorded before have an activity for each of them.
func TestRecordStepsSideBySide(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 51}, nil).startWorker()
	s.night("dream-steps-side-by-side", s.request(s.addAgent("recorded-side-by-side")), dream.Completed)
}

// TestRecordFewActivities records a dream whose NREM is one activity, and whose partials and scenarios are judged by
// the activity that makes them.
func TestRecordFewActivities(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 53}, nil).startWorker()
	s.night("dream-in-few-activities", s.request(s.addAgent("recorded-few")), dream.Completed)
}

// TestRecordStepsSideBySideThatAreWoken records dreams that are woken while a step is made by an activity that makes
// several, and resume there.
func TestRecordStepsSideBySideThatAreWoken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ step, judging string }{
		"dream-woken-among-partials-and-resumed":              {"/onset/1/partial-3#", dream.BySingle},
		"dream-woken-among-scenarios-and-resumed":             {"/rem/branch-2#", dream.BySingle},
		"dream-woken-while-judged-after-partials-and-resumed": {"/onset/1/judge-all#", dream.ByTogether},
		"dream-woken-between-replays-and-resumed":             {"/nrem/backward#", dream.ByTogether},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, provider.Options{Seed: 52, Each: 4 * time.Millisecond}, func(p *testdeploy.Config) {
				resting(p)
				p.Knobs.Judging = c.judging
			}).startWorker()
			agent := s.addAgent("recorded-" + name)
			begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				for _, call := range s.upstream.Billing.Calls() {
					if call.Open && call.Completion > 5 && strings.HasPrefix(call.Key, begun.Dream+c.step) {
						return true
					}
				}
				return false
			}, time.Minute, time.Millisecond)
			require.Equal(t, begun.Dream, s.connect(agent).Dream)
			s.resume(agent)
			s.ends(begun.Dream, dream.Completed, name)
		})
	}
}
