package hypnagogia

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// MemoryTexts finds what a text repeats word for word of the memories that an agent has. The zero value knows nothing.
type MemoryTexts struct {
	runs  map[string][]int32 // the texts that hold a run of words
	under map[string][]int32 // likewise, of those that these add to
}

// When words are copied; our choice, made on the development texts of testsuite/observing.
const (
	copiedRun = 3   // words in a row
	copyFrom  = .7  // from this share of one memory a text is less new,
	wholeCopy = .85 // and from this share it is not new at all
)

// PartsOf are the texts of an episode: what it says, and its context, action and outcome.
func PartsOf(e *dream.Episode) []string {
	var parts []string
	for _, part := range []string{e.Text(), e.Context, e.Action, e.Outcome} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// MemoryTextsOf reads the memories, each with all of its parts.
func MemoryTextsOf(memories [][]string) MemoryTexts {
	t := MemoryTexts{runs: map[string][]int32{}}
	for i, parts := range memories {
		t.add(int32(i), parts)
	}
	return t
}

// With adds texts to memories that MemoryTextsOf read: each to the one with its index, which may be a new one. t stays
// as it is.
func (t MemoryTexts) With(texts map[int32][]string) MemoryTexts {
	all := MemoryTexts{runs: map[string][]int32{}, under: t.runs}
	for i, parts := range texts {
		all.add(i, parts)
	}
	return all
}

func (t MemoryTexts) add(i int32, parts []string) {
	for _, part := range parts {
		for _, run := range runsOf(orderWords(flatten(part))) {
			at := t.runs[run]
			if len(at) == 0 || at[len(at)-1] != i {
				t.runs[run] = append(at, i)
			}
		}
	}
}

// runsOf are the runs of words in a text, in order.
func runsOf(w []string) []string {
	if len(w) < copiedRun {
		return nil
	}
	runs := make([]string, len(w)-copiedRun+1)
	for i := range runs {
		runs[i] = w[i] + " " + w[i+1] + " " + w[i+2]
	}
	return runs
}

// Copied is the largest share of a text's words that stand in runs of three or more in one and the same memory. A text
// that joins parts of two memories has a share of about one half, whichever words it took over.
func (t MemoryTexts) Copied(text string) float64 {
	most := 0.0
	for _, share := range t.shares(text) {
		most = max(most, share)
	}
	return most
}

// shares are the shares of a text's words that stand in runs in each memory that has one.
func (t MemoryTexts) shares(text string) map[int32]float64 {
	w := orderWords(flatten(text))
	covered := map[int32]int{}
	last := map[int32]int{} // the end of what is covered so far
	for i, run := range runsOf(w) {
		for _, memories := range [][]int32{t.under[run], t.runs[run]} {
			for _, m := range memories {
				covered[m] += i + copiedRun - max(i, last[m])
				last[m] = i + copiedRun
			}
		}
	}
	shares := make(map[int32]float64, len(covered))
	for m, n := range covered {
		shares[m] = float64(n) / float64(len(w))
	}
	return shares
}

// newness is the factor in [0, 1] for what is not copied.
func newness(copied float64) float64 { return 1 - stretch(copied, copyFrom, wholeCopy) }

// CopiesAmong returns, for each memory with all of its parts, the index of the first earlier one that it copies, or -1
// where it copies none: 85 % or more of its words stand there, three or more in a row. A copy is not copied from in
// turn.
func CopiesAmong(memories [][]string) []int {
	found := MemoryTexts{runs: map[string][]int32{}}
	copied := make([]int, len(memories))
	for i, parts := range memories {
		copied[i] = -1
		text := strings.Join(parts, "\n")
		shares := found.shares(text)
		for _, m := range slices.Sorted(maps.Keys(shares)) {
			if shares[m] >= wholeCopy {
				copied[i] = int(m)
				break
			}
		}
		if copied[i] < 0 {
			found.add(int32(i), parts)
		}
	}
	return copied
}
