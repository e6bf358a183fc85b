// Package minilm computes sentence vectors with a BERT encoder such as all-MiniLM-L6-v2, in Go alone.
package minilm

import (
	"fmt"
	"math"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/embedder/wordpiece"
)

// MostPieces is how many word pieces of a text are read, frame included: the model was trained on 256
// (sentence_bert_config.json).
const MostPieces = 256

// Files are the contents of the files that make up a model.
type Files struct {
	Config    []byte // config.json
	Tokenizer []byte // tokenizer.json
	Weights   []byte // model.safetensors, of half or single precision; it must not change while the model is in use
}

// Model is an encoder that is ready. It is safe for concurrent use.
type Model struct {
	shape      Shape
	vocabulary *wordpiece.Vocabulary
	pieces     []string
	// one row of numbers for each piece, as the file holds them: they are most of it, and few are read
	words     []byte
	wordWidth int // bytes a number
	positions []float32
	segment   []float32 // of the only segment there is
	norm      normal
	layers    []layer
	free      sync.Pool // of *scratch
}

type normal struct{ weight, bias []float32 }

type dense struct{ weight, bias []float32 }

type layer struct {
	query, key, value, attended dense
	attendedNorm                normal
	widen, narrow               dense
	outNorm                     normal
}

// Load reads a model and checks that every number it needs is there.
func Load(f Files) (*Model, error) {
	shape, err := readShape(f.Config)
	if err != nil {
		return nil, err
	}
	pieces, err := readVocabulary(f.Tokenizer)
	if err != nil {
		return nil, err
	}
	vocabulary, err := wordpiece.New(pieces)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if len(pieces) != shape.Vocabulary {
		return nil, fmt.Errorf("tokenizer.json has %d pieces, config.json says %d", len(pieces), shape.Vocabulary)
	}
	if _, _, found := vocabulary.Frame(); !found {
		return nil, fmt.Errorf("tokenizer.json: the pieces [CLS] and [SEP] are needed")
	}
	t, err := readTensors(f.Weights)
	if err != nil {
		return nil, err
	}
	m := &Model{shape: shape, vocabulary: vocabulary, pieces: pieces}
	m.free.New = func() any { return newScratch(shape, min(MostPieces, shape.Positions)) }
	m.read(t)
	return m, t.err
}

func (m *Model) read(t *tensors) {
	s := m.shape
	m.words, m.wordWidth = t.find("embeddings.word_embeddings.weight", s.Vocabulary, s.Width)
	m.positions = t.floats("embeddings.position_embeddings.weight", s.Positions, s.Width)
	m.segment = t.floats("embeddings.token_type_embeddings.weight", 2, s.Width)
	m.segment = m.segment[:min(len(m.segment), s.Width)]
	m.norm = t.normal("embeddings.LayerNorm", s.Width)
	m.layers = make([]layer, s.Layers)
	for i := range m.layers {
		l, at := &m.layers[i], fmt.Sprintf("encoder.layer.%d.", i)
		for _, d := range []struct {
			to      *dense
			name    string
			out, in int
		}{
			{&l.query, "attention.self.query", s.Width, s.Width},
			{&l.key, "attention.self.key", s.Width, s.Width},
			{&l.value, "attention.self.value", s.Width, s.Width},
			{&l.attended, "attention.output.dense", s.Width, s.Width},
			{&l.widen, "intermediate.dense", s.Intermediate, s.Width},
			{&l.narrow, "output.dense", s.Width, s.Intermediate},
		} {
			*d.to = dense{t.floats(at+d.name+".weight", d.out, d.in), t.floats(at+d.name+".bias", d.out)}
		}
		l.attendedNorm = t.normal(at+"attention.output.LayerNorm", s.Width)
		l.outNorm = t.normal(at+"output.LayerNorm", s.Width)
	}
}

func (t *tensors) normal(name string, width int) normal {
	return normal{t.floats(name+".weight", width), t.floats(name+".bias", width)}
}

// Width is the number of dimensions of a vector.
func (m *Model) Width() int { return m.shape.Width }

// Vocabulary returns the word pieces by number. It must not be changed.
func (m *Model) Vocabulary() []string { return m.pieces }

// Embed returns the vector of a text, of length 1, and how many word pieces were read. Of a longer text only the
// beginning is read.
func (m *Model) Embed(text string) (vector []float32, pieces int) {
	most := min(MostPieces, m.shape.Positions)
	opening, closing, _ := m.vocabulary.Frame()
	ids := append([]int32{opening}, m.vocabulary.Pieces(text, max(1, most-2))...)
	ids = append(ids, closing)
	return m.EmbedPieces(ids), len(ids)
}

// EmbedPieces returns the vector of a sequence of word pieces, frame included. The sequence has at least 1 piece and at
// most MostPieces.
func (m *Model) EmbedPieces(ids []int32) []float32 {
	s := m.free.Get().(*scratch)
	defer m.free.Put(s)
	m.encode(s, ids)
	out := make([]float32, m.shape.Width)
	for t := range ids {
		for i, x := range s.state[t*m.shape.Width : (t+1)*m.shape.Width] {
			out[i] += x
		}
	}
	length := 0.0
	for _, x := range out {
		length += float64(x) * float64(x)
	}
	if length > 0 {
		by := float32(1 / math.Sqrt(length))
		for i := range out {
			out[i] *= by
		}
	}
	return out
}

// scratch is the memory in which one text is computed, so that none is allocated for each.
type scratch struct {
	state, query, key, value, mixed, out, wide, scores []float32
}

func newScratch(s Shape, most int) *scratch {
	rows := (most + 3) / 4 * 4
	row := func() []float32 { return make([]float32, rows*s.Width) }
	return &scratch{
		state:  row(),
		query:  row(),
		key:    row(),
		value:  row(),
		mixed:  row(),
		out:    row(),
		wide:   make([]float32, rows*s.Intermediate),
		scores: make([]float32, rows),
	}
}

// encode leaves the last layer's rows in s.state.
func (m *Model) encode(s *scratch, ids []int32) {
	width, n := m.shape.Width, len(ids)
	for t, id := range ids {
		row := s.state[t*width : (t+1)*width]
		decode(row, m.words[int(id)*width*m.wordWidth:], m.wordWidth)
		for i := range row {
			row[i] += m.positions[t*width+i] + m.segment[i]
		}
	}
	m.normalise(s.state, m.norm, n)
	for i := range m.layers {
		l := &m.layers[i]
		linear(s.query, s.state, l.query.weight, l.query.bias, n, width)
		linear(s.key, s.state, l.key.weight, l.key.bias, n, width)
		linear(s.value, s.state, l.value.weight, l.value.bias, n, width)
		m.attend(s, n)
		linear(s.out, s.mixed, l.attended.weight, l.attended.bias, n, width)
		add(s.state[:n*width], s.out)
		m.normalise(s.state, l.attendedNorm, n)
		linear(s.wide, s.state, l.widen.weight, l.widen.bias, n, width)
		gelu(s.wide[:n*m.shape.Intermediate])
		linear(s.out, s.wide, l.narrow.weight, l.narrow.bias, n, m.shape.Intermediate)
		add(s.state[:n*width], s.out)
		m.normalise(s.state, l.outNorm, n)
	}
}

// attend mixes the values of all pieces by how well their keys fit each query, for each head apart.
func (m *Model) attend(s *scratch, n int) {
	width, each := m.shape.Width, m.shape.Width/m.shape.Heads
	scale := float32(1 / math.Sqrt(float64(each)))
	var four [4]float32
	for h := range m.shape.Heads {
		at := func(row int) (from, to int) { return row*width + h*each, row*width + (h+1)*each }
		for t := range n {
			from, to := at(t)
			query, mixed := s.query[from:to], s.mixed[from:to]
			for u := 0; u < n; u += 4 {
				a, b := at(u)
				dot4(query, s.key[a:b], s.key[a+width:b+width], s.key[a+2*width:b+2*width],
					s.key[a+3*width:b+3*width], &four)
				for i := range min(4, n-u) {
					s.scores[u+i] = four[i] * scale
				}
			}
			softmax(s.scores[:n])
			clear(mixed)
			for u, share := range s.scores[:n] {
				a, b := at(u)
				for i, x := range s.value[a:b] {
					mixed[i] += share * x
				}
			}
		}
	}
}

func softmax(x []float32) {
	top, sum := float32(math.Inf(-1)), 0.0
	for _, v := range x {
		top = max(top, v)
	}
	for i, v := range x {
		e := math.Exp(float64(v - top))
		x[i] = float32(e)
		sum += e
	}
	for i := range x {
		x[i] *= float32(1 / sum)
	}
}

// normalise gives each row the mean 0 and the variance 1, then weighs and shifts it.
func (m *Model) normalise(x []float32, by normal, rows int) {
	width := m.shape.Width
	for t := range rows {
		row := x[t*width : (t+1)*width]
		mean, square := 0.0, 0.0
		for _, v := range row {
			mean += float64(v)
		}
		mean /= float64(width)
		for _, v := range row {
			square += (float64(v) - mean) * (float64(v) - mean)
		}
		scale := 1 / math.Sqrt(square/float64(width)+m.shape.Epsilon)
		for i, v := range row {
			row[i] = float32((float64(v)-mean)*scale)*by.weight[i] + by.bias[i]
		}
	}
}

func add(x, y []float32) {
	for i := range x {
		x[i] += y[i]
	}
}

// gelu is the exact Gaussian error linear unit, by the error function.
func gelu(x []float32) {
	for i, v := range x {
		x[i] = float32(.5 * float64(v) * (1 + math.Erf(float64(v)/math.Sqrt2)))
	}
}
