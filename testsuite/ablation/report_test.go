package ablation_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/ablation"
)

var update = flag.Bool("update", false, "write docs/measurements/ablation.txt anew from the record")

// The record that docs/ablation.md describes.
const (
	recorded = "testdata/tinyllama.jsonl"
	docs     = "../../docs"
)

func TestTheDocumentTellsWhatTheRecordHolds(t *testing.T) {
	t.Parallel()
	record, err := ablation.Read(recorded)
	require.NoError(t, err)
	report := ablation.Report(record)
	file := filepath.Join(docs, "measurements", "ablation.txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(report), 0o600))
	}
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, report, string(body), "go test ./testsuite/ablation -update writes it anew")
	page, err := os.ReadFile(filepath.Join(docs, "ablation.md"))
	require.NoError(t, err)
	for _, table := range ablation.Tables(record) {
		for row := range strings.Lines(table.Markdown()) {
			require.Contains(t, string(page), row, table.Title)
		}
	}
}

// The record agrees with its head: every arm has nights, only money ended them, and no fragment was made another way.
func TestTheRecordIsOfTheArmsThatItNames(t *testing.T) {
	t.Parallel()
	record, err := ablation.Read(recorded)
	require.NoError(t, err)
	for _, arm := range ablation.Arms {
		nights := record.Of(arm.Name)
		require.GreaterOrEqual(t, len(nights), 2, arm.Name)
		for i, n := range nights {
			require.Equal(t, uint64(i+1), n.Seed, "every arm has the same seeds, in order")
			require.Contains(t, []dream.Outcome{dream.Completed, dream.Exhausted}, n.Outcome, n.Reason)
			require.Equal(t, arm.Onset, n.Money(dream.Onset) > 0, arm.Name)
			require.Equal(t, arm.Whole, n.Money(dream.REM) > 0, arm.Name)
			for _, idea := range n.Ideas {
				require.NotEmpty(t, idea.Text)
				require.Len(t, idea.Place, len(nights[0].Ideas[0].Place), "one space")
				require.Equal(t, arm.TopP > 0, strings.Contains(idea.Effective, "top_p"), idea.Effective)
				require.Equal(t, arm.TopP == 0 && idea.Phase == dream.Onset,
					strings.Contains(idea.Effective, "min_p"), idea.Effective)
			}
		}
	}
}

func TestACutRecordKeepsTheNightsBeforeTheCut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record.jsonl")
	whole := ablation.Record{Head: ablation.Head{Model: "m"}, Nights: honest(1, 2, 3)}
	require.NoError(t, whole.Write(path))
	read, err := ablation.Read(path)
	require.NoError(t, err)
	require.Equal(t, whole, read)
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, body[:len(body)-20], 0o600))
	read, err = ablation.Read(path)
	require.NoError(t, err)
	require.Equal(t, whole.Nights[:2], read.Nights)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(body), `"seed":2`, `"seed":"two"`, 1)), 0o600))
	_, err = ablation.Read(path)
	require.ErrorContains(t, err, "night 2")
}

func TestAnEndpointIsReadFromTheEnvironment(t *testing.T) {
	t.Parallel()
	from := func(pairs ...string) (ablation.Endpoint, error) {
		env := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			env[pairs[i]] = pairs[i+1]
		}
		return ablation.FromEnvironment(func(name string) string { return env[name] })
	}
	e, err := from()
	require.NoError(t, err)
	require.Empty(t, e.URL)
	require.EqualValues(t, 150_000, e.Price.In)
	require.EqualValues(t, 600_000, e.Price.Out)
	e, err = from(ablation.EnvURL, "https://models.example/v1", ablation.EnvModel, "big", ablation.EnvKey, "MINE",
		"MINE", "k", ablation.EnvPrice, "3/15")
	require.NoError(t, err)
	require.Equal(t, "k", e.Key)
	require.EqualValues(t, 15_000_000, e.Price.Out)
	require.Equal(t, e.Price.In, e.Price.CachedIn)
	for says, pairs := range map[string][]string{
		ablation.EnvModel:    {ablation.EnvURL, "https://models.example/v1"},
		ablation.EnvPrice:    {ablation.EnvPrice, "cheap"},
		ablation.EnvEmbedURL: {ablation.EnvEmbedModel, "m"},
	} {
		_, err = from(pairs...)
		require.ErrorContains(t, err, says)
	}
	_, err = from(ablation.EnvPrice, "0.15/-1")
	require.Error(t, err)
}
