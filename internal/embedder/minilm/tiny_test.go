package minilm_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/embedder/minilm"
)

// The tiny model: the layout of the real one, with few numbers, drawn at random.
const (
	tinyLayers, tinyHeads, tinyWidth, tinyWide, tinyPositions = 2, 2, 16, 24, 12
	tinyConfig                                                = `{"model_type":"bert","hidden_act":"gelu","hidden_size":16,"num_hidden_layers":2,"num_attention_heads":2,` +
		`"intermediate_size":24,"max_position_embeddings":12,"vocab_size":8,"layer_norm_eps":1e-12}`
	tinyTokenizer = `{"normalizer":{"lowercase":true},"model":{"type":"WordPiece","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"a":4,"b":5,"##b":6,"c":7}}}`
)

// tinyWeights are the numbers by name.
func tinyWeights() map[string][][]float64 {
	dice := rand.New(rand.NewPCG(3, 4))
	w := map[string][][]float64{}
	draw := func(name string, rows, columns int, around float64) {
		m := make([][]float64, rows)
		for i := range m {
			m[i] = make([]float64, columns)
			for j := range m[i] {
				m[i][j] = float64(float32(around + .4*(dice.Float64()-.5)))
			}
		}
		w[name] = m
	}
	norm := func(name string) {
		draw(name+".weight", 1, tinyWidth, 1)
		draw(name+".bias", 1, tinyWidth, 0)
	}
	linear := func(name string, out, in int) {
		draw(name+".weight", out, in, 0)
		draw(name+".bias", 1, out, 0)
	}
	draw("embeddings.word_embeddings.weight", 8, tinyWidth, 0)
	draw("embeddings.position_embeddings.weight", tinyPositions, tinyWidth, 0)
	draw("embeddings.token_type_embeddings.weight", 2, tinyWidth, 0)
	norm("embeddings.LayerNorm")
	for i := range tinyLayers {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"query", "key", "value"} {
			linear(at+"attention.self."+name, tinyWidth, tinyWidth)
		}
		linear(at+"attention.output.dense", tinyWidth, tinyWidth)
		norm(at + "attention.output.LayerNorm")
		linear(at+"intermediate.dense", tinyWide, tinyWidth)
		linear(at+"output.dense", tinyWidth, tinyWide)
		norm(at + "output.LayerNorm")
	}
	return w
}

// safetensors writes numbers as a file of single precision.
func safetensors(w map[string][][]float64) []byte {
	header, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte{}
	for _, name := range slices.Sorted(maps.Keys(w)) {
		from := len(data)
		for _, row := range w[name] {
			for _, x := range row {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
			}
		}
		shape := []int{len(w[name]), len(w[name][0])}
		if shape[0] == 1 {
			shape = shape[1:]
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{from, len(data)}}
	}
	head, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), data...)
}

// reference computes the vector of word pieces in the simplest way, in double precision.
func reference(w map[string][][]float64, ids []int) []float64 {
	norm := func(rows [][]float64, name string) {
		for _, row := range rows {
			mean, variance := 0.0, 0.0
			for _, x := range row {
				mean += x / tinyWidth
			}
			for _, x := range row {
				variance += (x - mean) * (x - mean) / tinyWidth
			}
			for i, x := range row {
				row[i] = (x-mean)/math.Sqrt(variance+1e-12)*w[name+".weight"][0][i] + w[name+".bias"][0][i]
			}
		}
	}
	linear := func(rows [][]float64, name string) [][]float64 {
		var out [][]float64
		for _, row := range rows {
			var y []float64
			for o, weights := range w[name+".weight"] {
				sum := w[name+".bias"][0][o]
				for i, x := range row {
					sum += weights[i] * x
				}
				y = append(y, sum)
			}
			out = append(out, y)
		}
		return out
	}
	plus := func(x, y [][]float64) {
		for i := range x {
			for j := range x[i] {
				x[i][j] += y[i][j]
			}
		}
	}
	var state [][]float64
	for t, id := range ids {
		row := make([]float64, tinyWidth)
		for i := range row {
			row[i] =
				w["embeddings.word_embeddings.weight"][id][i] + w["embeddings.position_embeddings.weight"][t][i] +
					w["embeddings.token_type_embeddings.weight"][0][i]
		}
		state = append(state, row)
	}
	norm(state, "embeddings.LayerNorm")
	for l := range tinyLayers {
		at := fmt.Sprintf("encoder.layer.%d.", l)
		q, k, v := linear(state, at+"attention.self.query"), linear(state, at+"attention.self.key"),
			linear(state, at+"attention.self.value")
		mixed := make([][]float64, len(ids))
		for t := range ids {
			mixed[t] = make([]float64, tinyWidth)
			for h := range tinyHeads {
				const each = tinyWidth / tinyHeads
				shares, sum := make([]float64, len(ids)), 0.0
				for u := range ids {
					dot := 0.0
					for i := h * each; i < (h+1)*each; i++ {
						dot += q[t][i] * k[u][i]
					}
					shares[u] = math.Exp(dot / math.Sqrt(each))
					sum += shares[u]
				}
				for u := range ids {
					for i := h * each; i < (h+1)*each; i++ {
						mixed[t][i] += shares[u] / sum * v[u][i]
					}
				}
			}
		}
		plus(state, linear(mixed, at+"attention.output.dense"))
		norm(state, at+"attention.output.LayerNorm")
		wide := linear(state, at+"intermediate.dense")
		for _, row := range wide {
			for i, x := range row {
				row[i] = x / 2 * (1 + math.Erf(x/math.Sqrt2))
			}
		}
		plus(state, linear(wide, at+"output.dense"))
		norm(state, at+"output.LayerNorm")
	}
	out, length := make([]float64, tinyWidth), 0.0
	for i := range out {
		for t := range ids {
			out[i] += state[t][i]
		}
		length += out[i] * out[i]
	}
	for i := range out {
		out[i] /= math.Sqrt(length)
	}
	return out
}

func tinyFiles() minilm.Files {
	return minilm.Files{
		Config: []byte(tinyConfig), Tokenizer: []byte(tinyTokenizer),
		Weights: safetensors(tinyWeights()),
	}
}

func TestTheEncoderComputesWhatThePlainestOneDoes(t *testing.T) {
	t.Parallel()
	m, err := minilm.Load(tinyFiles())
	require.NoError(t, err)
	for _, c := range []struct {
		text string
		ids  []int
	}{
		{"", []int{2, 3}},
		{"a", []int{2, 4, 3}},
		{"C, ab b", []int{2, 7, 1, 4, 6, 5, 3}},
		{"a a a a a a a a a a a a a a", []int{2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3}}, // cut at the positions there are
	} {
		got, pieces := m.Embed(c.text)
		require.Equal(t, len(c.ids), pieces, c.text)
		want := reference(tinyWeights(), c.ids)
		for i := range want {
			require.InDelta(t, want[i], got[i], 1e-5, "%q, number %d", c.text, i)
		}
		again, _ := m.Embed(c.text)
		require.Equal(t, got, again)
	}
}

func TestABrokenModelSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, breaks := range map[string]func(f *minilm.Files){
		"hidden_size is 0": func(f *minilm.Files) {
			f.Config = []byte(`{"model_type":"bert","num_hidden_layers":1,"num_attention_heads":1}`)
		},
		`model_type is "gpt2"`: func(f *minilm.Files) {
			f.Config = []byte(`{"model_type":"gpt2",` + tinyConfig[len(`{"model_type":"bert",`):])
		},
		"config.json: ":           func(f *minilm.Files) { f.Config = nil },
		"tokenizer.json: ":        func(f *minilm.Files) { f.Tokenizer = []byte("[") },
		"the vocabulary is cased": func(f *minilm.Files) { f.Tokenizer = []byte(`{"model":{"vocab":{"[UNK]":0}}}`) },
		"tokenizer.json has 1 pieces": func(f *minilm.Files) {
			f.Tokenizer = []byte(`{"normalizer":{"lowercase":true},"model":{"vocab":{"[UNK]":0}}}`)
		},
		"the file has 3 bytes": func(f *minilm.Files) { f.Weights = f.Weights[:3] },
		"it needs":             func(f *minilm.Files) { f.Weights = f.Weights[:len(f.Weights)-4] },
		"LayerNorm.weight is missing": func(f *minilm.Files) {
			w := tinyWeights()
			delete(w, "encoder.layer.1.output.LayerNorm.weight")
			f.Weights = safetensors(w)
		},
		"has the shape [15]; it must be": func(f *minilm.Files) {
			w := tinyWeights()
			b := w["embeddings.LayerNorm.bias"]
			b[0] = b[0][:15]
			f.Weights = safetensors(w)
		},
		"a header of 18446744073709551615": func(f *minilm.Files) { f.Weights = slices.Repeat([]byte{0xff}, 16) },
	} {
		f := tinyFiles()
		breaks(&f)
		_, err := minilm.Load(f)
		require.ErrorContains(t, err, want)
	}
}

func FuzzLoad(f *testing.F) {
	whole := tinyFiles()
	f.Add(whole.Config, whole.Tokenizer, whole.Weights)
	f.Add([]byte("{}"), []byte("{}"), []byte{})
	f.Fuzz(func(t *testing.T, config, tokenizer, weights []byte) {
		m, err := minilm.Load(minilm.Files{Config: config, Tokenizer: tokenizer, Weights: weights})
		if err == nil && m.Width() < 1000 {
			v, _ := m.Embed("a b c")
			require.Len(t, v, m.Width())
		}
	})
}
