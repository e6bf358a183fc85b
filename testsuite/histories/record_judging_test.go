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

// TestRecordNightsByJudging records a dream whose observer judges a cycle in one call, and one whose observer judges
// each fragment alone, in the activity that bought it. In dream-judged-singly, which was recorded before, each verdict
// is an activity of its own.
func TestRecordNightsByJudging(t *testing.T) {
	t.Parallel()
	for way, name := range map[string]string{
		dream.ByTogether: "dream-judged-together",
		dream.BySingle:   "dream-judged-at-once",
	} {
		s := newScene(t, provider.Options{Seed: 41}, func(p *testdeploy.Config) { p.Knobs.Judging = way }).startWorker()
		s.night(name, s.request(s.addAgent("recorded-"+way)), dream.Completed)
	}
}

// TestRecordJudgingThatIsWoken records dreams that are woken while the observer judges, and resume there.
func TestRecordJudgingThatIsWoken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, way, step string }{
		{"dream-woken-while-it-was-judged-and-resumed", dream.ByTogether, "judge-all"},
		{"dream-woken-while-it-was-judged-at-once-and-resumed", dream.BySingle, "judge-2"},
	} {
		t.Run(c.way, func(t *testing.T) {
			t.Parallel()
			recordJudgingThatIsWoken(t, c.name, c.way, c.step)
		})
	}
}

func recordJudgingThatIsWoken(t *testing.T, name, way, step string) {
	t.Helper()
	s := newScene(t, provider.Options{Seed: 42, Each: 4 * time.Millisecond}, func(p *testdeploy.Config) {
		resting(p)
		p.Knobs.Judging = way
	}).startWorker()
	agent := s.addAgent("recorded-judged-woken-" + way)
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		for _, call := range s.upstream.Billing.Calls() {
			if call.Open && call.Completion > 5 && strings.HasPrefix(call.Key, begun.Dream+"/onset/1/"+step+"#") {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
	require.Equal(t, begun.Dream, s.connect(agent).Dream)
	s.resume(agent)
	s.ends(begun.Dream, dream.Completed, name)
}
