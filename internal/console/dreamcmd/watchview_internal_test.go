package dreamcmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

func TestADrawingIsWrittenOverTheLastWithoutClearingTheScreen(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\nb\n", (&screenView{}).redraw("a\nb\n"), "the first has nothing beneath it")
	require.Equal(t, "\x1b[3Aa\x1b[K\nb\x1b[K\n\x1b[J", (&screenView{lines: 3}).redraw("a\nb\n"),
		"what is left of the last goes at the end")
}

func TestWhatRoundsToNothingHasNoMinus(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "+0.00", -.001: "+0.00", -.01: "-0.01", .126: "+0.13"} {
		require.Equal(t, want, cli.Signed(v))
	}
}
