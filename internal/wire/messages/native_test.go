package messages_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// TestThoughtsOfOtherProvidersAreTakenOff compares bodies with golden files: NAME.in.json as a client sends it to a
// provider that speaks this wire, NAME.out.json as it goes on.
func TestThoughtsOfOtherProvidersAreTakenOff(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("testdata/native/*.in.json")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, file := range all {
		in, err := os.ReadFile(file)
		require.NoError(t, err)
		out := messages.Native(in)
		golden := strings.Replace(file, ".in.", ".out.", 1)
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.WriteFile(golden, out, 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(out), file)
		require.True(t, json.Valid(out), file)
	}
}

// FuzzNative requires that a body stays JSON, keeps all but such thoughts, and is not edited twice.
func FuzzNative(f *testing.F) {
	all, err := filepath.Glob("testdata/native/*.in.json")
	require.NoError(f, err)
	for _, file := range all {
		in, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(in)
	}
	f.Add([]byte(`{"messages":[{"content":[{"type":"thinking","signature":"oneiros:"}]}]}`))
	f.Add([]byte(`{"messages":[[{"type":"thinking","signature":"oneiros:"}],7,{"content":{"a":"oneiros:"}}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if !json.Valid(in) {
			messages.Native(in)
			return
		}
		out := messages.Native(in)
		require.True(t, json.Valid(out), "%s", out)
		require.Equal(t, string(out), string(messages.Native(out)))
		if len(out) == len(in) {
			require.Equal(t, string(in), string(out))
		}
	})
}
