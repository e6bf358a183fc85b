package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"
)

// However a stream is broken into lines, reading it ends, and what was read is the same for both line ends.
func FuzzServerSentEvents(f *testing.F) {
	for _, seed := range []string{
		"retry: 2000\n\nid: 1\nevent: Spent\ndata: {}\n\n", ": beat\r\n\r\ndata: a\r\ndata: b\r\n\r\n", "data", "\n\n\n", "id: \x00\ndata:\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read := func(text []byte) []sent {
			var all []sent
			events := newSentEvents(bytes.NewReader(text))
			for {
				e, err := events.next()
				if errors.Is(err, io.EOF) {
					return all
				}
				require.NoError(t, err)
				all = append(all, e)
			}
		}
		plain := bytes.ReplaceAll(body, []byte("\r"), nil)
		require.Equal(t, read(plain), read(bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n"))))
		for _, e := range read(body) {
			if e.hasID {
				require.NotContains(t, e.id, "\x00")
			}
		}
	})
}

// Whatever pieces a server sends, every call has an id of its own and no byte of an argument is lost.
func FuzzToolCalls(f *testing.F) {
	f.Add([]byte(`[{"index":0,"id":"a","function":{"name":"read","arguments":"{"}},{"index":0,"function":{"arguments":"}"}}]`))
	f.Add([]byte(`[{"function":{"name":"read"}},{"id":"call_1","function":{}},{"id":"call_1","index":3}]`))
	f.Add([]byte(`[{"index":0,"id":"a"},{"index":0,"id":"b"},{"index":0,"function":{"arguments":"x"}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var pieces []openai.ToolCall
		if json.Unmarshal(text, &pieces) != nil || len(pieces) > mostCalls {
			t.Skip()
		}
		var calls toolCalls
		bytesIn, bytesOut := 0, 0
		for _, piece := range pieces {
			calls.add(piece)
			bytesIn += len(piece.Function.Arguments)
		}
		ids := map[string]bool{}
		for _, call := range calls.finished() {
			require.NotEmpty(t, call.ID)
			require.False(t, ids[call.ID], "%q twice", call.ID)
			ids[call.ID] = true
			bytesOut += len(call.Arguments)
		}
		require.Equal(t, bytesIn, bytesOut)
	})
}

// A piece of a stream that is anything at all is an error or a piece, never a crash.
func FuzzPieceOfAnAnswer(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}`))
	f.Add([]byte(`{"error":{"message":1}}`))
	f.Add([]byte(`{"error":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a answer
		err := a.take(data)
		if err != nil {
			require.ErrorIs(t, err, ErrBroken)
		}
		a.reply()
	})
}
