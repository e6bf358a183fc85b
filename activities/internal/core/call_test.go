package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdeasAreReadInEveryFormat(t *testing.T) {
	t.Parallel()
	p := func(p float64) *float64 { return &p }
	for name, c := range map[string]struct {
		answer string
		want   []Idea
	}{
		"as asked":    {`{"ideas":[{"text":"a","probability":0.1}]}`, []Idea{{"a", p(.1)}}},
		"fenced":      {"```json\n{\"ideas\":[{\"text\":\"a\",\"probability\":0}]}\n```", []Idea{{"a", p(0)}}},
		"a bare list": {`[{"text":"a"},{"text":" b "}]`, []Idea{{"a", nil}, {"b", nil}}},
		"cut off": {
			`{"ideas":[{"text":"the gull counts","probability":0.1},{"text":"the winter is fol`,
			[]Idea{{"the gull counts", p(.1)}},
		},
		"none is one": {
			`{"ideas":[{"text":"a","probability":-1},{"text":"b","probability":50}]}`,
			[]Idea{{"a", nil}, {"b", nil}},
		},
		"blank": {`{"ideas":[{"text":" "},{"text":"b"}]}`, []Idea{{"b", nil}}},
		"more than asked": {
			`{"ideas":[{"text":"a"},{"text":"b"},{"text":"c"},{"text":"d"},{"text":"e"}]}`,
			[]Idea{{"a", nil}, {"b", nil}, {"c", nil}, {"d", nil}},
		},
		"lines": {
			"Here you go:\n1. The gull counts the days. (p = 0.04)\n2) The winter folds itself up, probability: .02\n- only two words\n",
			[]Idea{{"The gull counts the days.", p(.04)}, {"The winter folds itself up,", p(.02)}},
		},
		"nothing":   {"", nil},
		"a refusal": {"I cannot.", nil},
	} {
		require.Equal(t, c.want, ReadIdeas(c.answer, 4), name)
	}
}

func FuzzReadIdeas(f *testing.F) {
	f.Add(
		`{"ideas":[{"text":"a gull keeps the ledger of the tide","probability":0.04},{"text":"one","probability":7}]}`)
	f.Add("1. a line of some words (p=.1)\n{")
	f.Fuzz(func(t *testing.T, answer string) {
		found := ReadIdeas(answer, 4)
		require.LessOrEqual(t, len(found), 4)
		for _, one := range found {
			require.NotEmpty(t, strings.TrimSpace(one.Text))
			require.True(t, one.Probability == nil || *one.Probability >= 0 && *one.Probability <= 1)
		}
		require.Equal(t, found, ReadIdeas(answer, 4))
	})
}
