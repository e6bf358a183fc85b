package psyche

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edited is a body with another model and a background before its last message.
func edited(b *Body, text string) ([]byte, []splice) {
	changes := []splice{b.model("wire")}
	if at := b.lastUserMessage(); at >= 0 {
		changes = append(changes, b.background(b.place(at), text))
	}
	return spliced(b.raw, changes), changes
}

// Each folder of testdata/bodies is a request as a client sends it (in.json) and as the provider gets it (out.json).
func TestBodiesAreChangedInTwoPlacesAndNowhereElse(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/bodies/*/in.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(inputs), 12)
	for _, in := range inputs {
		t.Run(filepath.Base(filepath.Dir(in)), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(in)
			require.NoError(t, err)
			b, err := readBody(raw)
			require.NoError(t, err)
			got, _ := edited(b, "[background]")
			golden := filepath.Join(filepath.Dir(in), "out.json")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(golden, got, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
			require.True(t, json.Valid(got))
		})
	}
}

func TestBackgroundNeverPartsToolCallsFromTheirResults(t *testing.T) {
	t.Parallel()
	const (
		sys, usr, say = `{"role":"system","content":"s"}`, `{"role":"user","content":"u"}`, `{"role":"assistant","content":"a"}`
		dev, res      = `{"role":"developer","content":"d"}`, `{"role":"tool","tool_call_id":"1","content":"r"}`
		call          = `{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}`
		old, oldRes   = `{"role":"assistant","function_call":{"name":"f"}}`, `{"role":"function","name":"f","content":"r"}`
		none          = `{"role":"assistant","content":"a","tool_calls":[]}`
	)
	for _, c := range []struct {
		name     string
		messages []string
		want     int // index of the background; -1: there is none
	}{
		{"a first question", []string{usr}, 0},
		{"after instructions", []string{sys, dev, usr}, 2},
		{"a second question", []string{sys, usr, say, usr}, 3},
		{"results are being answered", []string{sys, usr, call, res}, 1},
		{"several rounds of one question", []string{sys, usr, call, res, call, res, res}, 1},
		{"a question after results", []string{sys, usr, call, res, usr}, 4},
		{"a question after results that were answered", []string{usr, call, res, say, usr}, 4},
		{"functions of old", []string{usr, old, oldRes}, 0},
		{"a user between calls and results", []string{usr, call, usr, res}, 1},
		{"a user among results", []string{usr, call, res, usr, res}, 1},
		{"a user where calls were never answered", []string{usr, call, usr}, 1},
		{"an empty list of calls is none", []string{usr, none, usr}, 2},
		{"an assistant's beginning at the end", []string{usr, say}, 0},
		{"no user", []string{sys, say}, -1},
		{"nobody", nil, -1},
	} {
		raw := []byte(`{"messages":[` + strings.Join(c.messages, ",") + `]}`)
		b, err := readBody(raw)
		require.NoError(t, err, c.name)
		at := b.lastUserMessage()
		if c.want < 0 {
			require.Negative(t, at, c.name)
			continue
		}
		require.Equal(t, c.want, b.place(at), c.name)
		got, _ := edited(b, "x")
		var result struct {
			Messages []struct {
				Role  string            `json:"role"`
				Calls []json.RawMessage `json:"tool_calls"`
			} `json:"messages"`
		}
		require.NoError(t, json.Unmarshal(got, &result), c.name)
		require.Len(t, result.Messages, len(c.messages)+1)
		require.Equal(t, "user", result.Messages[c.want].Role)
		require.NotEqual(t, c.want, len(c.messages), "%s: never the last", c.name)
	}
}

func TestABodyThatIsNoRequestIsRefusedAtItsByte(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                           "the body ends at byte 0 where an object is due",
		`[]`:                         `byte 0 is '[' where an object is due`,
		`{"a":1}x`:                   `byte 7 is 'x' where nothing more is due`,
		`{"a":1`:                     "the body ends at byte 6",
		`{"a":01}`:                   `byte 6 is '1'`,
		`{"messages":[{"role":}]}`:   `byte 21 is '}' where a value is due`,
		"{\"a\":\"\x01\"}":           "byte 6",
		"{\"a\":\"\xff\"}":           "not UTF-8",
		`{"a":"\x"}`:                 "an escape",
		strings.Repeat(`{"a":`, 600): "512 deep",
	} {
		_, err := readBody([]byte(body))
		require.ErrorContains(t, err, want, body)
	}
}

func TestWhatABodyAsksForIsFound(t *testing.T) {
	t.Parallel()
	b, err := readBody([]byte(`{"model":"b","max_tokens":3,"max_completion_tokens":70.0,"n":2,"stream":true,` +
		`"messages":[{"content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:image/png;base64,x"}},` +
		`{"text":"tw\u006f","type":"text"},"odd"],"role":"us\u0065r"}],` +
		`"stream_options":{"include_usage":false,"x":1},"prediction":{"content":"12"}}`))
	require.NoError(t, err)
	require.True(t, b.stream)
	require.Equal(t, "false", string(b.usage.Of(b.raw)))
	require.Len(t, b.messages, 1)
	require.Equal(t, "user", b.messages[0].role)
	require.Equal(t, "one\ntwo", b.text(b.messages[0]))
	c, err := b.costBound(paid())
	require.NoError(t, err)
	require.EqualValues(t, 70, c.answer)
	require.EqualValues(t, 2, c.choices)
	require.EqualValues(t, len(`{"content":"12"}`), c.beside)
	require.Greater(t, c.in, int64(imageTokens))
}

// FuzzText compares the outermost fields with encoding/json: valid JSON is read the same, and nothing is read as
// something else.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		`{"model":"iris","user":"ada"}`, `{"messages":[{"content":"\\\""}],"model":"x"}`, `{"USER":"ada"}`,
		`{}`, ` {"a":{"model":"y"}} `, `{"a":1,"a":2}`, `{"model":"\u0000"}`, `{"\u0075ser":"ada"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := ReadBody(raw)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &want))
		for _, name := range []string{"model", "user"} {
			got, err := b.Text(name)
			var text string
			wrong := want[name] != nil && json.Unmarshal(want[name], &text) != nil
			require.Equal(t, wrong, err != nil, name)
			require.Equal(t, text, got, name)
		}
	})
}

// FuzzBody compares the scanner with encoding/json, and an edited body, without the insertions, with the original.
func FuzzBody(f *testing.F) {
	inputs, err := filepath.Glob("testdata/bodies/*/in.json")
	require.NoError(f, err)
	for _, in := range inputs {
		raw, err := os.ReadFile(in)
		require.NoError(f, err)
		f.Add(raw, "memory \"quoted\"\n</s>")
	}
	for _, seed := range []string{
		`{}`, `{"messages":[]}`, `{"messages":[{"role":"user"}],"model":1}`,
		`{"a":1e5,"b":[tru]}`, `{"\u006dodel":"x","messages":[{}]}`,
	} {
		f.Add([]byte(seed), "x")
	}
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		b, err := readBody(raw)
		if err != nil {
			var fault *Fault
			if errors.As(err, &fault) { // a duplicate name
				return
			}
			if json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) &&
				!strings.Contains(err.Error(), "deep") && !strings.Contains(err.Error(), "UTF-8") {
				t.Fatalf("refused %q: %v", raw, err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("took %q", raw)
		}
		for _, m := range b.messages {
			b.text(m)
		}
		if at := b.lastUserMessage(); at >= 0 {
			b.question(at)
		}
		if at := b.lastUserMessage(); at >= 0 {
			with := spliced(raw, []splice{b.joined(at, text)})
			if len(with) <= 1<<20 && !json.Valid(with) {
				t.Fatalf("%q joined became %q", raw, with)
			}
		}
		got, changes := edited(b, text)
		if len(got) <= 1<<20 && !json.Valid(got) {
			t.Fatalf("%q became %q", raw, got)
		}
		var back []splice // the inverse of every change, at positions of the edited body
		moved := 0
		for _, c := range changes { // spliced has put them in order
			from := c.From + moved
			back = append(back, splice{span{From: from, To: from + len(c.text)}, c.Of(raw)})
			moved += len(c.text) - (c.To - c.From)
		}
		if again := spliced(got, back); !bytes.Equal(again, raw) {
			t.Fatalf("%q came back as %q", raw, again)
		}
	})
}

func BenchmarkSplice(b *testing.B) {
	for _, size := range []int{2 << 10, 100 << 10} {
		message := `{"role":"user","content":"The lamp in the harbour flickered all evening and nobody came to fix it."},{"role":"assistant","content":"I see."},`
		raw := []byte(
			`{"model":"echo","stream":true,"messages":[` + strings.Repeat(message, size/len(message)) +
				`{"role":"user","content":"Why?"}]}`)
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				answer, err := readBody(raw)
				if err != nil {
					b.Fatal(err)
				}
				edited(answer, "background")
			}
		})
	}
}
