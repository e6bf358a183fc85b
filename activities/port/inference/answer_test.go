package inference_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

type fragments struct {
	Fragments []struct {
		Text    string   `json:"text"`
		Sources []string `json:"sources"`
	} `json:"fragments"`
	Sure float64 `json:"sure"`
}

const whole = `{"fragments":[{"text":"a [b] {c}","sources":["r1","r2"]}],"sure":0.5}`

func TestAnAnswerIsReadThroughWhatModelsPutAroundIt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"bare":                       whole,
		"code fence":                 "```json\n" + whole + "\n```",
		"code fence on one line":     "```" + whole + "```",
		"code fence after prose":     "Here it is:\n```\n" + whole + "\n```\nI hope it helps.",
		"fence that never ends":      "```json\n" + whole,
		"a fence without a value":    "```\nthinking\n```\n" + whole,
		"prose before and after":     "From [r1] and [r2] I made this: " + whole + " Good night {really}.",
		"a list of numbers in prose": "I used [1] and [2]. " + whole,
		"trailing commas":            `{"fragments":[{"text":"a [b] {c}","sources":["r1","r2",],},],"sure":0.5,}`,
		"typographic quotes":         `{“fragments”: [{“text”: “a [b] {c}”, “sources”: [“r1”, "r2"]}], "sure": 0.5}`,
		"spaces and line breaks":     "\n {\n \"fragments\" : [ { \"text\" : \"a [b] {c}\" , \"sources\" : [ \"r1\" , \"r2\" ] } ] , \"sure\" : 0.5 }\n",
	} {
		var got fragments
		require.NoError(t, inference.ReadJSON(text, &got), name)
		require.Len(t, got.Fragments, 1, name)
		require.Equal(t, "a [b] {c}", got.Fragments[0].Text, name)
		require.Equal(t, []string{"r1", "r2"}, got.Fragments[0].Sources, name)
		require.InDelta(t, .5, got.Sure, 1e-9, name)
	}
}

func TestACutEndIsClosedAndTheUnfinishedElementDropped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{"a":1,"b":"hel`, `{"a":1}`},
		{`{"a":1,"b":`, `{"a":1}`},
		{`{"a":1,"b`, `{"a":1}`},
		{`{"a":1,`, `{"a":1}`},
		{`{"a":12`, `{}`},
		{`{"a":12 `, `{"a":12}`},
		{`[{"t":"x"},{"t":"y`, `[{"t":"x"}]`},
		{`[{"t":"x"},{"t":"y"`, `[{"t":"x"}]`},
		{`{"l":[{"t":"x"},{"t":"y"},{"t`, `{"l":[{"t":"x"},{"t":"y"}]}`},
		{`{"l":[{"t":"x"}`, `{"l":[{"t":"x"}]}`},
		{`{"in":{"a":1,"b":[1,2,3`, `{"in":{"a":1,"b":[1,2]}}`},
		{`{"a":"\`, `{}`},
		{`{"a":"\u00`, `{}`},
		{"```json\n{\"a\":1,\"b\":[true,fal", `{"a":1,"b":[true]}`},
	} {
		var got any
		require.NoError(t, inference.ReadJSON(c.text, &got), c.text)
		have, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(have), c.text)
	}
}

func TestWhatIsNotAnAnswerIsRefusedWithWhatWasWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, says string }{
		{"", "empty"},
		{"  \n", "empty"},
		{"I would rather not.", `no JSON object or array: "I would rather not."`},
		{`{"fragments":"none"}`, "holds a string"},
		{`{"fragments": 'none', "x": {"sure": 1}}`, "does not begin"},
		{"null", "is null"},
		{`["r1"]`, "is a array"},
		{`{'fragments':[]}`, `'\''`},
		{`{"sure" 0.5}`, "no colon"},
		{`{"sure":0.5 "fragments":[]}`, "comma"},
		{`{"sure":0,5}`, "key"},
		{`{"sure":.5}`, "does not begin"},
		{`{"sure":NaN}`, "does not begin"},
		{`{"sure":truth}`, "neither a number"},
		{"{\"fragments\":[{\"text\":\"a\nb\"}]}", "line break"},
		{`{"fragments":[{"text":"\x"}]}`, "escape"},
		{strings.Repeat("[", 100), "levels"},
		{strings.Repeat("x", 1<<20+1), "bytes"},
	} {
		got := fragments{Sure: 7}
		err := inference.ReadJSON(c.text, &got)
		require.ErrorContains(t, err, c.says, c.text[:min(len(c.text), 80)])
		require.Less(t, len(err.Error()), 400)
		require.InDelta(t, 7.0, got.Sure, 1e-9, "a failed reading changes nothing")
	}
	require.Error(t, inference.ReadJSON("{}", nil))
	require.Error(t, inference.ReadJSON("{}", fragments{}))
}

func TestARepairShowsTheBadAnswerAndTheProblem(t *testing.T) {
	t.Parallel()
	messages := inference.Repair(errors.New("no colon after the key"), strings.Repeat("é", 5000))
	require.Len(t, messages, 2)
	require.Equal(t, "assistant", messages[0].Role)
	require.Less(t, len(messages[0].Content), 4100)
	require.Equal(t, "user", messages[1].Role)
	require.Contains(t, messages[1].Content, "no colon after the key")
	require.NotEmpty(t, inference.Repair(errors.New("empty"), "")[0].Content, "providers refuse an empty message")
}

func FuzzReadJSON(f *testing.F) {
	for _, seed := range []string{
		whole, "```json\n" + whole + "\n```", `{"a":1,"b":"hel`, `{“a”: “b”,}`, `[{"t":"x"},{"t":`, `{'a':1}`,
		"[r1] {\"a\":[1,2,", `{"a":"\u00`, "[[[[[[[[[[",
		"```", "\xff{\"a\":\"\xff\"}", `{"a":1}{"b":2}`, `"just a string"`, `null`, `{"a":-}`, `{"":{"":[{}]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got any
		if err := inference.ReadJSON(text, &got); err != nil {
			require.NotEmpty(t, err.Error())
			require.Less(t, len(err.Error()), 1000)
		} else {
			_, err := json.Marshal(got)
			require.NoError(t, err)
		}
		var typed fragments
		_ = inference.ReadJSON(text, &typed)
		var plain any // a number beyond float64 is valid JSON that Go cannot hold
		if len(text) < 1<<20 && json.Unmarshal([]byte(text), &plain) == nil {
			require.NoError(t, inference.ReadJSON(text, &got), "what encoding/json reads is always read")
		}
	})
}
