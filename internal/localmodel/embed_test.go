package localmodel_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

func TestParaphrasesThatShareWordsAreNearerThanUnrelatedTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, near, far string }{
		{
			"The lamp in the harbour flickered all evening.", "All evening the harbour lamp was flickering.",
			"Volume returned after the Fed minutes.",
		},
		{
			"I closed half the position before Asia opened.", "Half of the position was closed before the Asian open.",
			"Her father listened to shipping forecasts.",
		},
		{
			"Mara could not sleep and counted the light.", "Counting the lights, sleepless Mara lay awake.",
			"The order book thinned and the spread widened.",
		},
		{
			"Traders paid funding for nine days.", "A trader pays the funding every day.",
			"The old capacitor leaked a brown oil.",
		},
		{
			"The missing third verse of the song", "Somebody remembered the third verse that was missing",
			"Rivets held the bad plank",
		},
	} {
		v := localmodel.Vector(c.text)
		near, far := localmodel.Closeness(v, localmodel.Vector(c.near)),
			localmodel.Closeness(v, localmodel.Vector(c.far))
		require.Greater(t, near, far+.2, "%q: near %.2f, far %.2f", c.text, near, far)
		require.Less(t, math.Abs(far), .2, c.far)
	}
}

func TestWordsWithoutContentHardlyCount(t *testing.T) {
	t.Parallel()
	a, b := localmodel.Vector("it was on the what and of the lamp"),
		localmodel.Vector("it was on the what and of the ledger")
	require.Less(t, localmodel.Closeness(a, b), .35)
}

func TestEveryTextHasAUnitVectorOfItsSpace(t *testing.T) {
	t.Parallel()
	texts := []string{"", " ", "the", "42", "你好", "\xff", "a lamp", strings.Repeat("salt and iron ", 2000)}
	got, err := localmodel.New().Embed(context.Background(), localmodel.Lexical, texts, "key")
	require.NoError(t, err)
	require.Equal(t, localmodel.EmbedSpace, got.Space)
	require.Equal(t, inference.ByProvider, got.UsageFrom)
	require.Len(t, got.V, len(texts))
	for i, v := range got.V {
		require.Len(t, v, 384)
		require.InDelta(t, 1, localmodel.Closeness(v, v), 1e-5, texts[i])
	}
	again, err := localmodel.New().Embed(context.Background(), localmodel.Lexical, texts, "other")
	require.NoError(t, err)
	require.Equal(t, got, again)
	_, err = localmodel.New().Embed(context.Background(), localmodel.Associative, texts, "")
	require.Error(t, err)
}

func BenchmarkVector(b *testing.B) {
	for b.Loop() {
		localmodel.Vector(
			"The tide table from the harbour office hangs on the refrigerator and Mara drew a small ring around it.")
	}
}
