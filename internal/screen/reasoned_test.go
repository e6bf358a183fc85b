package screen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func TestAReportShowsTheReasoningThatNeedsALook(t *testing.T) {
	t.Parallel()
	reviewed := map[string]*dream.Prediction{}
	var events []event.Event
	for id, c := range map[string]struct {
		status  string
		aligned bool
	}{
		"lucky": {dream.PredictionRight, false},
		"sound": {dream.PredictionRight, true},
		"model": {dream.PredictionWrong, true},
	} {
		reviewed[id] = &dream.Prediction{
			Head:      dream.Head{ID: id},
			Claim:     "claim of " + id,
			Status:    c.status,
			Reasoning: &dream.ReasoningReview{Aligned: c.aligned, Reason: "reason of " + id},
		}
		events = append(events, event.New(id, "echo", "dream/echo/0002", evening,
			event.ReasoningReviewed{Prediction: id, Quadrant: reviewed[id].Quadrant(), By: dream.ByProgram}))
	}
	var r screen.DreamReport
	require.NoError(t, r.AddEvents(events, func(ids ...string) ([]dream.Item, error) {
		return []dream.Item{reviewed[ids[0]]}, nil
	}))
	text := screen.Report(r, screen.Style{Width: 100})
	require.Contains(t, text, "sound and true 1, sound and wrong 1, unsound and true 1, unsound and wrong 0")
	require.Contains(t, text, "claim of lucky")
	require.Contains(t, text, "luck: it came true, and its reasoning is not sound; reason of lucky")
	require.Contains(t, text, "soundly reasoned and wrong: the next dream replays what it rests on; reason of model")
	require.NotContains(t, text, "claim of sound")
}
