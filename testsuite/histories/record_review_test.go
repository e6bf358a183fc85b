package histories_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// TestRecordReviewedNights records a dream whose results wait for a person, one that writes only its journal, and one
// that is run again from REM.
func TestRecordReviewedNights(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 41}, nil).startWorker()
	for way, name := range map[dream.Review]string{
		dream.ReviewAsk:   "dream-reviewed",
		dream.JournalOnly: "dream-journal-only",
	} {
		agent := s.addAgent("recorded-" + string(way))
		agent.Review = way
		require.NoError(t, s.deployment.Store.PutAgent(s.ctx, agent))
		s.night(name, s.request(agent), dream.Completed)
	}
	agent := s.addAgent("recorded-anew")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	_, err = s.deployment.Result(s.ctx, begun.Dream)
	require.NoError(t, err)
	again, err := s.deployment.Starter.Redream(s.ctx,
		starter.RedreamRequest{DreamRequest: s.request(agent), Dream: begun.Dream, From: dream.REM})
	require.NoError(t, err)
	_, err = s.deployment.Result(s.ctx, again.Dream)
	require.NoError(t, err)
	s.save(again.Dream, "dream-anew-from-rem")
}
