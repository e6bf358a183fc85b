package localmodel_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

func TestTheBuiltInEmbeddersSayWhatTheirCosinesMean(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, spec := range localmodel.Specs() {
		if !spec.Embeds || spec.Name == localmodel.MiniLM && os.Getenv("ONEIROS_TEST_MINILM") == "" {
			continue
		}
		seen++
		placed, err := builtIn(t).Embed(t.Context(), spec.Name, inference.CalibrationTexts(), "")
		require.NoError(t, err)
		require.True(t, spec.Makes(placed.Space))
		measured, err := inference.Calibrate(placed.V)
		require.NoError(t, err)
		require.InDelta(t, measured.Unrelated, spec.Calibration.Unrelated, .01, spec.Name)
		require.InDelta(t, measured.Related, spec.Calibration.Related, .01, spec.Name)
		require.InDelta(t, measured.Novel, spec.Calibration.Novel, .01, spec.Name)
		require.InDelta(t, measured.Same, spec.Calibration.Same, .01, spec.Name)
	}
	require.GreaterOrEqual(t, seen, 2)
}

// builtIn is the built-in model, with builtin/minilm where ONEIROS_TEST_MINILM names its folder.
func builtIn(t testing.TB) *localmodel.Model {
	t.Helper()
	dir := os.Getenv("ONEIROS_TEST_MINILM")
	if dir == "" {
		return localmodel.New()
	}
	m, err := localmodel.WithMiniLM(dir)
	require.NoError(t, err)
	return m
}

func TestMiniLMWithoutItsFilesSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := localmodel.New().Embed(t.Context(), localmodel.MiniLM, []string{"x"}, "")
	require.ErrorContains(t, err, "set embedder.minilm_dir")
	dir := t.TempDir()
	m, err := localmodel.WithMiniLM(dir)
	require.ErrorContains(t, err, "config.json is missing")
	_, err = m.Embed(t.Context(), localmodel.MiniLM, []string{"x"}, "")
	require.ErrorContains(t, err, "config.json is missing")
	_, err = m.Embed(t.Context(), localmodel.Static, []string{"x"}, "")
	require.NoError(t, err, "the others go on")
	for _, name := range []string{"config.json", "tokenizer.json", "model.safetensors"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600))
	}
	m, err = localmodel.WithMiniLM(dir)
	require.NoError(t, err)
	_, err = m.Embed(t.Context(), localmodel.MiniLM, []string{"x"}, "")
	require.ErrorContains(t, err, "num_hidden_layers is 0")
}
