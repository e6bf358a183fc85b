package static_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/embedder/static"
)

func cosine(t *static.Table, a, b string) float64 {
	x, _ := t.Vector(a)
	y, _ := t.Vector(b)
	sum := 0.0
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
}

func TestTheTableKnowsWordsThatMeanAlike(t *testing.T) {
	t.Parallel()
	table := static.Default()
	for _, c := range []struct{ text, near, far string }{
		{"my puppy is ill", "the dog needs a vet", "the tax return is late"},
		{"The database is slow.", "SQL queries take long", "grandmother baked a cake"},
		{"a violin lesson", "playing the cello", "the engine needs oil"},
		{"She is a physician.", "the doctor in the hospital", "a bowl of soup"},
	} {
		require.Greater(t, cosine(table, c.text, c.near), cosine(table, c.text, c.far)+.15, c.text)
	}
}

func TestAVectorHasTheTablesWidthAndLengthOne(t *testing.T) {
	t.Parallel()
	table := static.Default()
	for _, text := range []string{"", "hello", "the", "👻", "日本語", strings.Repeat("word ", 20_000), "\xff\x00"} {
		v, _ := table.Vector(text)
		require.Len(t, v, table.Width())
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		require.InDelta(t, 1, math.Sqrt(sum), 1e-5, "%.20q", text)
		again, _ := table.Vector(text)
		require.Equal(t, v, again)
	}
}

func TestTheTableFitsTheProgram(t *testing.T) {
	t.Parallel()
	sum := int64(0)
	for _, name := range []string{"table.bin", "vocabulary.txt"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		sum += info.Size()
	}
	require.Less(t, sum, int64(10_000_000))
	require.Contains(t, static.Space, "/256")
	require.Equal(t, 256, static.Default().Width())
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	data, err := static.Write([][]float32{{0, 0, 0}, {1, -.5, .25}, {-2, 2, 0}})
	require.NoError(t, err)
	table, err := static.Read(string(data), "[UNK]\none\ntwo\n")
	require.NoError(t, err)
	v, pieces := table.Vector("one")
	require.Equal(t, 1, pieces)
	require.InDeltaSlice(t, []float32{.873, -.436, .218}, v, .01)
	nothing, _ := table.Vector("three")
	require.Equal(t, []float32{1, 0, 0}, nothing)
	both, _ := table.Vector("One, two!")
	require.InDeltaSlice(t, []float32{-.545, .818, .136}, both, .01)
}

func TestABrokenTableIsRefused(t *testing.T) {
	t.Parallel()
	data, err := static.Write([][]float32{{0}, {1}})
	require.NoError(t, err)
	for name, c := range map[string][2]string{
		"no table":           {"hello", "[UNK]\na\n"},
		"cut":                {string(data[:len(data)-1]), "[UNK]\na\n"},
		"another vocabulary": {string(data), "[UNK]\n"},
		"no vocabulary":      {string(data), ""},
	} {
		_, err := static.Read(c[0], c[1])
		require.ErrorContains(t, err, "static table", name)
	}
	_, err = static.Write(nil)
	require.Error(t, err)
	_, err = static.Write([][]float32{{1}, {1, 2}})
	require.ErrorContains(t, err, "row 1")
}

func FuzzRead(f *testing.F) {
	data, err := static.Write([][]float32{{0, 1}, {1, 0}})
	require.NoError(f, err)
	f.Add(string(data), "[UNK]\na\n", "a b")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, table, vocabulary, text string) {
		read, err := static.Read(table, vocabulary)
		if err == nil {
			v, _ := read.Vector(text)
			require.Len(t, v, read.Width())
		}
	})
}

func BenchmarkVector(b *testing.B) {
	table := static.Default()
	for b.Loop() {
		table.Vector("What musical instrument does your kid practise?")
	}
}
