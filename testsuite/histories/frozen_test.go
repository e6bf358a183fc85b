package histories_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sums reads a manifest as sha256sum writes it: the sum of each file by its name.
func sums(t *testing.T, manifest string) map[string]string {
	t.Helper()
	body, err := os.ReadFile(manifest)
	require.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(body)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, ok, "%s: %q is no sum with a file", manifest, line)
		found[name] = sum
	}
	return found
}

// changed names the files of a folder that are not what a manifest says, and those that are gone.
func changed(folder string, sums map[string]string) []string {
	var names []string
	for name, want := range sums {
		body, err := os.ReadFile(filepath.Join(folder, name))
		sum := sha256.Sum256(body)
		if err != nil || hex.EncodeToString(sum[:]) != want {
			names = append(names, name)
		}
	}
	return names
}

// What a released version recorded stays as it was, because workflows that it began may still run. A new version adds
// histories and a manifest of its own.
func TestHistoriesOfReleasedVersionsStay(t *testing.T) {
	t.Parallel()
	released := map[string]int{"0.1.0.sha256": 59} // histories of each version
	manifests, err := filepath.Glob("testdata/*.sha256")
	require.NoError(t, err)
	require.Len(t, manifests, len(released))
	for _, manifest := range manifests {
		frozen := sums(t, manifest)
		require.Len(t, frozen, released[filepath.Base(manifest)], manifest)
		require.Empty(t, changed("testdata", frozen),
			"%s names these as released; put them back, and record new ones under new names", manifest)
	}
}

func TestAChangedOrRemovedHistoryIsFound(t *testing.T) {
	t.Parallel()
	frozen := sums(t, "testdata/0.1.0.sha256")
	dir := t.TempDir()
	for name := range frozen {
		body, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), body, 0o600))
	}
	require.Empty(t, changed(dir, frozen))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dream-empty.json.gz"), []byte("another"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "feed-alarm.json.gz")))
	require.ElementsMatch(t, []string{"dream-empty.json.gz", "feed-alarm.json.gz"}, changed(dir, frozen))
}
