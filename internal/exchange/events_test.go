package exchange

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// cutUp is what the reader makes of a body that comes in steps of n bytes.
func cutUp(body []byte, n int) []string {
	e := Events{Limit: EventLimit}
	var out []string
	for len(body) > 0 {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		if e.Push(part) != nil {
			return append(out, "too long")
		}
		if len(body) == 0 && n%2 == 1 {
			e.End() // a reader may return the last bytes and the end together
		}
		for data, ok := e.Pop(); ok; data, ok = e.Pop() {
			out = append(out, string(data))
		}
	}
	e.End()
	e.End() // has no further effect
	for data, ok := e.Pop(); ok; data, ok = e.Pop() {
		out = append(out, string(data))
	}
	return out
}

func TestEventsDoNotDependOnHowTheyArrive(t *testing.T) {
	t.Parallel()
	body := []byte(
		": x\n\ndata: {\"a\":1}\n\ndata:two\r\n\r\nevent: e\ndata: {\ndata: }\n\ndata\n\ndata: {}\ndata: [DONE]")
	want := []string{`{"a":1}`, "two", "{\n}", "", "{}", "[DONE]"}
	for n := 1; n <= len(body); n++ {
		require.Equal(t, want, cutUp(body, n), n)
	}
}

func TestATornEventIsNone(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"{}"}, cutUp([]byte("data: {}\n\ndata: {\"half"), 7))
	require.Equal(t, []string{"{}"}, cutUp([]byte("data: {}\n"), 100))
	require.Empty(t, cutUp(nil, 1))
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"", "data: [DONE]", "data: {}\n\ndata: [DONE]\n\n", "data: {}\ndata: {}\n", "\xef\xbb\xbfdata: x\r\n\r\n",
		": c\n\nevent: e\nid: 1\nretry: 2\ndata\n\n", "data: {\ndata: }\n\n", "\n\n\r\n\ndata:\n",
		`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		if n < 1 || n > 1<<16 {
			n = 1 + len(body)/2
		}
		whole := cutUp(body, max(1, len(body)))
		require.Equal(t, whole, cutUp(body, n))
		total := 0
		for _, e := range whole {
			total += len(e)
		}
		require.LessOrEqual(t, total, len(body))
	})
}
