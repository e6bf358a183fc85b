package localmodel

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// line is one memory the prompt shows.
type line struct {
	ref   string // r12; empty when it bears none
	group int    // lines under one heading, from 0
	known bool   // a rule the agent already acts by: compared with, seldom dreamt of
	text  string
	vec   []float32
	stems map[string]float64 // rare words weigh more; length 1
}

// memory is what a prompt shows, taken apart.
type memory struct {
	lines   []line
	clauses []clause
	images  []image
	index   map[string][]spot // where each word stands, by its lower case
	hints   map[string]bool   // stems of the theme, the words that drift by and what the agent cares about
	low     float64           // how sure the prompt wants an answer to be, when it says so
	high    float64
	most    int  // items the prompt asks for at most; 0 when it does not say
	judging bool // the first line alone is shown to be judged
}

// spot is a word's place: a clause and a position in it.
type spot struct{ clause, at int }

const (
	mostLines = 400  // of memory read; more is never shown by a dream
	mostWords = 6000 // of all lines together
)

var (
	bullet  = regexp.MustCompile(`^\s*[-*•]\s+(?:\[([A-Za-z]{0,3}\d{1,5})\]\s*)?(.*)$`)
	sureIn  = regexp.MustCompile(`(?i)sure[^.]*?\((0?\.\d+) to (0?\.\d+)\)`)
	atMost  = regexp.MustCompile(`(?i)\bat most (\d{1,2}) (\w+)`)
	hinting = regexp.MustCompile(`(?i)^(?:.*(?:theme|background|words)[^:]*:\s*(\S.*)|you care about (.*))$`)
)

// read takes a prompt apart: its bulleted lines, or every line when none is bulleted.
func read(prompt string) *memory {
	m := &memory{index: map[string][]spot{}, hints: map[string]bool{}}
	group, fresh, known := -1, true, false
	words := 0
	take := func(ref, text string) {
		n := len(strings.Fields(text))
		if n == 0 || len(m.lines) >= mostLines || words+n > mostWords {
			return
		}
		if fresh {
			group, fresh = group+1, false
		}
		words += n
		m.lines = append(m.lines, line{ref: ref, group: group, known: known, text: text, vec: Vector(text)})
	}
	others := []string{}
	for row := range strings.SplitSeq(prompt, "\n") {
		if found := bullet.FindStringSubmatch(row); found != nil {
			take(found[1], found[2])
			continue
		}
		if row = strings.TrimSpace(row); row == "" {
			continue
		}
		others = append(others, row)
		fresh, known = true, strings.Contains(strings.ToLower(row), "already act by")
		m.listen(row)
	}
	if len(m.lines) == 0 {
		for _, row := range others {
			fresh = true
			take("", row)
		}
	}
	m.judging = len(m.lines) > 1 && m.lines[1].group != m.lines[0].group && strings.HasPrefix(m.lines[0].ref, "t")
	m.weigh()
	m.takeApart()
	return m
}

// weigh gives each line its words, those weighing more that few lines share.
func (m *memory) weigh() {
	seen := map[string]float64{}
	for i := range m.lines {
		m.lines[i].stems = map[string]float64{}
		for _, w := range wordsOf(m.lines[i].text) {
			if root := stem(w.low); !hollow[w.low] && m.lines[i].stems[root] == 0 {
				m.lines[i].stems[root] = 1
				seen[root]++
			}
		}
	}
	for _, l := range m.lines {
		norm := 0.0
		for _, root := range slices.Sorted(maps.Keys(l.stems)) {
			l.stems[root] = math.Log(1 + float64(len(m.lines))/seen[root])
			norm += l.stems[root] * l.stems[root]
		}
		for root := range l.stems {
			l.stems[root] /= math.Sqrt(norm)
		}
	}
}

// near is how much two lines share, in [0, 1]: their rare words, and a little of their spelling.
func (m *memory) near(a, b int) float64 {
	sum := 0.0
	for _, root := range slices.Sorted(maps.Keys(m.lines[a].stems)) {
		sum += m.lines[a].stems[root] * m.lines[b].stems[root]
	}
	return min(1, .8*sum+.2*max(0, Closeness(m.lines[a].vec, m.lines[b].vec)))
}

// listen reads what an instruction says of the theme and of how sure to be.
func (m *memory) listen(row string) {
	if found := sureIn.FindStringSubmatch(row); found != nil {
		m.low, _ = strconv.ParseFloat(found[1], 64)
		m.high, _ = strconv.ParseFloat(found[2], 64)
	}
	if found := atMost.FindStringSubmatch(row); found != nil && found[2] != "words" {
		m.most, _ = strconv.Atoi(found[1])
	}
	if found := hinting.FindStringSubmatch(row); found != nil {
		for _, w := range strings.Fields(strings.ToLower(found[1] + " " + found[2])) {
			if w = strings.Trim(w, ".,;:!?'\"()"); w != "" && !hollow[w] {
				m.hints[stem(w)] = true
			}
		}
	}
}

// takeApart finds the clauses and images of every line.
func (m *memory) takeApart() {
	caps := capitals(m.lines)
	for i, l := range m.lines {
		for _, s := range sentences(l.text) {
			caps.mark(s.words)
			tagWords(s.words)
			m.images = append(m.images, imagesOf(s.words, i)...)
			if s.asks {
				continue
			}
			for _, part := range split(s.words) {
				if c, ok := clauseOf(part, i); ok {
					m.clauses = append(m.clauses, c)
				}
			}
		}
	}
	for i, c := range m.clauses {
		for at, w := range c.words {
			m.index[w.low] = append(m.index[w.low], spot{i, at})
		}
	}
}

// hinted counts the words of a clause or image that the theme names.
func (m *memory) hinted(ws []word) int {
	n := 0
	for _, w := range ws {
		if len(m.hints) > 0 && !hollow[w.low] && m.hints[stem(w.low)] {
			n++
		}
	}
	return n
}

// shared is the rarest word of content that two lines have in common; empty when there is none.
func (m *memory) shared(a, b int) string {
	best, weight := "", 0.0
	for _, w := range wordsOf(m.lines[a].text) {
		root := stem(w.low)
		if x := m.lines[b].stems[root]; x > weight && !vague[w.low] {
			best, weight = w.low, x
		}
	}
	return best
}
