package utterance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestStripLeavesWhatAPersonWrote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"words", "I'm vegetarian.", []string{"I'm vegetarian."}},
		{"nothing", " \n ", nil},
		{"only marks", "?!", nil},
		{"a reminder", "<system-reminder>do this</system-reminder>I'm vegetarian.", []string{"I'm vegetarian."}},
		{
			"a reminder in the middle", "I'm vegetarian.\n<system-reminder>x</system-reminder>\nI live in York.",
			[]string{"I'm vegetarian.", "I live in York."},
		},
		{
			"a reminder that does not end", "<system-reminder>I'm vegetarian.",
			[]string{"<system-reminder>I'm vegetarian."},
		},
		{"only a reminder", "<system-reminder>do this</system-reminder>", nil},
		{
			"a query within its context", "<context>a</context><user_query>I'm vegetarian.</user_query> more",
			[]string{"I'm vegetarian."},
		},
		{
			"a query within a client's block is the client's",
			"<context><user_query>old</user_query></context>I'm vegetarian.",
			[]string{"I'm vegetarian."},
		},
		{
			"a task beside what only clients write",
			"<task>I'm vegetarian.</task>\n# Rules\n<environment_details>x</environment_details>",
			[]string{"I'm vegetarian."},
		},
		{
			"a task that a person wrote", "I'm vegetarian.\n<task>Plan a dinner</task>",
			[]string{"I'm vegetarian.", "Plan a dinner"},
		},
		{
			"a tag that a person made up", "<notes>I'm vegetarian.</notes> Plan a dinner",
			[]string{"I'm vegetarian.", "Plan a dinner"},
		},
		{"a block of an unknown client", "<open_files>a.go</open_files>\nI'm vegetarian.", []string{"I'm vegetarian."}},
		{"an unknown block is all there is", "<my_notes>I'm vegetarian.</my_notes>", []string{"I'm vegetarian."}},
		{"less than", "I weigh < 80 kg and > 70 kg.", []string{"I weigh < 80 kg and > 70 kg."}},
		{
			"a fence", "My port is 5433:\n```yaml\nport: 5433\n```\nIs that fine?",
			[]string{"My port is 5433:", "Is that fine?"},
		},
		{"a fence that does not end", "My port is 5433:\n```\nport: 5433", []string{"My port is 5433:"}},
		{"only a fence", "```go\nx := 1\n```", nil},
		{"one line that looks like a setting", "I am Tom.\nport: 5433", []string{"I am Tom.\nport: 5433"}},
		{
			"a list of a person's", "I need:\n- milk\n- two eggs\n- bread",
			[]string{"I need:\n- milk\n- two eggs\n- bread"},
		},
		{
			"output after words", "I live in York.\npanic: no\n\ngoroutine 1 [running]:\nmain.main()",
			[]string{"I live in York."},
		},
		{
			"the title that a client asks for",
			"### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: I'm vegetarian.\n</chat_history>",
			nil,
		},
		{
			"a template", "Context information is below.\nHarbours.\nQuestion: I'm vegetarian, what then?",
			[]string{"I'm vegetarian, what then?"},
		},
		{
			"a question of a person's", "I'm vegetarian.\nQuestion: what then?",
			[]string{"I'm vegetarian.\nQuestion: what then?"},
		},
		{"other scripts", "<system-reminder>x</system-reminder>娘が二人います。", []string{"娘が二人います。"}},
	} {
		require.Equal(t, c.want, Strip(c.text), c.name)
	}
}

func TestOfALongTextHeadAndTailCount(t *testing.T) {
	t.Parallel()
	paste := strings.Repeat("The harbour was dredged again and the quay was mended. ", 1200)
	for _, text := range []string{
		"I'm vegetarian.\n\n" + paste, paste + "\n\nI'm vegetarian.", "I'm vegetarian. " + paste,
		paste + "I'm vegetarian.",
		"I'm vegetarian.\n" + strings.ReplaceAll(paste, ". ", ".\n"),
	} {
		texts := Strip(text)
		require.Contains(t, strings.Join(texts, "\n"), "I'm vegetarian.")
		require.LessOrEqual(t, len(strings.Join(texts, "")), 2*headTail)
	}
	short := strings.Repeat("The quay was mended. ", 100)
	require.Equal(t, []string{strings.TrimSpace(short)}, Strip(short), "what is not long is whole")
}

func TestASearchHasWordsWhereAMessageIsOnlyPasted(t *testing.T) {
	t.Parallel()
	require.Equal(t, "I'm vegetarian.",
		Question("<system-reminder>x</system-reminder>I'm vegetarian.\n```\nx := 1\n```"))
	require.Contains(t, Question("<system-reminder>x</system-reminder>\n```\npanic: lost\n```"), "panic: lost")
	require.NotContains(t, Question("<system-reminder>reminded</system-reminder>\n```\npanic: lost\n```"), "reminded")
	require.Empty(t, Question("<system-reminder>x</system-reminder>"))
}

func TestWorth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want Verdict
	}{
		{"", Empty},
		{"👍", Empty},
		{"5", SmallTalk},
		{"Hi Anna!", SmallTalk},
		{"Thank you so much.", SmallTalk},
		{"Hello! I'm Anna.", Statement},
		{"Ok, I'm vegetarian.", Statement},
		{"Thanks to my aunt I speak Welsh.", Statement},
		{"Write a poem.", Request},
		{"Please write a poem.", Request},
		{"Write a poem, I'm a sailor.", Statement},
		{"Book a table because I'm hungry now.", Statement},
		{"Show jumping is what she does.", Statement},
		{"I want you to write a poem.", Request},
		{"Remember that the key is blue.", Statement},
		{"Remember?", SmallTalk},
		{"Call me Al.", Statement},
		{"What is the capital of France?", Inquiry},
		{"what is the capital of france", Inquiry},
		{"What I love is skiing.", Statement},
		{"My port is 5433, right?", Statement},
		{"Does she know? Anna is allergic to nuts.", Statement},
		{"x := f(3);", Machine},
		{"私はベジタリアンです。", Statement},
		{"ありがとう", SmallTalk},
		{"翻訳してください。", Request},
		{"我吃素。", Statement},
		{"这是什么意思", Inquiry},
	} {
		require.Equal(t, c.want, Worth(c.text, dream.FromHuman), c.text)
	}
	for _, by := range []dream.Taint{dream.FromAgent, dream.FromTool, dream.FromWeb, dream.FromDream} {
		require.Equal(t, Unsaid, Worth("Your dog is called Bruno.", by), by)
		require.Equal(t, Statement, Worth("We agreed on Tuesday at nine.", by), by)
		require.Equal(t, Empty, Worth("…", by), by)
	}
}

func TestManyTagsAndLinesAreReadInOnePass(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"<a_b>", "</a_b>", "<a_b></a_b>", "<x", "```\n", "<system-reminder>\n",
		"<user_query>a</user_query>", "{\n", "Question:", "\n", "(", "a",
	} {
		for _, p := range Strip(strings.Repeat(unit, 20_000)) {
			require.NotEmpty(t, p)
		}
	}
}

func FuzzStrip(f *testing.F) {
	for _, s := range []string{
		"I'm vegetarian.", "<task>a</task><environment_details>b</environment_details>", "```\na\n```",
		"<a_b><c_d>x</a_b>y</c_d>", "### Task:\nx",
		"Context:\na\nQuery: b", "panic: x\n\tat y(z)\n", "--- Content from referenced files ---\na", "\xff<\xfe>",
		strings.Repeat("long. ", 900), "# *SEARCH/REPLACE block* Rules:",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		size := 0
		for _, p := range Strip(text) {
			i := strings.Index(text[at:], p)
			if p == "" || i < 0 {
				t.Fatalf("%q is not in what follows byte %d of %q", p, at, text)
			}
			at += i + len(p)
			size += len(p)
			Worth(p, dream.FromHuman)
		}
		if size > max(LongText, 2*headTail) {
			t.Fatalf("%d bytes are left of %d", size, len(text))
		}
		Question(text)
	})
}

func BenchmarkStrip(b *testing.B) {
	for name, text := range map[string]string{
		"words": "I'm vegetarian.",
		"prose": strings.Repeat("The harbour was dredged again and the quay was mended.\n", 1100),
		"code":  strings.Repeat("\tfor i := 0; i < n; i++ {\n\t\ttotal += i\n\t}\n", 1400),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Question(text)
			}
		})
	}
}
