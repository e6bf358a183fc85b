package localmodel

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// EmbedSpace names the built-in embedder, its version and its dimension.
const EmbedSpace = "builtin-lexical/1/384"

const dims = 384

// Weights of the features of a text. A word counts most; its letters let "trader" meet "trading"; pairs keep a
// little of the order; words without content hardly count.
const (
	wordWeight = 1.0
	pairWeight = .3
	gramWeight = .25
	stopWeight = .08
)

// Vector places a text among others by its spelling: hashed word stems, neighbouring pairs and letter trigrams, each
// with sublinear frequency, signed hashing into 384 dimensions, length 1. It is lexical: texts that share words are
// near, texts that share only meaning are not. A text without words has a place of its own.
func Vector(text string) []float32 {
	features := map[string]float64{}
	before := ""
	for _, w := range strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }) {
		w = strings.Trim(w, "'")
		if w == "" {
			continue
		}
		if hollow[w] {
			features["s:"+w] += stopWeight
			continue
		}
		root := stem(w)
		features["w:"+root] += wordWeight
		if before != "" {
			features["p:"+before+" "+root] += pairWeight
		}
		before = root
		letters := []rune("^" + root + "$")
		for i := 0; i+3 <= len(letters); i++ {
			features["g:"+string(letters[i:i+3])] += gramWeight
		}
	}
	if len(features) == 0 {
		features["empty"] = 1
	}
	return place(features)
}

// place sums the features in a fixed order: float addition is not associative and vectors must not vary.
func place(features map[string]float64) []float32 {
	names := make([]string, 0, len(features))
	for name := range features {
		names = append(names, name)
	}
	slices.Sort(names)
	var sums [dims]float64
	for _, name := range names {
		base := wordWeight
		switch name[0] {
		case 'p':
			base = pairWeight
		case 'g':
			base = gramWeight
		case 's':
			base = stopWeight
		}
		weight := base * (1 + math.Log(features[name]/base))
		if weight <= 0 {
			weight = base
		}
		h := hash(name)
		if h>>63 == 1 {
			weight = -weight
		}
		sums[h%dims] += weight
	}
	norm := 0.0
	for _, x := range sums {
		norm += x * x
	}
	if norm == 0 {
		sums[0], norm = 1, 1
	}
	v := make([]float32, dims)
	for i, x := range sums {
		v[i] = float32(x / math.Sqrt(norm))
	}
	return v
}

// hash is FNV-1a with a finisher: the low bits choose the dimension and the top bit the sign, and both must be even.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// stem takes the commonest English endings off a word of four letters or more.
func stem(w string) string {
	w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "'")
	n := len(w)
	switch {
	case n > 5 && strings.HasSuffix(w, "ies"):
		w = w[:n-3] + "y"
	case n > 5 && strings.HasSuffix(w, "ing"):
		w = undouble(w[:n-3])
	case n > 4 && strings.HasSuffix(w, "ed"):
		w = undouble(w[:n-2])
	case n > 5 && strings.HasSuffix(w, "ly"):
		w = w[:n-2]
	case n > 4 && strings.HasSuffix(w, "es") && strings.ContainsRune("sxzh", rune(w[n-3])):
		w = w[:n-2]
	case n > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		w = w[:n-1]
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// Closeness is the cosine of two unit vectors.
func Closeness(a, b []float32) float64 {
	sum := 0.0
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
