package histories_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// TestRecordASearch records a night whose REM searches in rounds.
func TestRecordASearch(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 31}, nil).startWorker()
	s.night("dream-searched", s.request(s.addAgent("recorded-search")), dream.Completed)
}

// TestRecordASearchThatIsWoken records one that is woken while a merge is imagined, and resumes there.
func TestRecordASearchThatIsWoken(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 32, Each: 4 * time.Millisecond}, resting).startWorker()
	agent := s.addAgent("recorded-search-woken")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		for _, call := range s.upstream.Billing.Calls() {
			if call.Open && call.Completion > 5 && strings.HasPrefix(call.Key, begun.Dream+"/rem/merge-4#") {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
	require.Equal(t, begun.Dream, s.connect(agent).Dream)
	s.resume(agent)
	s.ends(begun.Dream, dream.Completed, "dream-woken-in-its-search-and-resumed")
}
