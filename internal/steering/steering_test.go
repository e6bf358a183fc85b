package steering

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func made() Vector {
	return Vector{Model: "llama", Layers: map[int][]float32{3: {1, 0, 0}, 4: {0, -.5, 2}, 11: {0, 0, 1}}}
}

func TestAVectorSurvivesARoundTrip(t *testing.T) {
	t.Parallel()
	raw, err := made().Encode()
	require.NoError(t, err)
	back, err := Decode(bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	require.Equal(t, made(), back)
	first, last := back.Span()
	require.Equal(t, []int{3, 11, 3}, []int{first, last, back.Dim()})
	f, err := ReadFile(bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	require.Equal(t, "controlvector", f.Text["general.architecture"])
	require.Len(t, f.Tensors, 3)
	require.Zero(t, f.Data%alignment)
	for _, tensor := range f.Tensors {
		require.Zero(t, tensor.Offset%alignment, "llama.cpp reads data on boundaries of %d", alignment)
	}
}

func TestATruncatedFileIsAnError(t *testing.T) {
	t.Parallel()
	raw, err := made().Encode()
	require.NoError(t, err)
	end := len(raw) - alignment + 12 // the last tensor's numbers; after them is only padding
	for n := range end {
		_, err := Decode(bytes.NewReader(raw[:n]), int64(n))
		require.Error(t, err, "%d of %d bytes", n, len(raw))
	}
}

func TestInvalidFilesAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	good, err := made().Encode()
	require.NoError(t, err)
	changed := func(old, with string) []byte { return bytes.Replace(good, []byte(old), []byte(with), 1) }
	for want, raw := range map[string][]byte{
		"does not begin with the letters GGUF": []byte("<html>not found</html>"),
		"GGUF of version 9":                    append([]byte("GGUF\x09\x00\x00\x00"), good[8:]...),
		"tensors; no such file": append([]byte("GGUF\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f"),
			good[16:]...),
		"only direction.N": changed("direction.3", "dimension.3"),
		"names no layer":   changed("direction.3", "direction.x"),
		"twice":            changed("direction.4", "direction.3"),
	} {
		_, err := Decode(bytes.NewReader(raw), int64(len(raw)))
		require.ErrorContains(t, err, want)
	}
	for want, v := range map[string]Vector{
		"no direction": {},
		"layer 0":      {Layers: map[int][]float32{0: {1}}},
		"numbers":      {Layers: map[int][]float32{1: {1}, 2: {1, 2}}},
		"holds NaN":    {Layers: map[int][]float32{1: {float32(math.NaN())}}},
	} {
		_, err := v.Encode()
		require.ErrorContains(t, err, want)
	}
}

func FuzzDecodeNeverPanics(f *testing.F) {
	good, _ := made().Encode()
	f.Add(good)
	f.Add([]byte("GGUF"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := Decode(bytes.NewReader(raw), int64(len(raw)))
		if err == nil && v.Validate() != nil {
			t.Fatal("a vector was read that cannot be written")
		}
	})
}

func TestTheBufferHoldsTheRequestedLayersInPlace(t *testing.T) {
	t.Parallel()
	require.Equal(t, []float32{0, 0, 0, 0, 0, 0, 2, 0, 0, 0, -1, 4, 0, 0, 0}, made().Flat(6, 1, 4, 2))
	require.Equal(t, []float32{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, .25, -1}, made().Flat(5, 4, 11, -.5),
		"a layer that the model lacks is left out")
}

func TestTheMeanDifferenceIsLearned(t *testing.T) {
	t.Parallel()
	var l Learner
	for _, noise := range []float32{.1, -.1, .1, -.1} {
		require.NoError(t, l.Add(States{1: {3, noise}, 2: {0, 1}}, States{1: {1, -noise}, 2: {0, 3}}))
	}
	v, result, err := l.Vector("llama", 1, 2)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{1, 0}, v.Layers[1], 1e-6)
	require.InDeltaSlice(t, []float32{0, -1}, v.Layers[2], 1e-6)
	require.InDelta(t, 2, result[0].Length, 1e-6)
	require.InDelta(t, .980, result[0].Agree, 1e-3)
	require.InDelta(t, 1, result[1].Agree, 1e-9)

	_, _, err = l.Vector("llama", 1, 3)
	require.ErrorContains(t, err, "layer 3 gave no states")
	require.ErrorContains(t, l.Add(States{1: {1, 2}}, States{}), "1 and 0 layers")
	require.ErrorContains(t, l.Add(States{1: {1}, 2: {1}}, States{1: {1}, 2: {1}}), "numbers")
	var same Learner
	require.NoError(t, same.Add(States{1: {1}}, States{1: {1}}))
	_, _, err = same.Vector("llama", 1, 1)
	require.ErrorContains(t, err, "do not differ")
	_, _, err = new(Learner).Vector("llama", 1, 1)
	require.ErrorContains(t, err, "no pair")
}

func TestTheBuiltInPairsAreSuitable(t *testing.T) {
	t.Parallel()
	pairs, err := ReadPairs(bytes.NewReader(ownPairs))
	require.NoError(t, err)
	require.Equal(t, pairs, Pairs())
	require.GreaterOrEqual(t, len(pairs), 40)
	request := map[string]bool{}
	for _, p := range pairs {
		require.False(t, request[p.Ask], "duplicate: %s", p.Ask)
		request[p.Ask] = true
		share := float64(len(p.Creative)) / float64(len(p.Analytical))
		require.Greater(t, share, .7, "%s: a vector must not learn length", p.Ask)
		require.Less(t, share, 1.5, "%s: a vector must not learn length", p.Ask)
	}
	prompts := Prompts()
	require.GreaterOrEqual(t, len(prompts), 10)
	for _, prompt := range prompts {
		require.False(t, request[prompt], "%s is used by a pair", prompt)
	}
}

func TestAnInvalidFileOfPairsNamesTheLine(t *testing.T) {
	t.Parallel()
	const one = "? q\n+ c\n- a\n"
	pairs, err := ReadPairs(strings.NewReader("# mine\n\n" + strings.Repeat(one, FewestPairs)))
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]Pair{{"q", "c", "a"}}, FewestPairs), pairs)
	for want, text := range map[string]string{
		"line 2 begins with '-'":         "? q\n- a\n",
		"line 4 begins with '+'":         one + "+ c\n",
		"line 2 has 0 characters":        "? q\n+\n",
		"ends after line 5":              one + "? q\n+ c\n",
		"there are 1 pairs":              one,
		"line 1 has 5000 characters":     "? " + strings.Repeat("a", 5000),
		"line 1: bufio.Scanner: token t": strings.Repeat("a", 2<<20),
	} {
		_, err := ReadPairs(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func TestMeasures(t *testing.T) {
	t.Parallel()
	require.InDelta(t, .75, Distinct([]string{"The cat.", "the dog"}, 1), 1e-9)
	require.InDelta(t, 1, Distinct([]string{"The cat.", "the dog"}, 2), 1e-9)
	require.InDelta(t, .25, Distinct([]string{"it's it's it's it's"}, 1), 1e-9)
	require.Zero(t, Distinct([]string{"one", ""}, 2))
	require.Equal(t, 3, Words("it's 2 o"))
	require.InDelta(t, 1, Distance([][]float32{{1, 0}, {0, 1}}), 1e-9)
	require.InDelta(t, 2./3, Distance([][]float32{{1, 0}, {0, 1}, {2, 0}}), 1e-9)
	require.Zero(t, Distance([][]float32{{1, 0}}))
	require.InDelta(t, 2, CosineDistance([]float32{1}, []float32{-3}), 1e-9)
	require.InDelta(t, 1, CosineDistance([]float32{0}, []float32{1}), 1e-9)
}

// A damaged or malicious file is an error, and takes no excessive memory.
func TestATensorOfImpossibleSizeIsAnError(t *testing.T) {
	t.Parallel()
	for _, dims := range []uint64{
		1 << 40, 1 << 56, 1 << 57, 1 << 58, 1<<58 + 1, 1 << 61, 1 << 62, 1<<63 - 1, 1 << 63,
		1<<64 - 1,
	} {
		for _, offset := range []uint64{0, 1 << 40, 1<<63 - 1, 1 << 63} {
			for _, kind := range []uint32{0, 8, 99} {
				var raw bytes.Buffer
				put := func(values ...any) {
					for _, v := range values {
						require.NoError(t, binary.Write(&raw, binary.LittleEndian, v))
					}
				}
				raw.WriteString("GGUF")
				put(uint32(3), uint64(1), uint64(0), uint64(len("direction.1")))
				raw.WriteString("direction.1")
				put(uint32(1), dims, kind, offset)
				raw.Write(make([]byte, 256))
				require.NotPanics(t, func() {
					_, err := Decode(bytes.NewReader(raw.Bytes()), int64(raw.Len()))
					require.Error(t, err, "%d numbers at %d of type %d", dims, offset, kind)
				})
			}
		}
	}
}
