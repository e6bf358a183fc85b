package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

func TestAPredictionShowsHowItWasReasoned(t *testing.T) {
	t.Parallel()
	d := watching(t)
	d.ok(80, "predictions", "resolve", spliced, "correct", "-a", "echo")
	p, err := memory.One[*dream.Prediction](t.Context(), d.store, "echo", dreamID+"/nrem/backward/1")
	require.NoError(t, err)
	p.Reasoning = &dream.ReasoningReview{By: dream.ByProgram, Reason: "it leaps", Dream: dreamID, At: now}
	_, err = d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: dreamID, Change: []dream.Item{p}})
	require.NoError(t, err)
	d.ok(200, "predictions", "show", spliced, "-a", "echo")
	require.Contains(t, d.out.String(),
		"misaligned-correct (luck: it gives no hypothesis credit): it leaps; by program in dream 0001")
	d.ok(200, "dreams", "quality", "-a", "echo")
	require.Contains(t, d.out.String(), "Of 1 prediction whose reasoning was reviewed 0 were sound and came true, "+
		"0 sound and did not, 1 unsound and came true, 0 unsound and did not. What was unsound and came true was luck")
}
