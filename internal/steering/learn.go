package steering

import (
	"errors"
	"fmt"
	"math"
)

// States are the outputs of each layer while a model read a text, averaged over the text's tokens.
type States map[int][]float32

// Learner averages the differences of pairs, one direction per layer.
type Learner struct {
	sum   map[int][]float64
	first map[int][]float64 // of the even pairs, to compare halves
	pairs int
}

// Add adds one pair: the layers' outputs for the creative text and for the analytical one.
func (l *Learner) Add(creative, analytical States) error {
	if len(creative) == 0 || len(creative) != len(analytical) {
		return fmt.Errorf("the texts of a pair gave states of %d and %d layers; both must give the same",
			len(creative), len(analytical))
	}
	if l.sum == nil {
		l.sum, l.first = map[int][]float64{}, map[int][]float64{}
	}
	for layer, c := range creative {
		a := analytical[layer]
		if len(a) != len(c) || l.pairs > 0 && len(l.sum[layer]) != len(c) {
			return fmt.Errorf("the states of layer %d have %d and %d numbers; all must have as many", layer, len(c),
				len(a))
		}
		if l.sum[layer] == nil {
			l.sum[layer], l.first[layer] = make([]float64, len(c)), make([]float64, len(c))
		}
		for i := range c {
			d := float64(c[i]) - float64(a[i])
			l.sum[layer][i] += d
			if l.pairs%2 == 0 {
				l.first[layer][i] += d
			}
		}
	}
	l.pairs++
	return nil
}

// Layer describes a learned direction.
type Layer struct {
	Layer  int     `json:"layer"`
	Length float64 `json:"length"` // of the mean difference before normalisation, in the model's units
	// cosine between the directions of the even and of the odd pairs: 1 when both halves agree
	Agree float64 `json:"agree"`
}

// Vector is the normalised mean difference of each layer from the first to the last.
func (l *Learner) Vector(model string, from, to int) (Vector, []Layer, error) {
	if l.pairs == 0 {
		return Vector{}, nil, errors.New("no pair was learned from")
	}
	v := Vector{Model: model, Layers: map[int][]float32{}}
	var result []Layer
	for layer := from; layer <= to; layer++ {
		sum, ok := l.sum[layer]
		if !ok {
			return Vector{}, nil,
				fmt.Errorf("layer %d gave no states; layers are named from 1 to one below the model's last", layer)
		}
		long := norm(sum)
		if long == 0 || math.IsNaN(long) || math.IsInf(long, 0) {
			return Vector{}, nil, fmt.Errorf("the pairs do not differ at layer %d", layer)
		}
		d := make([]float32, len(sum))
		rest := make([]float64, len(sum))
		for i, x := range sum {
			d[i] = float32(x / long)
			rest[i] = x - l.first[layer][i]
		}
		v.Layers[layer] = d
		result = append(result,
			Layer{Layer: layer, Length: long / float64(l.pairs), Agree: cosine(l.first[layer], rest)})
	}
	return v, result, v.Validate()
}

func norm(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// cosine of two vectors; 0 when either is zero.
func cosine[T float32 | float64](a, b []T) float64 {
	var dot, aa, bb float64
	for i := range min(len(a), len(b)) {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
