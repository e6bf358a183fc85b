package minilm_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/embedder/minilm"
)

// realModel loads the model from the folder that ONEIROS_TEST_MINILM names; without it there is nothing to compare.
func realModel(tb testing.TB) *minilm.Model {
	tb.Helper()
	return encoderIn(tb, "ONEIROS_TEST_MINILM")
}

// encoderIn loads the model from the folder that a variable names.
func encoderIn(tb testing.TB, variable string) *minilm.Model {
	tb.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		tb.Skipf("%s names no folder of a model", variable)
	}
	read := func(names ...string) []byte {
		for _, name := range names {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				return data
			}
		}
		require.Fail(tb, "missing file", "%v in %s", names, dir)
		return nil
	}
	m, err := minilm.Load(minilm.Files{
		Config:    read("config.json"),
		Tokenizer: read("tokenizer.json"),
		Weights:   read("model.safetensors", "model.fp16.safetensors"),
	})
	require.NoError(tb, err)
	return m
}

func BenchmarkEmbed(b *testing.B) {
	m := realModel(b)
	for b.Loop() {
		m.Embed("What musical instrument does your kid practise?")
	}
}

func BenchmarkEmbedLong(b *testing.B) {
	m := realModel(b)
	text := ""
	for range 300 {
		text += "memory "
	}
	for b.Loop() {
		m.Embed(text)
	}
}
