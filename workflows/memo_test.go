package workflows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestTheMemoOfADream(t *testing.T) {
	t.Parallel()
	plain := testSpec("dream/echo/0042")
	plain.Budget, plain.Seed = 500_000, 1<<63+1
	want := map[string]any{
		"agent": "echo", "number": "0042", "tier": "core", "cap": "$0.50", "as_of": "2026-10-19T22:00:00Z",
		"day":  "2026-10-19",
		"seed": "9223372036854775809", "model": "m", "begun": "asked for", "contract": Contract,
	}
	require.Equal(t, want, DreamMemo(plain))

	full := plain
	full.Free, full.Alone, full.Review = true, true, dream.JournalOnly
	full.Redreams = &dream.Redream{Dream: "dream/echo/0041", From: dream.REM}
	memo := DreamMemo(full)
	require.Equal(t, "free", memo["cap"])
	require.Equal(t, "by itself", memo["begun"])
	require.Equal(t, string(dream.JournalOnly), memo["review"])
	require.Equal(t, "dream/echo/0041", memo["anew_from"])
}
