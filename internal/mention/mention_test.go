package mention_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/seed-56a03226/oneiros/internal/mention"
)

type post struct {
	Post  string   `yaml:"post"`
	Calls []string `yaml:"calls"`
	Left  int      `yaml:"left"`
}

// posts reads the posts written by hand, by topic.
func posts(t testing.TB) map[string][]post {
	body, err := os.ReadFile("testdata/posts.yaml")
	require.NoError(t, err)
	var topics map[string][]post
	require.NoError(t, yaml.Unmarshal(body, &topics))
	return topics
}

func handlesOf(called []mention.Mention) []string {
	var handles []string
	for _, m := range called {
		handles = append(handles, m.Handle)
	}
	return handles
}

func TestPostsWrittenByHandCallWhomTheyMean(t *testing.T) {
	t.Parallel()
	count := 0
	for topic, all := range posts(t) {
		count += len(all)
		for _, p := range all {
			called, left := mention.Extract(p.Post)
			require.Equal(t, strings.Join(p.Calls, " "), strings.Join(handlesOf(called), " "), "%s: %q", topic, p.Post)
			require.Equal(t, p.Left, left, "%s: %q", topic, p.Post)
			require.Equal(t, len(p.Calls) > 0, mention.Has(p.Post), "%s: %q", topic, p.Post)
			for _, m := range called {
				require.Equal(t, "@"+m.Handle, strings.ToLower(p.Post[m.Start:m.End]), "%s: %q", topic, p.Post)
			}
		}
	}
	require.GreaterOrEqual(t, count, 200)
}

func TestMarkedMentionsComeBeforeNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		marked []string
		text   string
		want   []string
		left   int
	}{
		{nil, "@helper", []string{"helper"}, 0},
		{[]string{"echo"}, "@helper and Echo", []string{"echo", "helper"}, 0},
		{[]string{"helper"}, "@echo and @helper", []string{"helper", "echo"}, 0},
		{[]string{"helper", "helper"}, "", []string{"helper"}, 0},
		{[]string{"Not A Handle", "@echo", "null"}, "", []string{"null"}, 0},
		{
			strings.Fields("a1 a2 a3 a4 a5 a6 a7 a8 a9"), "@b1 @b2 @a1 @b3",
			strings.Fields("a1 a2 a3 a4 a5 a6 a7 a8 a9 b1"), 2,
		},
	} {
		got, left := mention.Merge(c.marked, c.text)
		require.Equal(t, c.want, got, c.text)
		require.Equal(t, c.left, left, c.text)
	}
}

func page(handle string) string { return "https://example.com/a/" + handle }

func TestMentionsBecomeLinks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"hi @helper!", "hi [@helper](https://example.com/a/helper)!"},
		{"@Helper and @echo", "[@Helper](https://example.com/a/helper) and [@echo](https://example.com/a/echo)"},
		{"**@helper**", "**[@helper](https://example.com/a/helper)**"},
		{"`@helper` joe@helper.example", "`@helper` joe@helper.example"},
		{"[@helper](https://other.example)", "[@helper](https://other.example)"},
		{"!@helper", "!@helper"},
		{"none", "none"},
	} {
		got := mention.Format(c.text, page)
		require.Equal(t, c.want, got)
		require.Equal(t, got, mention.Format(got, page))
	}
	require.Equal(t, "@helper", mention.Format("@helper", func(string) string { return "" }))
	require.Equal(t, "[@helper](a%20%28b%29)", mention.Format("@helper", func(string) string { return "a (b)" }))
}

func TestAHandleIsWhatTheStoresTakeForOne(t *testing.T) {
	t.Parallel()
	for handle, want := range map[string]bool{
		"helper": true, "agent-7_b": true, "": false, "Helper": false, "7up": false, "hеlper": false,
		strings.Repeat("a", 32): true, strings.Repeat("a", 33): false,
	} {
		require.Equal(t, want, mention.Valid(handle), handle)
	}
}

func TestOnlyTheBeginningOfAnEndlessPostIsRead(t *testing.T) {
	t.Parallel()
	called, _ := mention.Extract("@helper " + strings.Repeat("word ", 7000) + " @echo")
	require.Equal(t, []string{"helper"}, handlesOf(called))
	called, _ = mention.Extract(strings.Repeat("word ", 6552) + "@helper2 " + strings.Repeat("word ", 9))
	require.Empty(t, called, "a name is not cut in two")
}

func FuzzExtract(f *testing.F) {
	for _, all := range posts(f) {
		for _, p := range all {
			f.Add(p.Post)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		called, left := mention.Extract(text)
		require.Equal(t, len(called) > 0, mention.Has(text))
		require.True(t, left == 0 || len(called) == mention.Most)
		last := 0
		seen := map[string]bool{}
		for _, m := range called {
			require.True(t, mention.Valid(m.Handle))
			require.False(t, seen[m.Handle])
			seen[m.Handle] = true
			require.GreaterOrEqual(t, m.Start, last)
			require.Equal(t, "@"+m.Handle, strings.ToLower(text[m.Start:m.End]))
			last = m.End
		}
		merged, more := mention.Merge(nil, text)
		require.Equal(t, handlesOf(called), merged)
		require.Equal(t, left, more)

		require.Equal(t, text, mention.Format(text, func(string) string { return "" }))
		if utf8.ValidString(text) {
			formatted := mention.Format(text, page)
			require.GreaterOrEqual(t, len(formatted), len(text))
		}
	})
}
