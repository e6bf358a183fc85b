package psyche

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/utterance"
)

func TestWhatIsWorthKeeping(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the tide came in slowly and the nets were heavy ", 12)
	for _, c := range []struct {
		text  string
		by    dream.Taint
		keeps bool
	}{
		{"hi", dream.FromHuman, false},
		{"Thanks, that's great!", dream.FromHuman, false},
		{"What is the weather in Paris on 3 May?", dream.FromHuman, false},
		{"I'm vegetarian.", dream.FromHuman, true},
		{"Your dog Rex is 3 years old and likes cheese.", dream.FromAgent, false},
		{"Please refactor the parser to use generics", dream.FromHuman, false},
		{"", dream.FromHuman, false},
		{"My dog is called Rex.", dream.FromHuman, true},
		{"I prefer tea", dream.FromHuman, true},
		{"call me Ishmael", dream.FromHuman, true},
		{"Remember that the gate code changes weekly", dream.FromHuman, true},
		{"Bitte merk dir, dass ich in Kiel wohne", dream.FromHuman, true},
		{"We decided against the second mast", dream.FromHuman, true},
		{long, dream.FromHuman, true},
		{long, dream.FromTool, false},
		{"Of course!", dream.FromAgent, false},
	} {
		require.Equal(t, c.keeps, utterance.Worth(c.text, c.by).Kept(), c.text)
	}
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text")
		a, b := rapid.Float64Range(0, 1).Draw(r, "a"), rapid.Float64Range(0, 1).Draw(r, "b")
		low, high := weigh(text, dream.FromHuman, min(a, b)), weigh(text, dream.FromHuman, max(a, b))
		require.LessOrEqual(r, low, high)
		require.True(r, low >= 0 && high <= 1)
		require.LessOrEqual(r, weigh(text, dream.FromTool, a), weigh(text, dream.FromHuman, a))
	})
}

func TestATextThatOnlyRepeatsIsNoticed(t *testing.T) {
	t.Parallel()
	shown := []string{"> The lighthouse keeper of Skagen paints twelve lanterns red every Monday."}
	require.True(t, repeats("The lighthouse keeper of Skagen paints twelve lanterns red every Monday!", shown))
	require.True(t, repeats("I recall: the lighthouse keeper of Skagen paints twelve lanterns", shown))
	require.True(t, repeats(opening+" and more", shown))
	require.False(t, repeats("The keeper of Skagen moved to Bergen last year and opened a bakery there", shown))
	require.False(t, repeats("The lighthouse keeper of Skagen paints twelve lanterns", nil))
	require.False(t, repeats("...", shown))
}

func TestTheFirstChoiceIsReadHoweverItsBytesAreCut(t *testing.T) {
	t.Parallel()
	stream :=
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"One \"}},{\"index\":1,\"delta\":{\"content\":\"other\"}}]}\r\n\r\n: comment\n\n" +
			"data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":null,\"tool_calls\":[{}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"t\\u0077o\"},\"finish_reason\":\"stop\"}]}\n\ndata: broken\n\ndata: [DONE]\n\n"
	for cut := 1; cut < len(stream); cut++ {
		e := answerReader{stream: true, event: chatForm.event}
		for at := 0; at < len(stream); at += cut {
			e.read([]byte(stream[at:min(len(stream), at+cut)]))
		}
		require.Equal(t, spokenAnswer{"One two", "stop"}, e.done())

		var pieces []string
		answer, err := readCompletion(iotest.OneByteReader(strings.NewReader(stream)), true,
			func(p string) { pieces = append(pieces, p) })
		require.NoError(t, err)
		require.Equal(t, []string{"One ", "two"}, pieces)
		require.Equal(t, "One two", answer.Text)
	}
	plain := answerReader{event: chatForm.event}
	plain.read([]byte(`{"choices":[{"index":0,"message":{"content":"Yes"},`))
	plain.read([]byte(`"finish_reason":"length"}]}`))
	require.Equal(t, spokenAnswer{"Yes", "length"}, plain.done())
	long := answerReader{event: chatForm.event}
	long.read(make([]byte, mostHeard+1))
	require.Equal(t, spokenAnswer{}, long.done())
	parts := answerReader{event: chatForm.event}
	parts.read([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"x"}]},"finish_reason":"stop"}]}`))
	require.Equal(t, spokenAnswer{"", "stop"}, parts.done(), "a shape that no client knows")
}

func TestWorkingMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var all talks
	now := dawnOfTests
	for i := range 3 * mostTalks {
		all.of("owner", "agent", strings.Repeat("x", i%7)+string(rune('a'+i%26))+short(string(rune(i))), now)
		require.LessOrEqual(t, len(all.all), mostTalks)
	}
	held := all.of("owner", "agent", "c", now)
	for i := range 2 * mostTalks {
		all.of("owner", "another", fmt.Sprint(i), now)
		if i%(mostTalks/2) == 0 {
			require.Same(t, held, all.of("owner", "agent", "c", now),
				"the owner of this talk is not the one that was idle for longest")
		}
	}
	require.Equal(t, mostTalks, all.lately.Len())
	for range 100 {
		held.say(spoken{"user", "x"}, spoken{"assistant", "y"})
		require.LessOrEqual(t, len(held.lines()), mostSpoken)
		require.Equal(t, "user", held.lines()[0].role)
	}
	require.Same(t, held, all.of("owner", "agent", "c", now.Add(talkLasts)))
	require.NotEmpty(t, held.lines())
	require.Empty(t, all.of("owner", "agent", "c", now.Add(3*talkLasts)).lines())
}

// FuzzStream checks the sieve and the answerReader: however a stream is cut, the result is the same, and only usage
// is removed.
func FuzzStream(f *testing.F) {
	f.Add(
		[]byte(
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\r\n\r\ndata: [DONE]\n\n"),
		uint8(3))
	f.Add([]byte("\n\n\n\r\r\ndata:"), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, cut uint8) {
		sifted := func(cut int) string {
			var s sieve
			var out []byte
			for at := 0; at < len(stream); at += cut {
				s.push(stream[at:min(len(stream), at+cut)], false)
				buf := make([]byte, len(s.out))
				out = append(out, buf[:s.take(buf)]...)
			}
			s.push(nil, true)
			return string(append(out, s.out...))
		}
		whole, pieces := sifted(len(stream)+1), sifted(int(cut)+1)
		if !bytes.Contains(stream, []byte("\r")) && whole != pieces {
			t.Fatalf("%q became %q in one piece and %q in pieces of %d", stream, whole, pieces, cut)
		}
		if !bytes.Contains(stream, []byte(`"usage"`)) && (whole != string(stream) || pieces != string(stream)) {
			t.Fatalf("%q became %q", stream, pieces)
		}
		for _, each := range []sifts{
			&sieve{count: func() counted { return counted{1, 2, 3} }},
			&tail{count: func() counted { return counted{1, 2, 3} }},
		} {
			var out []byte
			for at := 0; at <= len(stream); at += int(cut) + 1 {
				each.push(stream[at:min(len(stream), at+int(cut)+1)], at+int(cut)+1 > len(stream))
				buf := make([]byte, len(stream)+1000)
				out = append(out, buf[:each.take(buf)]...)
			}
			if len(out) < len(stream) ||
				!bytes.HasPrefix(stream, out[:max(0, min(len(out), bytes.IndexAny(append(stream, 'd', '}'), "d}")))]) {
				t.Fatalf("%q became %q", stream, out)
			}
		}
		e := answerReader{stream: true, event: chatForm.event}
		for at := 0; at < len(stream); at += int(cut) + 1 {
			e.read(stream[at:min(len(stream), at+int(cut)+1)])
		}
		one := answerReader{stream: true, event: chatForm.event}
		one.read(stream)
		if got, want := e.done(), one.done(); got != want {
			t.Fatalf("%q was event as %q and as %q", stream, got, want)
		}
	})
}
