package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSealingKeysComeFromAFileOrAVariableAndAreShownNowhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte("one topsecret\n"), 0o600))

	c, err := load(t, "", "", nil, []string{"--set", "seal.keys_file=" + file})
	require.NoError(t, err)
	lines, place, err := c.SealKeys()
	require.NoError(t, err)
	require.Equal(t, "one topsecret\n", lines)
	require.Equal(t, "seal.keys_file "+file, place)
	require.NotContains(t, c.String(), "topsecret")

	c, err = load(t, "", "", []string{"SEAL=two topsecret", "ONEIROS_SEAL_KEYS_ENV=SEAL"}, nil)
	require.NoError(t, err)
	lines, place, err = c.SealKeys()
	require.NoError(t, err)
	require.Equal(t, "two topsecret", lines)
	require.Equal(t, "seal.keys_env SEAL", place)
	require.NotContains(t, c.String(), "topsecret")

	c, err = load(t, "", "", nil, nil)
	require.NoError(t, err)
	lines, place, err = c.SealKeys()
	require.NoError(t, err)
	require.Empty(t, lines+place)
}

func TestSealingKeysThatAreNotThereAreNamedByPlace(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for set, want := range map[string]string{
		"seal.keys_env=NOWHERE":        "seal.keys_env names NOWHERE, which is not set",
		"seal.keys_file=/no/such/file": "seal.keys_file: open /no/such/file",
		"seal.keys_file=" + empty:      "is empty; oneiros codec new-key",
	} {
		c, err := load(t, "", "", nil, []string{"--set", set})
		require.NoError(t, err)
		_, _, err = c.SealKeys()
		require.ErrorContains(t, err, want)
	}
	_, err := load(t, "", "", nil, []string{"--set", "seal.keys_env=A", "--set", "seal.keys_file=b"})
	require.ErrorContains(t, err, "seal names its keys twice")
}
