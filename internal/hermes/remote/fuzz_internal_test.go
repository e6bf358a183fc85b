package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
)

func TestServerSentEventsAreReadAsTheStandardHasThem(t *testing.T) {
	t.Parallel()
	events := newSentEvents(strings.NewReader("retry: 5\n\n: c\n\nid\n\nid: 1\ndata: a\ndata:b\ndata\n\nevent: x\r\ndata:  two spaces\r\n\r\ndata: cut off"))
	for _, want := range []sent{
		{retry: "5"},
		{comment: true},
		{hasID: true},
		{id: "1", hasID: true, data: []byte("a\nb\n")},
		{name: "x", data: []byte(" two spaces")},
	} {
		e, err := events.next()
		require.NoError(t, err)
		require.Equal(t, want, e)
	}
	_, err := events.next()
	require.ErrorIs(t, err, io.EOF)
	_, err = newSentEvents(io.LimitReader(endless{}, 2*longestEvent)).next()
	require.ErrorIs(t, err, errLongEvent)
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestPausesGrowAndBeginAnew(t *testing.T) {
	t.Parallel()
	pause := time.Duration(0)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		pause = nextPause(pause, false, io.EOF)
		require.Equal(t, want*firstPause, pause)
	}
	require.Equal(t, firstPause, nextPause(pause, true, io.EOF))
	require.Equal(t, time.Minute, nextPause(0, false, &api.Error{Status: 503, Retry: time.Minute}))
}

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
			t.Skip("no list of calls that a server could send")
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
