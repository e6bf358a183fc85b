package hypnagogia

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// WordOrder knows which sorts of words follow each other in an agent's memory, in whatever language that is. A frequent
// word is a sort of its own, any other belongs to the sort of its ending. The zero value knows nothing.
type WordOrder struct {
	frequent map[string]int
	endings  map[string]int
	sorts    int
	follow   []float64 // of each two, see follows
	lead     float64   // of the memory's own sentences, see leadOf
	words    map[string]bool
}

// The sorts of words, and when their order is known; our choice, made on the development texts of testsuite/observing.
const (
	mostFrequent   = 90
	leastFrequent  = 3 // uses
	mostEndings    = 40
	leastEnding    = 6   // uses
	ending         = 2   // letters
	leastOrder     = 600 // words of memory; less teaches no order
	leastOrdered   = 6   // words of a text; less have none
	pairPrior      = 4   // as many unseen pairs as if they came by chance
	mostOrderTexts = 400
)

// The two sorts that every memory has.
const (
	border = iota // of a sentence
	other
	firstSort
)

// OrderOf learns the order of words from the texts of a memory.
func OrderOf(texts []string) WordOrder {
	var sentences [][]string
	all := 0
	for _, text := range texts[:min(len(texts), mostOrderTexts)] {
		for _, s := range sentence.Split(flatten(text)) {
			if w := orderWords(s); len(w) > 0 {
				sentences = append(sentences, w)
				all += len(w)
			}
		}
	}
	if all < leastOrder {
		return WordOrder{}
	}
	// A half of the memory is judged by the other, so that no sentence vouches for itself.
	var odd, even [][]string
	for i, s := range sentences {
		if i%2 == 0 {
			even = append(even, s)
		} else {
			odd = append(odd, s)
		}
	}
	sum, n := 0.0, 0.0
	for _, half := range [][2][][]string{{odd, even}, {even, odd}} {
		o := sortsOf(half[0])
		o.count(half[0])
		for _, s := range half[1] {
			if len(s) < leastOrdered {
				continue
			}
			lead, weight := o.leadOf(s)
			sum, n = sum+lead*weight, n+weight
		}
	}
	o := sortsOf(sentences)
	o.count(sentences)
	if n > 0 {
		o.lead = sum / n
	}
	return o
}

// orderWords are the words of a text in lower case; in scripts without spaces each character is one.
func orderWords(text string) []string {
	var out []string
	for _, token := range tokenize(text) {
		out = append(out, words(token)...)
	}
	return out
}

func sortsOf(sentences [][]string) WordOrder {
	uses, ends := map[string]int{}, map[string]int{}
	for _, s := range sentences {
		for _, w := range s {
			uses[w]++
		}
	}
	o := WordOrder{
		frequent: most(uses, mostFrequent, leastFrequent), words: map[string]bool{},
	}
	for w, n := range uses {
		o.words[w] = true
		if _, found := o.frequent[w]; !found {
			ends[endOf(w)] += n
		}
	}
	o.endings = most(ends, mostEndings, leastEnding)
	o.sorts = firstSort + len(o.frequent) + len(o.endings)
	return o
}

// most numbers the most used of words, ties by the words themselves.
func most(uses map[string]int, limit, least int) map[string]int {
	ranked := slices.SortedFunc(maps.Keys(uses), func(a, b string) int {
		return cmp.Or(cmp.Compare(uses[b], uses[a]), strings.Compare(a, b))
	})
	found := map[string]int{}
	for _, w := range ranked[:min(len(ranked), limit)] {
		if uses[w] >= least {
			found[w] = len(found)
		}
	}
	return found
}

// endOf is what a word ends in, with a mark for numbers.
func endOf(w string) string {
	if r, _ := utf8.DecodeRuneInString(w); unicode.IsDigit(r) {
		return "#"
	}
	letters := []rune(w)
	if len(letters) <= ending+1 {
		return "-"
	}
	return string(letters[len(letters)-ending:])
}

func (o *WordOrder) sort(w string) int {
	if n, found := o.frequent[w]; found {
		return firstSort + n
	}
	if n, found := o.endings[endOf(w)]; found {
		return firstSort + len(o.frequent) + n
	}
	return other
}

// count counts which sorts stand beside each other in sentences.
func (o *WordOrder) count(sentences [][]string) {
	pairs, total := make([]float64, o.sorts*o.sorts), 0.0
	first, second := make([]float64, o.sorts), make([]float64, o.sorts)
	for _, s := range sentences {
		before := border
		for i := 0; i <= len(s); i++ {
			now := border
			if i < len(s) {
				now = o.sort(s[i])
			}
			pairs[before*o.sorts+now]++
			first[before]++
			second[now]++
			total++
			before = now
		}
	}
	o.follow = make([]float64, len(pairs))
	for before := range first {
		for now := range second {
			chance := (second[now] + 1) / (total + float64(o.sorts))
			pair := pairs[before*o.sorts+now]
			o.follow[before*o.sorts+now] = math.Log((pair/chance + pairPrior) / (first[before] + pairPrior))
		}
	}
}

// follows is how much likelier one sort is after another than anywhere, as a natural logarithm.
func (o *WordOrder) follows(before, now int) float64 { return o.follow[before*o.sorts+now] }

// leadOf is how far the words of a text, in the order in which they stand, lie above the mean of all orders of the same
// words, in standard deviations of a single pair. weight is the number of pairs. Shuffled words have a lead of 0 in the
// mean.
func (o *WordOrder) leadOf(text []string) (lead, weight float64) {
	sorts := []int{border}
	for _, w := range text {
		sorts = append(sorts, o.sort(w))
	}
	sum, squares, n := 0.0, 0.0, 0.0
	for i, a := range sorts {
		for j, b := range sorts {
			if j == 0 || i == j {
				continue
			}
			v := o.follows(a, b)
			sum, squares, n = sum+v, squares+v*v, n+1
		}
	}
	usual := sum / n
	spread := math.Sqrt(math.Max(0, squares/n-usual*usual))
	if spread == 0 {
		return 0, 0
	}
	stood := 0.0
	for i, b := range sorts[1:] {
		stood += o.follows(sorts[i], b)
	}
	weight = float64(len(sorts) - 1)
	return (stood/weight - usual) / spread, weight
}

// How the order of a text counts; our choice, made on the development texts of testsuite/observing and on those of a
// small model. A text of words that the memory does not hold stands in half the order of the memory's own: of 98 texts
// of that model .6 in the median, of 246 short ones of another subject .5.
const (
	foreignOrder = .5
	judgedOdds   = 20 // how often a judge who understands a text is right, against once that it is not
)

// Of measures the order of a text's words; nil when memory or text are too short to tell.
func (o WordOrder) Of(text string) *dream.WordOrder {
	w := orderWords(text)
	if o.lead <= 0 || len(w) < leastOrdered {
		return nil
	}
	lead, weight := o.leadOf(w)
	m := &dream.WordOrder{
		Deviations: lead * math.Sqrt(weight),
		Expected:   o.lead * math.Sqrt(weight) * (foreignOrder + (1-foreignOrder)*o.known(w)),
	}
	// Both are taken for normal with a deviation of 1, around 0 where the words are shuffled.
	m.Share = math.Min(1, math.Exp(m.Expected*(m.Deviations-m.Expected/2)))
	return m
}

// ShareJudged is the factor on the coherence of a text that a judge understands: it takes more to overrule the judge.
func ShareJudged(o *dream.WordOrder) float64 {
	return math.Min(1, judgedOdds*o.Share)
}

// known is the share of words that the memory holds.
func (o WordOrder) known(text []string) float64 {
	n := 0.0
	for _, w := range text {
		if o.words[w] {
			n++
		}
	}
	return n / float64(len(text))
}
