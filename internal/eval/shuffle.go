package eval

import (
	"math/rand/v2"
	"slices"
)

// Entry is one entry of a history, as its sentences.
type Entry struct {
	Day       string // that it was written on, such as 2026-09-30
	Sentences []string
}

// Shuffle returns the placebo's past: every sentence is moved to an entry of another day, by chance, and each entry
// keeps its day and its number of sentences. Where one day has more than half of all sentences, as few as possible stay
// in it. The same seed gives the same past.
func Shuffle(entries []Entry, seed uint64) []Entry {
	type sentence struct{ text, day string }
	var all []sentence
	var days []string // of the places
	for _, e := range entries {
		for _, text := range e.Sentences {
			all = append(all, sentence{text, e.Day})
			days = append(days, e.Day)
		}
	}
	dice := rand.New(rand.NewPCG(seed, shuffling))
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all {
		if all[i].day != days[i] {
			continue
		}
		// An exchange with a place of another day that holds a sentence of another day leaves both moved. There is one
		// as long as no day has more than half of all sentences.
		begin := dice.IntN(len(all))
		for k := range all {
			j := (begin + k) % len(all)
			if days[j] != days[i] && all[j].day != days[i] {
				all[i], all[j] = all[j], all[i]
				break
			}
		}
	}
	shuffled := slices.Clone(entries)
	for i, e := range entries {
		moved := make([]string, len(e.Sentences))
		for k := range moved {
			moved[k] = all[k].text
		}
		all, shuffled[i].Sentences = all[len(moved):], moved
	}
	return shuffled
}

// The purposes of random numbers, so that two of them never use the same ones.
const (
	shuffling  = 1
	resampling = 2
)
