package console

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

func TestZeroTimesAreLeftOutOfADocumentThatStaysValid(t *testing.T) {
	t.Parallel()
	var never time.Time
	quoted := `a": "0001-01-01T00:00:00Z"`
	for _, v := range []any{
		map[string]any{"a": 1, "z": never},
		map[string]any{"z": never},
		map[string]any{"a": never, "b": 2, "c": never, "d": never},
		[]any{map[string]any{"a": never}, map[string]any{"t": quoted, "u": map[string]any{"v": never}}},
	} {
		var out bytes.Buffer
		require.NoError(t, (&cli.App{Out: &out}).Answer(v))
		var back any
		require.NoError(t, json.Unmarshal(out.Bytes(), &back), out.String())
		require.NotContains(t, out.String(), `: "0001`+`-01-01T00:00:00Z"`+"\n")
	}
	var out bytes.Buffer
	require.NoError(t, (&cli.App{Out: &out}).Answer(map[string]any{"t": quoted, "when": time.Unix(1, 0).UTC()}))
	require.Contains(t, out.String(), "0001-01-01", "a text is not a time")
	require.Contains(t, out.String(), "1970")
}
