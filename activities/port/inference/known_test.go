package inference_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

func TestTheEmbeddedDataSaysWhatDayItsPricesStandFor(t *testing.T) {
	t.Parallel()
	day, note := inference.PricesAsOf()
	require.Regexp(t, `^20\d\d-\d\d-\d\d$`, day)
	require.Contains(t, note, "list prices")
	require.NotEmpty(t, inference.Profiles())
	require.NotEmpty(t, inference.Embedded())
}

func TestEveryEmbeddedModelIsPlausible(t *testing.T) {
	t.Parallel()
	for name, s := range inference.Embedded() {
		require.NotNil(t, s.Price, name)
		require.Positive(t, s.Price.In, name)
		require.LessOrEqual(t, s.Price.CachedIn, s.Price.In, name)
		require.Less(t, s.Price.Out, 100*budget.Dollar, name)
		require.Positive(t, s.Context, name)
		require.False(t, s.BuiltIn, name)
		if s.Embeds {
			require.False(t, s.Judges, name)
			continue
		}
		require.GreaterOrEqual(t, s.Price.Out, s.Price.In, name)
		require.NotEmpty(t, s.JSON, name)
		if p := s.Price; p.LongFrom > 0 {
			require.Less(t, p.LongFrom, int64(s.Context), name)
			require.GreaterOrEqual(t, p.LongIn, p.In, name)
			require.GreaterOrEqual(t, p.LongCachedIn, p.CachedIn, name)
			require.LessOrEqual(t, p.LongCachedIn, p.LongIn, name)
			require.GreaterOrEqual(t, p.LongOut, p.Out, name)
		}
	}
}

func TestWhatModelsRefuseIsKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile, model string
		temperature    float64
		minP, topP     bool
		reasoning      bool
		priced         bool
	}{
		{"openai", "gpt-4o", 2, false, true, false, true},
		{"openai", "gpt-4o-2024-08-06", 2, false, true, false, true},
		{"openai", "gpt-4.1-mini", 2, false, true, false, true},
		{"openai", "gpt-5", 0, false, false, true, true},
		{"openai", "gpt-5-mini-2025-08-07", 0, false, false, true, true},
		{"openai", "gpt-5.9-new", 0, false, false, true, false},
		{"openai", "gpt-5-chat-latest", 2, false, true, false, true},
		{"openrouter", "openai/gpt-5", 0, false, false, true, true},
		{"openrouter", "anthropic/claude-sonnet-4.5", 1, false, false, false, true},
		{"generic", "claude-3-5-haiku-20241022", 1, false, true, false, true},
		{"anthropic", "claude-haiku-4-5-20251001", 1, false, false, false, true},
		{"openai", "gpt-5.2-2025-12-11", 0, false, false, true, true},
		{"openai", "gpt-5.2-pro", 0, false, false, true, false},
		{"openai", "gpt-5.4-nano", 0, false, false, true, true},
		{"openai", "gpt-6.2-sol", 0, false, false, true, true},
		{"openai", "gpt-6-astra-pro", 0, false, false, true, false},
		{"openrouter", "openai/gpt-6-luna", 0, false, false, true, true},
		{"anthropic", "claude-sonnet-5", 0, false, false, true, true},
		{"anthropic", "claude-opus-5-5", 0, false, false, true, true},
		{"anthropic", "claude-fable-5-2", 0, false, false, true, true},
		{"anthropic", "claude-fable-6", 0, false, false, true, false},
		{"generic", "claude-opus-4-7", 0, false, false, false, true},
		{"generic", "claude-opus-4-6", 1, false, false, false, true},
		{"generic", "claude-sonnet-4-6", 0, false, false, false, true}, // takes 1.0 and nothing else
		{"generic", "claude-sonnet-5", 0, false, false, true, true},
		{"generic", "claude-haiku-5-5", 0, false, false, true, true},
		{"openrouter", "anthropic/claude-opus-4.8", 0, false, false, false, true},
		{"openrouter", "anthropic/claude-haiku-5.5", 0, false, false, true, true},
		{"openrouter", "anthropic/claude-haiku-6", 0, false, false, true, false},
		{"openrouter", "google/gemini-3.1-pro-preview", 2, false, true, true, true},
		{"generic", "gemini-3.8-flash", 0, false, false, true, true},
		{"generic", "gemini-3.5-flash", 2, false, true, true, true},
		{"generic", "mistral-medium-2508", 1.5, false, true, false, true},
		{"generic", "deepseek-v4-pro", 0, false, false, true, true},
		{"generic", "mistral-small-latest", 1.5, false, true, false, true},
		{"generic", "deepseek-chat", 2, false, true, false, true},
		{"ollama", "llama3.2:3b", 2, false, true, false, false},
		{"llamacpp", "tinyllama-1.1b-chat.gguf", 2, true, true, false, false},
		{"vllm", "Qwen/Qwen2.5-7B-Instruct", 2, true, true, false, false},
		{"ollama", "mistral-small:latest", 1.5, false, true, false, false},
	} {
		s, ok := inference.KnownModel(c.profile, c.model)
		require.True(t, ok, c.model)
		require.InDelta(t, c.temperature, s.MaxTemperature, 1e-9, c.model)
		require.Equal(t, c.minP, s.MinP, c.model)
		require.Equal(t, c.topP, s.TopP, c.model)
		require.Equal(t, c.reasoning, s.Reasoning, c.model)
		require.Equal(t, c.priced, s.Price != nil, c.model)
		require.Equal(t, c.model, s.Wire)
	}
	_, ok := inference.KnownModel("openai", "no-such-thing")
	require.False(t, ok)
	_, ok = inference.KnownModel("no-such-profile", "gpt-4o")
	require.False(t, ok)
}

func TestEveryKnownClassIsLoosenedInItsWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile, model string
		want           dream.Loosening
	}{
		{"generic", "claude-opus-4-7", dream.TwoPhase},
		{"openrouter", "anthropic/claude-sonnet-5", dream.Verbalised},
		{"generic", "claude-haiku-5-5", dream.Verbalised},
		{"generic", "claude-haiku-4-5", dream.Verbalised},
		{"openrouter", "anthropic/claude-3.5-haiku", dream.Verbalised},
		{"openai", "gpt-5-mini", dream.Verbalised},
		{"openai", "gpt-5.1", dream.Verbalised},
		{"openai", "o4-mini", dream.Verbalised},
		{"openai", "gpt-4.1", dream.Verbalised},
		{"openai", "gpt-4o-mini", dream.Verbalised},
		{"openrouter", "google/gemini-2.5-flash", dream.Verbalised},
		{"generic", "mistral-large-latest", dream.Verbalised},
		{"generic", "deepseek-chat", dream.Verbalised},
		{"generic", "deepseek-reasoner", dream.Verbalised},
		{"ollama", "llama3.2:3b", dream.Verbalised},
		{"vllm", "Qwen/Qwen2.5-7B-Instruct", dream.ByTemperatureMinP},
		{"sglang", "meta-llama/Llama-3.1-70B-Instruct", dream.ByTemperatureMinP},
		{"llamacpp", "tinyllama-1.1b-chat.gguf", dream.ByTemperatureMinP},
		{"venice", "llama-3.3-70b", dream.ByTemperatureMinP},
		{"openrouter", "mistralai/mistral-nemo", dream.ByTemperatureMinP},
		{"vllm", "Qwen/Qwen3-32B", dream.Verbalised},
		{"openrouter", "openai/gpt-oss-120b", dream.Verbalised},
		{"generic", "a-model-nobody-knows", dream.Verbalised},
	} {
		s, err := inference.Resolve("p", c.profile, c.model, nil)
		require.NoError(t, err)
		got := hypnagogia.Loosen(
			hypnagogia.ModelSupport{
				MaxTemperature: s.MaxTemperature, MinP: s.MinP, Reasoning: s.Reasoning,
				Judges: s.Judges,
			})
		require.Equal(t, c.want, got.Way, "%s on %s", c.model, c.profile)
	}
}

func TestLogProbabilitiesAreOnlyWantedWhereServerAndModelTellThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile, model string
		want           bool
	}{
		{"openai", "gpt-4o-mini", true},
		{"openai", "gpt-4.1-2025-04-14", true},
		{"openai", "gpt-5", false},
		{"openai", "o3", false},
		{"vllm", "Qwen/Qwen2.5-7B-Instruct", true},
		{"llamacpp", "tinyllama-1.1b-chat.gguf", true},
		{"ollama", "llama3.2:3b", false},
		{"openrouter", "openai/gpt-4o", false},
		{"venice", "llama-3.3-70b", false},
		{"generic", "gpt-4o", false},
	} {
		s, ok := inference.KnownModel(c.profile, c.model)
		require.True(t, ok, c.model)
		require.Equal(t, c.want, s.LogProbs, "%s on %s", c.model, c.profile)
	}
}

func TestListPrices(t *testing.T) {
	t.Parallel()
	const cent = budget.Dollar / 100
	for _, c := range []struct {
		profile, model string
		prompt, answer int64
		want           budget.Micros
	}{
		{"anthropic", "claude-opus-5-5", 1_000_000, 0, 4 * budget.Dollar},
		{"anthropic", "claude-haiku-5-5", 100_000, 100_000, 6 * cent},
		{"anthropic", "claude-haiku-5-5", 200_000, 100_000, 35 * cent}, // all of it costs five times as much
		{"openai", "gpt-5.4", 100_000, 100_000, 175 * cent},
		{"openai", "gpt-5.4", 400_000, 100_000, 425 * cent},
		{"openai", "gpt-6.2-sol", 200_000, 0, 50 * cent}, // at the price of writing it to the cache
		{"generic", "gemini-2.5-pro", 200_000, 100_000, 125 * cent},
		{"generic", "gemini-2.5-pro", 400_000, 100_000, 250 * cent},
		{"generic", "mistral-medium-latest", 1_000_000, 0, 150 * cent}, // what the newest one costs
		{"generic", "mistral-medium-2508", 1_000_000, 0, 40 * cent},
		{"generic", "deepseek-chat", 0, 1_000_000, 120 * cent}, // at the busy hours
	} {
		s, ok := inference.KnownModel(c.profile, c.model)
		require.True(t, ok, c.model)
		require.Equal(t, c.want, s.Price.Cost(budget.Tokens{In: c.prompt, Out: c.answer}), c.model)
	}
}

func TestADatedModelThatCostsMoreKeepsItsOwnPrice(t *testing.T) {
	t.Parallel()
	s, ok := inference.KnownModel("openai", "gpt-4o-2024-05-13")
	require.True(t, ok)
	require.Equal(t, 15*budget.Dollar, s.Price.Out)
}

func TestADeploymentOverridesWhatIsKnown(t *testing.T) {
	t.Parallel()
	temperature, price := 1.2, budget.Price{In: 7, CachedIn: 7, Out: 9}
	s, err := inference.Resolve("mine", "openai", "gpt-4o",
		&inference.Override{MaxTemperature: &temperature, Price: &price})
	require.NoError(t, err)
	require.Equal(t, "mine/gpt-4o", s.Name)
	require.Equal(t, "mine", s.Provider)
	require.Equal(t, "gpt-4o", s.Wire)
	require.InDelta(t, 1.2, s.MaxTemperature, 1e-9)
	require.Equal(t, price, *s.Price)
	require.Equal(t, "o200k_base", s.Tokenizer)
}

func TestOnlyADeclaredLocalProviderIsFree(t *testing.T) {
	t.Parallel()
	s, err := inference.Resolve("box", "ollama", "llama3.2", nil)
	require.NoError(t, err)
	require.Nil(t, s.Price, "nobody said that this server is ours")
	s, err = inference.Resolve("box", "ollama", "llama3.2", &inference.Override{Local: true})
	require.NoError(t, err)
	require.Equal(t, budget.Price{}, *s.Price)
	s, err = inference.Resolve("box", "generic", "gpt-4o", &inference.Override{Local: true})
	require.NoError(t, err)
	require.Positive(t, s.Price.In, "a known price is not forgotten because a proxy stands nearby")
}

func TestAnUnknownProfileIsToldTheKnownOnes(t *testing.T) {
	t.Parallel()
	_, err := inference.Resolve("p", "grok", "m", nil)
	require.ErrorContains(t, err, "openrouter")
	_, err = inference.Resolve("", "openai", "m", nil)
	require.Error(t, err)
	s, err := inference.Resolve("p", "generic", "something-new", nil)
	require.NoError(t, err)
	require.Nil(t, s.Price)
	require.InDelta(t, 1.0, s.MaxTemperature, 1e-9)
}
