package hypnagogia

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Weights of the choice of memories. biasWeight is our choice: with it, the mood's bias can raise a piece by up to
// half of its congruence.
const (
	recencyWeight    = .4
	salienceWeight   = .3
	congruenceWeight = .3
	biasWeight       = .15
)

// Rank sorts pieces for this mood: by recency, salience and congruence with the mood, and by the mood's bias, which
// prefers hurtful memories under threat and pleasant ones under opportunity. It fills in Recency: the newest time
// among the pieces is 1, the oldest 0, the others by rank, so that an old memory still has a latest day. Times after
// asOf count as asOf. Ties are ordered by text.
func Rank(pieces []Piece, now mood.PAD, asOf time.Time) []Piece {
	recency := recencies(pieces, asOf)
	bias := now.Bias()
	indices, scores, recent := make([]int, len(pieces)), make([]float64, len(pieces)), make([]float64, len(pieces))
	for i, p := range pieces {
		indices[i], recent[i] = i, recency(p.At)
		scores[i] = recencyWeight*recent[i] + salienceWeight*p.Salience +
			congruenceWeight*now.Cosine(p.Affect) + biasWeight*pull(bias, p.Affect)
	}
	slices.SortStableFunc(indices, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(pieces[a].Text, pieces[b].Text))
	})
	out := make([]Piece, len(pieces))
	for i, from := range indices {
		out[i] = pieces[from]
		out[i].Recency = recent[from]
	}
	return out
}

// pull is in [0, 1] how much a bias prefers a memory: both of its conditions must hold, and the weaker one counts.
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

// Margin is the characters of a piece in the window besides its text: a bullet, a space, a line break.
const Margin = 3

// nearDuplicate is the share of the smaller piece's words from which two pieces count as the same thought.
const nearDuplicate = .9

// Fit cuts the pieces to a window of that many characters, in order: a piece that does not fit, or nearly repeats an
// earlier one, is skipped.
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

// wordSet is the text's words as sorted numbers; existing numbers the words seen so far.
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

// alike compares sets of words; with fewer than four words it is false.
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

// Shuffle moves a share of the pieces at random among their own positions and leaves the others in place: enough to
// break the order of time (70 %) without separating everything. Share 0 changes nothing, share 1 shuffles all.
func Shuffle(pieces []Piece, share float64, r *rand.Rand) []Piece {
	out := slices.Clone(pieces)
	moved := r.Perm(len(out))[:int(math.Round(unit(share)*float64(len(out))))]
	slices.Sort(moved)
	for i, from := range r.Perm(len(moved)) {
		out[moved[i]] = pieces[moved[from]]
	}
	return out
}
