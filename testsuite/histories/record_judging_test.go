package histories_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// TestRecordNightsByJudging records a dream whose observer judges a cycle in one call, and one whose observer judges
// each fragment alone.
func TestRecordNightsByJudging(t *testing.T) {
	t.Parallel()
	for way, name := range map[string]string{
		dream.ByTogether: "dream-judged-together",
		dream.BySingle:   "dream-judged-singly",
	} {
		s := newScene(t, provider.Options{Seed: 41}, func(p *testdeploy.Config) { p.Knobs.Judging = way }).startWorker()
		s.night(name, s.request(s.addAgent("recorded-"+way)), dream.Completed)
	}
}

// TestRecordABatchThatIsWoken records one that is woken while a cycle is judged in one call, and resumes there.
func TestRecordABatchThatIsWoken(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 42, Each: 4 * time.Millisecond}, func(p *testdeploy.Config) {
		resting(p)
		p.Knobs.Judging = dream.ByTogether
	}).startWorker()
	agent := s.addAgent("recorded-judged-woken")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		for _, call := range s.upstream.Billing.Calls() {
			if call.Open && call.Completion > 5 && strings.HasPrefix(call.Key, begun.Dream+"/onset/1/judge-all#") {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
	require.Equal(t, begun.Dream, s.connect(agent).Dream)
	s.resume(agent)
	s.ends(begun.Dream, dream.Completed, "dream-woken-while-it-was-judged-and-resumed")
}
