package hypnagogia

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/mood"
)

// The weights of the choice (apply_mood_bias). biasWeight is ours: with it the bias of H4 can lift a piece by as much
// as half of the mood's own congruence.
const (
	recencyWeight    = .4
	salienceWeight   = .3
	congruenceWeight = .3
	biasWeight       = .15
)

// Rank puts what this mood calls first: recency, salience and congruence with the mood, and the mode of its bias on
// top, by which a threatened mind sees what hurt and an opportune one what pleased. It fills in Recency: the newest
// time among the pieces is 1, the oldest 0, those between by their place in the order of times, so that a life long
// past still has its latest day. Times after asOf count as asOf. Ties break by text.
func Rank(pieces []Piece, now mood.PAD, asOf time.Time) []Piece {
	recency := recencies(pieces, asOf)
	bias := now.Bias()
	order, scores, recent := make([]int, len(pieces)), make([]float64, len(pieces)), make([]float64, len(pieces))
	for i, p := range pieces {
		order[i], recent[i] = i, recency(p.At)
		scores[i] = recencyWeight*recent[i] + salienceWeight*p.Salience +
			congruenceWeight*now.Cosine(p.Affect) + biasWeight*pull(bias, p.Affect)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(pieces[a].Text, pieces[b].Text))
	})
	out := make([]Piece, len(pieces))
	for i, from := range order {
		out[i] = pieces[from]
		out[i].Recency = recent[from]
	}
	return out
}

// pull says in [0, 1] how much a bias calls a memory: both of its signs must be there, and the weaker one counts.
func pull(bias mood.Bias, affect mood.PAD) float64 {
	switch bias {
	case mood.Threat:
		return unit(math.Min(-affect.Pleasure, affect.Arousal))
	case mood.Opportunity:
		return unit(affect.Pleasure)
	case mood.Broad:
		return 0
	}
	return 0
}

func recencies(pieces []Piece, asOf time.Time) func(time.Time) float64 {
	nanos := func(at time.Time) time.Time {
		if at.After(asOf) {
			return asOf
		}
		return at
	}
	times := make([]time.Time, len(pieces))
	for i, p := range pieces {
		times[i] = nanos(p.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	times = slices.CompactFunc(times, time.Time.Equal)
	return func(at time.Time) float64 {
		if len(times) < 2 {
			return 1
		}
		place, _ := slices.BinarySearchFunc(times, nanos(at), time.Time.Compare)
		return float64(place) / float64(len(times)-1)
	}
}

// Margin is what a piece costs in the window beside its text: a bullet, a space, a line break.
const Margin = 3

// nearDuplicate is the share of the smaller piece's words that make it the same thought as another one.
const nearDuplicate = .9

// Fit cuts the pieces to a window of that many characters, in their order: a piece that no longer fits is passed over
// for smaller ones, and so is one that says nearly the same as a piece already in.
func Fit(pieces []Piece, characters int) []Piece {
	const least = Margin + 1
	var fitted []Piece
	var sets [][]int
	values, existing := map[string]bool{}, map[string]int{}
	for _, p := range pieces {
		if characters < least {
			break
		}
		size := utf8.RuneCountInString(p.Text) + Margin
		key := wordKey(p.Text)
		if size > characters || values[key] {
			continue
		}
		set := wordSet(p.Text, existing)
		if slices.ContainsFunc(sets, func(other []int) bool { return alike(set, other) }) {
			continue
		}
		values[key] = true
		sets = append(sets, set)
		fitted = append(fitted, p)
		characters -= size
	}
	return fitted
}

// wordSet is the text's words as sorted numbers; known numbers the words met so far.
func wordSet(text string, existing map[string]int) []int {
	var set []int
	for _, w := range words(text) {
		n, ok := existing[w]
		if !ok {
			n = len(existing)
			existing[w] = n
		}
		set = append(set, n)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// alike compares sets of words; with fewer than four words too little is said to call it a copy.
func alike(a, b []int) bool {
	least := min(len(a), len(b))
	if least < 4 {
		return false
	}
	shared := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			shared, i, j = shared+1, i+1, j+1
		}
	}
	return float64(shared) >= nearDuplicate*float64(least)
}

// Shuffle moves a share of the pieces at random among their own places and leaves the others where they are: enough to
// break the order of time, not so much that nothing stands beside its own (70 %). Share 0 changes nothing, share 1
// shuffles all.
func Shuffle(pieces []Piece, share float64, r *rand.Rand) []Piece {
	out := slices.Clone(pieces)
	moved := r.Perm(len(out))[:int(math.Round(unit(share)*float64(len(out))))]
	slices.Sort(moved)
	for i, from := range r.Perm(len(moved)) {
		out[moved[i]] = pieces[moved[from]]
	}
	return out
}
