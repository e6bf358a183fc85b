package answers

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// written is a file of these lines, with right checksums.
func written(t testing.TB, lines ...any) []byte {
	t.Helper()
	var all []byte
	sum := uint32(0)
	for _, each := range append([]any{header{format, version, "id"}}, lines...) {
		text, next, err := encode(each, sum)
		require.NoError(t, err)
		all, sum = append(all, text...), next
	}
	return all
}

func reserve(call int64, amount budget.Micros) line {
	return line{Reserve: &reservation{Call: call, Model: "m", Amount: amount}}
}

func ended(call int64, cost budget.Micros) line {
	return line{End: &end{Call: call, Cost: cost, State: spend.Refused}}
}

func answered(call int64, cost budget.Micros, nth int) line {
	a := inference.Answer{Finish: inference.Stopped}
	return line{Answer: newAnswer(call, cost, place{hash{1}, nth}, a, []string{"a", "\xff"})}
}

func embedded(call int64, numbers ...float32) line {
	return line{Vector: &vector{Call: call, Key: hash{2}, Space: "s", Numbers: packNumbers(numbers)}}
}

// vectorOf is the line of a vector with any key.
func vectorOf(key string) any { return map[string]any{"vector": map[string]any{"key": key}} }

// Lines that are whole but cannot follow each other are refused by name.
func TestLinesMustFollowEachOther(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lines []any
		want  string
	}{
		"nothing": {nil, ""},
		"all kinds": {
			[]any{reserve(1, 5), answered(1, 3, 0), reserve(2, 5), embedded(2, 1), ended(2, 0)},
			"",
		},
		"answers out of order": {
			[]any{reserve(1, 5), reserve(2, 5), answered(2, 3, 1), answered(1, 3, 0)},
			"",
		},
		"a call is left out":  {[]any{reserve(2, 5)}, "line 2: call 2 follows call 0"},
		"a call comes twice":  {[]any{reserve(1, 5), reserve(1, 5)}, "line 3: call 1 follows call 1"},
		"an amount below 0":   {[]any{reserve(1, -5)}, "line 2: amount is -5 micro-dollars"},
		"no reservation":      {[]any{answered(1, 3, 0)}, "line 2: call 1 has no open reservation"},
		"an end without it":   {[]any{ended(1, 0)}, "line 2: call 1 has no open reservation"},
		"a vector without it": {[]any{embedded(1, 1)}, "line 2: call 1 has no open reservation"},
		"a second end": {
			[]any{reserve(1, 5), ended(1, 0), ended(1, 0)},
			"line 4: call 1 has no open",
		},
		"a cost below 0": {
			[]any{reserve(1, 5), ended(1, -1)},
			"line 3: cost is -1 micro-dollars",
		},
		"an answer below 0": {
			[]any{reserve(1, 5), answered(1, -1, 0)},
			"line 3: cost is -1 micro-dollars",
		},
		"a number below 0": {[]any{reserve(1, 5), answered(1, 1, -1)}, "line 3: nth is -1"},
		"an answer twice": {
			[]any{reserve(1, 5), answered(1, 1, 0), reserve(2, 5), answered(2, 1, 0)},
			"line 5: answer 0",
		},
		"a text twice": {
			[]any{reserve(1, 5), embedded(1, 1), embedded(1, 1)},
			"line 4: answer 0 of 02000000",
		},
		"an empty vector": {[]any{reserve(1, 5), embedded(1)}, "line 3: a vector has 0 bytes"},
		"an empty line": {
			[]any{line{}},
			"line 2: the line has 0 of reserve, answer, vector and end",
		},
		"two kinds in a line": {
			[]any{line{Reserve: &reservation{Call: 1}, End: &end{}}},
			"line 2: the line has 2 of",
		},
		"an unknown kind": {
			[]any{map[string]any{"other": 1}},
			`line 2: json: unknown field "other"`,
		},
		"a key of another kind": {
			[]any{vectorOf("ab")},
			"line 2: key has 2 characters",
		},
		"a key that is no digit": {
			[]any{vectorOf(strings.Repeat("x", 64))},
			"line 2: key",
		},
	} {
		_, err := read(bytes.NewReader(written(t, test.lines...)))
		if test.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.want, name)
		}
	}
}

func TestMoneyIsAddedUp(t *testing.T) {
	t.Parallel()
	text := written(t, reserve(1, 5), reserve(2, 7), answered(1, 3, 0), reserve(3, budget.Unlimited))
	c, err := read(bytes.NewReader(text))
	require.NoError(t, err)
	require.EqualValues(t, 3, c.paid)
	require.Equal(t, budget.Unlimited, c.reserved())
	require.Equal(t, budget.Unlimited, c.counted())
	require.EqualValues(t, 3, c.last)
}

// summed gives every line of a text the checksum that it needs, so that what else is wrong with it is reached.
func summed(text []byte) []byte {
	var out []byte
	sum := uint32(0)
	for each := range bytes.Lines(text) {
		body, _, found := bytes.Cut(bytes.TrimSuffix(each, []byte("\n")), []byte(sumBegins))
		if !found {
			body = bytes.TrimSuffix(body, []byte("}"))
		}
		body = append(bytes.Clone(body), '}')
		sum = crc32.Update(sum, castagnoli, body)
		out = fmt.Appendf(append(out, body[:len(body)-1]...), "%s%08x\"}\n", sumBegins, sum)
	}
	return out
}

func FuzzRead(f *testing.F) {
	whole := written(f, reserve(1, 5), answered(1, 3, 0), reserve(2, 5), embedded(2, 1, 2), ended(2, 0), reserve(3, 9))
	require.Equal(f, string(whole), string(summed(whole)))
	f.Add(whole)
	f.Add(whole[:len(whole)-9])
	f.Add(bytes.Replace(whole, []byte("5"), []byte("6"), 1))
	f.Add([]byte(headerBegins))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		readAny(t, text)
		readAny(t, summed(text))
	})
}

// readAny checks what holds for every file that is read without an error.
func readAny(t *testing.T, text []byte) {
	t.Helper()
	c, err := read(bytes.NewReader(text))
	if err != nil {
		return
	}
	require.LessOrEqual(t, c.size, int64(len(text)))
	require.NotContains(t, string(text[c.size:]), "\n", "only a line without a line feed is torn")
	require.GreaterOrEqual(t, c.paid, budget.Micros(0))
	require.GreaterOrEqual(t, c.counted(), c.paid)
	again, err := read(bytes.NewReader(text[:c.size]))
	require.NoError(t, err)
	require.Equal(t, c, again)
	for _, at := range c.entries {
		require.True(t, at.offset > 0 && at.offset+int64(at.length) < c.size)
		require.Equal(t, byte('\n'), text[at.offset-1])
		require.Equal(t, byte('\n'), text[at.offset+int64(at.length)])
	}
	if c.size == 0 {
		return
	}
	following, _, err := encode(reserve(c.last+1, 1), c.sum)
	require.NoError(t, err)
	more, err := read(bytes.NewReader(append(bytes.Clone(text[:c.size]), following...)))
	require.NoError(t, err, "a file that was read can be continued")
	require.Equal(t, spend.Add(c.reserved(), 1), more.reserved())
}
