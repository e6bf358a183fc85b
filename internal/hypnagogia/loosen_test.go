package hypnagogia_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

func TestTheWayOfEachClassOfModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class string
		takes hypnagogia.ModelSupport
		want  dream.Loosening
	}{
		{"Claude from Opus 4.7 on", hypnagogia.ModelSupport{Judges: true}, dream.TwoPhase},
		{"Claude with adaptive reasoning", hypnagogia.ModelSupport{Judges: true, Reasoning: true}, dream.Verbalised},
		{"Claude before that", hypnagogia.ModelSupport{MaxTemperature: 1, Judges: true}, dream.Verbalised},
		{"GPT-5, o-series", hypnagogia.ModelSupport{Judges: true, Reasoning: true}, dream.Verbalised},
		{"GPT-4.x", hypnagogia.ModelSupport{MaxTemperature: 2, Judges: true}, dream.Verbalised},
		{"Gemini 2.5", hypnagogia.ModelSupport{MaxTemperature: 2, Judges: true, Reasoning: true}, dream.Verbalised},
		{"Mistral", hypnagogia.ModelSupport{MaxTemperature: 1.5, Judges: true}, dream.Verbalised},
		{"Ollama's /v1, which drops min-p", hypnagogia.ModelSupport{MaxTemperature: 2, Judges: true}, dream.Verbalised},
		{"a small model on Ollama", hypnagogia.ModelSupport{MaxTemperature: 2}, dream.ByTemperature},
		{"an unknown small model, capped at 1", hypnagogia.ModelSupport{MaxTemperature: 1}, dream.ByTemperature},
		{
			"open weights on vLLM, llama.cpp, SGLang, Venice, OpenRouter",
			hypnagogia.ModelSupport{MaxTemperature: 2, MinP: true, Judges: true},
			dream.ByTemperatureMinP,
		},
		{
			"Mistral's open weights there",
			hypnagogia.ModelSupport{MaxTemperature: 1.5, MinP: true, Judges: true},
			dream.ByTemperatureMinP,
		},
		{"the built-in model", hypnagogia.ModelSupport{MaxTemperature: 2, MinP: true}, dream.ByTemperatureMinP},
		{
			"open weights with reasoning",
			hypnagogia.ModelSupport{MaxTemperature: 2, MinP: true, Judges: true, Reasoning: true},
			dream.Verbalised,
		},
		{
			"min-p, but no high temperature",
			hypnagogia.ModelSupport{MaxTemperature: 1, MinP: true, Judges: true},
			dream.Verbalised,
		},
		{"a limit below every stage", hypnagogia.ModelSupport{MaxTemperature: .9, Judges: true}, dream.TwoPhase},
		{"nothing at all", hypnagogia.ModelSupport{}, dream.TwoPhase},
	} {
		got := hypnagogia.Loosen(c.takes)
		require.Equal(t, c.want, got.Way, c.class)
		require.NotEmpty(t, got.Why, c.class)
		require.Contains(t, dream.Loosenings, got.Way, c.class)
	}
}

func TestTheNumberOfActivitiesOfACycle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		way            dream.Loosening
		partials, want int
	}{
		{"", 4, 4},
		{dream.ByTemperature, 3, 3},
		{dream.ByTemperatureMinP, 5, 5},
		{dream.Verbalised, 5, 1},
		{dream.TwoPhase, 3, 1},
		{dream.TwoPhase, 0, 0},
	} {
		require.Equal(t, c.want, hypnagogia.ActivitiesPerCycle(c.way, c.partials), "%s of %d", c.way, c.partials)
		require.Equal(t, c.partials > 0 && c.want == 1, hypnagogia.Verbal(c.way) && c.partials > 0)
	}
}

func TestWithoutMinPTheTemperatureIsAtMostTheFloorOfThePeak(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		way               dream.Loosening
		temperature, want float64
	}{
		{"", 1.5, 1.5},
		{dream.ByTemperatureMinP, 1.5, 1.5},
		{dream.ByTemperature, 1.5, 1.2},
		{dream.Verbalised, 1.5, 1.2},
		{dream.TwoPhase, 1.3, 1.2},
		{dream.Verbalised, 1.0, 1.0},
	} {
		require.InDelta(t, c.want, hypnagogia.PartialTemperature(c.way, c.temperature), 1e-12, "%s at %v", c.way, c.temperature)
	}
	require.GreaterOrEqual(t, hypnagogia.PartialTemperature(dream.Verbalised, 1.5), hypnagogia.Floor(dream.Peak), "never below the floor of the peak")
}

func TestAVerbalisedAnswerHasRoomForEveryIdea(t *testing.T) {
	t.Parallel()
	k := dream.DefaultKnobs()
	require.GreaterOrEqual(t, hypnagogia.IdeaTokens(k), k.Partials*k.PartialTokens)
	require.Less(t, hypnagogia.ScrapTokens(k), k.Partials*k.PartialTokens, "the first call is the smaller one")
}
