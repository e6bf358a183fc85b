package completion_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
)

// all are the pieces of an answer to its end.
func all(r *completion.Reader) (pieces []completion.Piece, err error) {
	for {
		some, err := r.Next()
		pieces = append(pieces, some...)
		if err != nil {
			return pieces, err
		}
	}
}

// kinds are the pieces as lines, without the head.
func kinds(pieces []completion.Piece) (lines []string) {
	for _, p := range pieces {
		line := string(p.Kind)
		for _, part := range []string{p.Field, p.ID, p.Name, p.Text, string(p.Raw)} {
			if part != "" && p.Kind != completion.Head {
				line += " " + part
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAnAnswerIsReadInItsPieces(t *testing.T) {
	t.Parallel()
	chunk := func(delta string) string { return `data: {"choices":[{"index":0,"delta":` + delta + "}]}\n\n" }
	for name, c := range map[string]struct {
		stream bool
		body   string
		pieces []string
	}{
		"text, whole": {
			body:   `{"id":"c","choices":[{"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":{"total_tokens":3}}`,
			pieces: []string{"head", "text Yes.", "finish stop", `usage {"total_tokens":3}`},
		},
		"every member, whole": {
			body: `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},` +
				`{"id":"b","type":"custom","custom":{"name":"g","input":"x"}}],"content":"T","refusal":"R","reasoning_content":"W",` +
				`"reasoning":"W","annotations":[1],"reasoning_details":[2],"audio":null},"logprobs":{"content":[]}}]}`,
			pieces: []string{
				"head", "reasoning reasoning_content W", "thought reasoning_details [2]", "text T", "refusal R", "other annotations [1]",
				"call a f", "arguments {}", "call b g", "arguments x", `logprobs {"content":[]}`,
			},
		},
		"a stream": {
			stream: true,
			body: ": hello\n\n" + chunk(`{"role":"assistant","content":""}`) + chunk(`{"content":"a"}`) +
				chunk(`{"content":" b"}`) +
				"data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}}]}\n\n" +
				"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n",
			pieces: []string{"head", "text a", "text  b", "finish length"},
		},
		"a stream with carriage returns and an event in two lines": {
			stream: true,
			body:   "event: x\r\ndata: {\"choices\":\r\ndata: [{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: [DONE]",
			pieces: []string{"head", "text a"},
		},
		"a stream without empty lines": {
			stream: true,
			body:   "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\ndata:{\"choices\":[{\"delta\":{\"content\":\"b\"}}]}",
			pieces: []string{"head", "text a", "text b"},
		},
		"calls in pieces": {
			stream: true,
			body: chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`) +
				chunk(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}`) +
				chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"1"}},{"index":1,"function":{"arguments":"}"}}]}`),
			pieces: []string{"head", "call a f", "call b g", "arguments {", "arguments 1", "arguments }"},
		},
		"whole calls without an index, and one index for two": {
			stream: true,
			body: chunk(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}},{"id":"b","function":{"name":"g"}}]}`) +
				chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"h"}}]}`),
			pieces: []string{"head", "call a f", `arguments {"x":1}`, "call b g", "call c h"},
		},
		"calls with what the provider wants back": {
			stream: true,
			body: chunk(`{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"s"}},` +
				`"function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","extra_content":null,"function":{"name":"g"}}]}`),
			pieces: []string{"head", `call a f {"google":{"thought_signature":"s"}}`, "arguments {}", "call b g"},
		},
		"the old call of a function": {
			body:   `{"choices":[{"message":{"content":null,"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"}]}`,
			pieces: []string{"head", "call f", "arguments {}", "finish function_call"},
		},
		"content in parts, with thoughts": {
			stream: true,
			body:   chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"},{"type":"image"}]}`),
			pieces: []string{"head", "reasoning thinking hm", "text a", `other content {"type":"image"}`},
		},
		"an error in the stream": {
			stream: true,
			body: chunk(`{"content":"a"}`) +
				"event: error\ndata: {\"message\":\"x\"}\n\ndata: {\"error\":{\"code\":5}}\n\n",
			pieces: []string{"head", "text a", `error {"message":"x"}`, `error {"code":5}`},
		},
	} {
		for _, from := range []io.Reader{strings.NewReader(c.body), iotest.OneByteReader(strings.NewReader(c.body))} {
			pieces, err := all(completion.New(from, c.stream))
			require.ErrorIs(t, err, io.EOF, name)
			require.Equal(t, c.pieces, kinds(pieces), name)
		}
	}
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the line broke")
	for name, c := range map[string]struct {
		from   io.Reader
		stream bool
		says   string
	}{
		"no JSON":          {from: strings.NewReader("<html>"), says: "no chat completion"},
		"an event cut off": {from: strings.NewReader("data: {\"choices\":[\n\n"), stream: true, says: "no JSON"},
		"no object":        {from: strings.NewReader(`{"choices":[{"message":5}]}`), says: "no object"},
		"calls of no list": {from: strings.NewReader(`{"choices":[{"message":{"tool_calls":5}}]}`), says: "no list"},
		"a function of 5": {
			from: strings.NewReader(`{"choices":[{"message":{"function_call":5}}]}`),
			says: "no call",
		},
		"a line that broke": {from: iotest.ErrReader(broken), stream: true, says: broken.Error()},
		"too long": {
			from: io.MultiReader(strings.NewReader("data: \""), endless{}), stream: true,
			says: "more than",
		},
		"too long, whole": {from: endless{}, says: "more than"},
	} {
		_, err := all(completion.New(c.from, c.stream))
		require.ErrorContains(t, err, c.says, name)
	}
}

// endless is a text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestAReaderKnowsThatAStreamEnded(t *testing.T) {
	t.Parallel()
	r := completion.New(strings.NewReader("data: {\"choices\":[]}\n\ndata: [DONE]\n\n"), true)
	_, err := r.Next()
	require.NoError(t, err)
	require.False(t, r.Done())
	require.True(t, r.Waits())
	_, err = r.Next()
	require.ErrorIs(t, err, io.EOF)
	require.True(t, r.Done())

	r = completion.New(strings.NewReader("data: {\"choices\":[]}\n\ndata: {\"cho"), true)
	_, err = r.Next()
	require.NoError(t, err)
	require.False(t, r.Waits(), "what is cut off may take long to come")
}

// FuzzReader requires that an answer is the same however its bytes come, and that no text of a well-formed piece is
// lost.
func FuzzReader(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n", "words", true)
	f.Add("{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"a\"}]}}]}", "\u00e9\n", false)
	f.Add("event: error\r\ndata: 5\r\rdata:", "", true)
	f.Fuzz(func(t *testing.T, body, words string, stream bool) {
		once, err := all(completion.New(strings.NewReader(body), stream))
		again, fault := all(completion.New(iotest.OneByteReader(strings.NewReader(body)), stream))
		require.Equal(t, once, again)
		require.Equal(t, err.Error(), fault.Error())

		text, _ := json.Marshal(words)
		_ = json.Unmarshal(text, &words) // as JSON can carry it
		chunk := `{"choices":[{"index":0,"delta":{"reasoning":` + string(
			text,
		) + `,"content":` + string(
			text,
		) + `}}]}`
		if stream {
			chunk = "data: " + chunk + "\n\n"
		}
		pieces, err := all(completion.New(strings.NewReader(chunk), stream))
		require.ErrorIs(t, err, io.EOF)
		got := map[completion.Kind]string{}
		for _, p := range pieces {
			got[p.Kind] += p.Text
		}
		require.Equal(t, words, got[completion.Text])
		require.Equal(t, words, got[completion.Reasoning])
	})
}
