package probe_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/probe"
)

func TestASampleDependsOnTheSeedAlone(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := range 500 {
		ids = append(ids, fmt.Sprintf("e%d", i))
	}
	first := probe.Sample(ids, 200, 7)
	require.Len(t, first, 200)
	slices.Reverse(ids)
	require.Equal(t, first, probe.Sample(ids, 200, 7))
	require.NotEqual(t, first, probe.Sample(ids, 200, 8))
	require.Len(t, probe.Sample(ids[:3], 200, 7), 3)
	require.Empty(t, probe.Sample(ids, 0, 7))
	require.Equal(t, []string{"a"}, probe.Sample([]string{"a", "a"}, 5, 7))
}

// garden are n texts, each with two words of its own.
func garden(n int) []probe.Doc {
	docs := make([]probe.Doc, n)
	for i := range docs {
		docs[i] = probe.Doc{
			ID: fmt.Sprintf("e%03d", i),
			Text: fmt.Sprintf("On that day the keeper of the tower saw wind%d and talked about gull%d all evening", i,
				i),
		}
	}
	return docs
}

func idsOf(docs []probe.Doc) []string {
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	return ids
}

func TestAQuestionIsMadeOfTheRareWordsOfItsText(t *testing.T) {
	t.Parallel()
	docs := garden(50)
	questions := probe.Ask(docs, idsOf(docs), 7)
	require.Len(t, questions, 50)
	dropped, own := 0, 0
	for i, q := range questions {
		require.Equal(t, docs[i].ID, q.ID)
		require.GreaterOrEqual(t, len(q.Words), 3)
		require.LessOrEqual(t, len(q.Words), 4)
		dropped += 4 - len(q.Words)
		for _, word := range q.Words {
			if strings.HasPrefix(word, "wind") || strings.HasPrefix(word, "gull") {
				own++
			}
		}
	}
	for _, q := range questions {
		require.Equal(t, q.Words[0], q.Own, "a word that no other text has")
	}
	require.Empty(t, probe.Ask([]probe.Doc{{ID: "a", Text: "wind"}, {ID: "b", Text: "wind"}}, []string{"a"}, 7)[0].Own)
	require.Positive(t, dropped, "words are left out, as people leave them out")
	require.Greater(t, own, 50)
	require.Equal(t, questions, probe.Ask(docs, idsOf(docs), 7))
	require.Empty(t, probe.Ask([]probe.Doc{{ID: "a", Text: "…"}}, []string{"a", "b"}, 7))
}

func TestWordsOfAnyScript(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"Anna's port is 5434.": {"anna", "s", "port", "is", "5434"},
		"У меня две дочери":    {"у", "меня", "две", "дочери"},
		"猫が好き ok":              {"猫が", "が好", "好き", "ok"},
		"":                     nil,
	} {
		require.Equal(t, want, probe.Words(text), text)
	}
}

func TestANightIsWorseBeyondTheMargin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		questions, lost, gained, others, behind int
		margin                                  int
		worse                                   bool
	}{
		{0, 0, 0, 0, 0, 2, false},
		{10, 2, 0, 0, 0, 2, false},
		{10, 3, 0, 0, 0, 2, true},
		{10, 3, 1, 0, 0, 2, false},
		{200, 2, 0, 0, 0, 2, false},
		{200, 3, 0, 0, 0, 2, true},
		{1000, 10, 0, 0, 0, 10, false},
		{1000, 11, 0, 0, 0, 10, true},
		{200, 0, 0, 50, 0, 2, false}, // lost by what others wrote meanwhile
		{200, 0, 0, 0, 2, 2, false},
		{200, 0, 0, 0, 3, 2, true},
		{200, 1, 0, 0, 2, 2, true},
		{200, 1, 1, 0, 2, 2, false},
	} {
		var results []probe.Result
		add := func(n int, r probe.Result) {
			for range n {
				results = append(results, r)
			}
		}
		add(c.lost, probe.Result{Before: true, Caused: true})
		add(c.others, probe.Result{Before: true})
		add(c.gained, probe.Result{After: true})
		add(c.behind, probe.Result{Before: true, After: true, Behind: true})
		add(c.questions-c.lost-c.gained-c.others-c.behind, probe.Result{Before: true, After: true})
		v := probe.Judge(results)
		require.Equal(t, c.margin, v.Margin)
		require.Equal(t, c.worse, v.Worse(), "%+v", c)
		require.Equal(t, c.questions-c.gained, v.Before)
		require.Equal(t, c.questions-c.lost-c.others, v.After)
		require.Equal(t, c.behind, v.Behind)
	}
}

func FuzzWordsAreValidAndLowerCase(f *testing.F) {
	for _, seed := range []string{"Anna 猫が ÜBER x-y", "\xff\xfe", "ABC123 ½"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, word := range probe.Words(text) {
			require.NotEmpty(t, word)
			require.True(t, utf8.ValidString(word))
			require.NotContains(t, word, " ")
		}
	})
}
