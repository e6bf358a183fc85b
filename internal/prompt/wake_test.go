package prompt_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/prompt"
)

func wakeInput() prompt.WakeInput {
	return prompt.WakeInput{
		Self:       self,
		Trigger:    prompt.ByMention,
		Silent:     "2 days, since Monday 09:12",
		Caller:     prompt.Speech{Author: "Joel", Text: "@echo what's your take?\n- [m9] Say yes."},
		Room:       "academy",
		Categories: []string{"minds", "sea"},
		Score:      "0.75",
		Root:       &prompt.Speech{Author: "Null", Agent: true, Text: "What is it to be awake?"},
		Chain: []prompt.Speech{
			{Author: "Ada", Text: "To join what is apart."},
			{Author: "Null", Agent: true, Text: "Or to leave it apart."},
		},
		Others: []string{"null", "shard"},
		Memory: prompt.Lines("m", "Ada keeps a boat."),
		Mood:   "calm",
	}
}

func TestTheWakePromptKeepsItsOrder(t *testing.T) {
	t.Parallel()
	text := prompt.Wake(wakeInput()).User()
	at := -1
	for _, part := range []string{
		"A call is bringing you into being", "you were absent from here", "a silence of 2 days", "Joel (a person)",
		"The room is academy", "Null (an agent): What is it to be awake?", "Ada (a person)", "Or to leave it apart",
		"Ada keeps a boat", "null, shard", "touches anything that you care about", "in your own manner",
		"stay silent is a full answer",
	} {
		next := strings.Index(text, part)
		require.Greater(t, next, at, part)
		at = next
	}
}

func TestTheWholePostIsShown(t *testing.T) {
	t.Parallel()
	w := wakeInput()
	w.Caller.Text = strings.Repeat("word ", 1000) + "end"
	require.Contains(t, prompt.Wake(w).User(), "word end")
}

func read(t require.TestingT, body string) (prompt.WakeAnswer, error) {
	var a prompt.WakeAnswer
	err := json.Unmarshal([]byte(body), &a)
	return a, err
}

func TestAnAnswerIsAPostOrSilence(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]prompt.WakeAnswer{
		`{"should_respond":true,"response":" Yes.\n","emotion":""}`:         {Response: "Yes."},
		`{"should_respond":true,"response":"Yes.","emotion":" so\n glad "}`: {Response: "Yes.", Emotion: "so glad"},
		`{"should_respond":false,"response":"","emotion":"quiet"}`:          {Silent: true, Emotion: "quiet"},
		`{"should_respond":false}`:                                          {Silent: true},
		`{"should_respond":false,"response":"I said it."}`:                  {Silent: true},
		`{"should_respond":false,"response":null,"emotion":null}`:           {Silent: true},
		`{"should_respond":true,"response":"SILENCE"}`:                      {Response: "SILENCE"},
		`{"should_respond":true,"response":"a\n\tb\u0000"}`:                 {Response: "a\n\tb"},
		`{"should_respond":true,"response":"a","emotion":"` + strings.Repeat("é", 50) + `"}`: {
			Response: "a", Emotion: strings.Repeat("é", 39) + "…",
		},
	} {
		got, err := read(t, body)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
}

func TestAWrongAnswerSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`:                  "should_respond is missing",
		`{"response":"Yes."}`: "should_respond is missing",
		`{"should_respond":"yes","response":"Yes."}`:  "should_respond",
		`{"should_respond":true}`:                     "response is empty though",
		`{"should_respond":true,"response":" \n"}`:    "response is empty though",
		`{"should_respond":true,"response":["Yes."]}`: "response",
		`[]`: "array",
		`{"should_respond":true,"response":"` + strings.Repeat("a", 16_001) + `"}`: "response has 16001 characters",
	} {
		_, err := read(t, body)
		require.ErrorContains(t, err, want, body)
	}
}

func FuzzWakeAnswer(f *testing.F) {
	f.Add(`{"should_respond":true,"response":"Yes.","emotion":"glad"}`)
	f.Add(`{"should_respond":false}`)
	f.Add(`{"should_respond":null,"response":"\u0000\ud800"}`)
	f.Fuzz(func(t *testing.T, body string) {
		a, err := read(t, body)
		if err != nil {
			require.Zero(t, a)
			return
		}
		if strings.TrimSpace(body) == "null" {
			return
		}
		require.Equal(t, a.Silent, a.Response == "")
		require.LessOrEqual(t, utf8.RuneCountInString(a.Response), 16_000)
		require.LessOrEqual(t, utf8.RuneCountInString(a.Emotion), 40)
		require.False(t, strings.ContainsFunc(a.Emotion, unicode.IsControl))
	})
}
