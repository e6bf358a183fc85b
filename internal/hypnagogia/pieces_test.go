package hypnagogia_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

var noon = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)

func episode(id, context, action, outcome, content string) *dream.Episode {
	return &dream.Episode{
		Head:     dream.Head{ID: id, Kind: dream.KindEpisode, At: noon},
		Context:  context,
		Action:   action,
		Outcome:  outcome,
		Content:  content,
		Salience: .6,
		Surprise: .3,
		Affect:   mood.PAD{Pleasure: .2},
		Session:  "s1",
	}
}

// Memories are divided into pieces.
func TestAnEpisodeIsDividedIntoItsParts(t *testing.T) {
	t.Parallel()
	pieces := hypnagogia.Decompose(episode("ep-1",
		"The pool was  thin.", "I moved half the stake", "",
		"The pool was thin! I moved half the stake. Dr. Okafor called at 3.5 p.m.? Nobody else did…  "))
	var got [][2]string
	for _, p := range pieces {
		got = append(got, [2]string{p.Ref, p.Text})
		require.Equal(t, "ep-1", p.Item)
		require.Equal(t, "ep-1#"+p.Part, p.Ref)
		require.Equal(t, "s1", p.Session)
		require.Equal(t, noon, p.At)
		require.Equal(t, .6, p.Salience)
		require.Equal(t, .3, p.Surprise)
		require.Equal(t, mood.PAD{Pleasure: .2}, p.Affect)
	}
	require.Equal(t, [][2]string{
		{"ep-1#context", "The pool was thin."},
		{"ep-1#action", "I moved half the stake"},
		{"ep-1#content-3", "Dr. Okafor called at 3.5 p.m.?"},
		{"ep-1#content-4", "Nobody else did…"},
	}, got)
}

func TestAFadingEntryIsOneSalientPiece(t *testing.T) {
	t.Parallel()
	pieces := hypnagogia.Decompose(
		&dream.Semantic{Head: dream.Head{ID: "se-1", At: noon}, Content: "Tides turn. Pools turn.", Strength: .25})
	require.Len(t, pieces, 1)
	require.Equal(t, "se-1#content", pieces[0].Ref)
	require.Equal(t, "Tides turn. Pools turn.", pieces[0].Text)
	require.Equal(t, .75, pieces[0].Salience)
	require.Empty(t, hypnagogia.Decompose(&dream.Semantic{Content: " \n"}))
	require.Empty(t, hypnagogia.Decompose(episode("ep-2", "", " ", "\t", "")))
	require.Len(t, hypnagogia.Decompose(&dream.Hypothesis{Claim: "Quiet pools drain"}), 1)
}

func TestDecomposeLosesNoWordAndMakesNoBlank(t *testing.T) {
	t.Parallel()
	text := rapid.StringOfN(rapid.SampledFrom([]rune("abcdefg ABC,;:.!?… 123\n日。")), 0, 900, -1)
	rapid.Check(t, func(r *rapid.T) {
		e := episode("e", text.Draw(r, "context"), text.Draw(r, "action"), text.Draw(r, "outcome"),
			text.Draw(r, "content"))
		pieces := hypnagogia.Decompose(e)
		refs := map[string]bool{}
		var answer strings.Builder
		for _, p := range pieces {
			require.NotEmpty(r, strings.TrimSpace(p.Text))
			require.LessOrEqual(r, len([]rune(p.Text)), 280)
			require.False(r, refs[p.Ref], "%s twice", p.Ref)
			refs[p.Ref] = true
			answer.WriteString(p.Text)
		}
		for _, word := range strings.Fields(e.Context) {
			require.Contains(r, answer.String(), string([]rune(word)[:min(4, len([]rune(word)))]))
		}
		require.Equal(r, pieces, hypnagogia.Decompose(e))
	})
}

func TestAVeryLongMemoryGivesFewPieces(t *testing.T) {
	t.Parallel()
	var book strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&book, "Sentence number %d tells of another gull. ", i)
	}
	pieces := hypnagogia.Decompose(
		&dream.Episode{Head: dream.Head{ID: "e"}, Context: "A shelf.", Content: book.String()})
	require.Len(t, pieces, 25)
}
