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

// The weights of the choice (S4, apply_mood_bias). biasWeight is ours: with it the bias of H4 can lift a piece by as much
// as half of the mood's own congruence.
const (
	recencyWeight    = .4
	salienceWeight   = .3
	congruenceWeight = .3
	biasWeight       = .15
)

// Rank puts what this mood calls first: recency, salience and congruence with the mood, and the mode of its bias on top,
// by which a threatened mind sees what hurt and an opportune one what pleased (H4). It fills in Recency: the newest time among the
// pieces is 1, the oldest 0, those between by their place in the order of times, so that a life long past still has its
// latest day. Times after asOf count as asOf. Ties break by text.
func Rank(pieces []Piece, now mood.PAD, asOf time.Time) []Piece {
	type scored struct {
		Piece
		score float64
	}
	recency := recencies(pieces, asOf)
	bias := now.Bias()
	all := make([]scored, len(pieces))
	for i, p := range pieces {
		p.Recency = recency(p.At)
		all[i] = scored{p, recencyWeight*p.Recency + salienceWeight*p.Salience +
			congruenceWeight*now.Cosine(p.Affect) + biasWeight*pull(bias, p.Affect)}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Text, b.Text))
	})
	out := make([]Piece, len(all))
	for i, s := range all {
		out[i] = s.Piece
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

// Fit cuts the pieces to a window of that many characters, in their order: a piece that no longer fits is passed over for
// smaller ones, and so is one that says nearly the same as a piece already in.
func Fit(pieces []Piece, characters int) []Piece {
	const least = Margin + 1
	var fitted []Piece
	var sets []map[string]bool
	said := map[string]bool{}
	for _, p := range pieces {
		if characters < least {
			break
		}
		size := utf8.RuneCountInString(p.Text) + Margin
		key := wordKey(p.Text)
		if size > characters || said[key] {
			continue
		}
		set := wordSet(p.Text)
		if slices.ContainsFunc(sets, func(other map[string]bool) bool { return alike(set, other) }) {
			continue
		}
		said[key] = true
		sets = append(sets, set)
		fitted = append(fitted, p)
		characters -= size
	}
	return fitted
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range words(text) {
		set[w] = true
	}
	return set
}

// alike compares sets of words; with fewer than four words too little is said to call it a copy.
func alike(a, b map[string]bool) bool {
	if len(b) < len(a) {
		a, b = b, a
	}
	if len(a) < 4 {
		return false
	}
	shared := 0
	for w := range a {
		if b[w] {
			shared++
		}
	}
	return float64(shared) >= nearDuplicate*float64(len(a))
}

// Shuffle moves a share of the pieces at random among their own places and leaves the others where they are: enough to break
// the order of time, not so much that nothing stands beside its own (S4, 70 %). Share 0 changes nothing, share 1 shuffles all.
func Shuffle(pieces []Piece, share float64, r *rand.Rand) []Piece {
	out := slices.Clone(pieces)
	moved := r.Perm(len(out))[:int(math.Round(unit(share)*float64(len(out))))]
	slices.Sort(moved)
	for i, from := range r.Perm(len(moved)) {
		out[moved[i]] = pieces[moved[from]]
	}
	return out
}
