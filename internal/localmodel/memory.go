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
	ref       string // r12; empty when it bears none
	group     int    // lines under one heading, from 0
	rule      bool   // a rule the agent already acts by: compared with, seldom dreamt of
	text      string
	sentences []sentence
	vec       []float32
	stems     []stemWeight // in order of the stem; rare ones weigh more; length 1
}

// memory is what a prompt shows, taken apart.
type memory struct {
	lines    []line
	clauses  []clause
	images   []image
	index    map[string][]spot // where each word stands, by its lower case
	hints    map[string]bool   // stems of the theme, the words that drift by and what the agent cares about
	low      float64           // how sure the prompt wants an answer to be, when it says so
	high     float64
	most     int // items the prompt asks for at most; 0 when it does not say
	caps     capitalised
	articled map[string]bool   // words seen after an article or a quality
	rows     map[int][]float64 // nearness of a line to all, once measured
	judging  bool              // the first line alone is shown to be judged
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
	m := &memory{
		index: map[string][]spot{}, hints: map[string]bool{}, rows: map[int][]float64{},
		articled: map[string]bool{},
	}
	group, fresh, found := -1, true, false
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
		m.lines = append(m.lines, line{
			ref:       ref,
			group:     group,
			rule:      found,
			text:      text,
			sentences: sentences(text),
			vec:       Vector(text),
		})
	}
	others := []string{}
	for row := range strings.SplitSeq(prompt, "\n") {
		if found := bullet.FindStringSubmatch(row); found != nil {
			take(found[1], found[2])
			continue
		}
		row = strings.TrimSpace(row)
		if row == "" {
			continue
		}
		others = append(others, row)
		fresh, found = true, strings.Contains(strings.ToLower(row), "already act by")
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

// stemWeight is how much a word says of its line.
type stemWeight struct {
	root   string
	weight float64
}

// weigh gives each line its words, those weighing more that few lines share.
func (m *memory) weigh() {
	seen := map[string]float64{}
	for i := range m.lines {
		own := map[string]bool{}
		for _, s := range m.lines[i].sentences {
			for _, w := range s.words {
				if w.root != "" && !own[w.root] {
					own[w.root] = true
					seen[w.root]++
				}
			}
		}
		for _, root := range slices.Sorted(maps.Keys(own)) {
			m.lines[i].stems = append(m.lines[i].stems, stemWeight{root: root})
		}
	}
	for _, l := range m.lines {
		norm := 0.0
		for i := range l.stems {
			l.stems[i].weight = math.Log(1 + float64(len(m.lines))/seen[l.stems[i].root])
			norm += l.stems[i].weight * l.stems[i].weight
		}
		for i := range l.stems {
			l.stems[i].weight /= math.Sqrt(norm)
		}
	}
}

// near is how much two lines share, in [0, 1]: their rare words, and a little of their spelling.
func (m *memory) near(a, b int) float64 { return m.nearTo(a)[b] }

// nearTo measures a line against all others once.
func (m *memory) nearTo(a int) []float64 {
	if row, ok := m.rows[a]; ok {
		return row
	}
	row := make([]float64, len(m.lines))
	for b := range row {
		row[b] = min(1,
			.8*overlap(m.lines[a].stems, m.lines[b].stems)+.2*max(0, Closeness(m.lines[a].vec, m.lines[b].vec)))
	}
	m.rows[a] = row
	return row
}

func overlap(a, b []stemWeight) float64 {
	sum := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].root < b[j].root:
			i++
		case a[i].root > b[j].root:
			j++
		default:
			sum += a[i].weight * b[j].weight
			i, j = i+1, j+1
		}
	}
	return sum
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
			w = strings.Trim(w, ".,;:!?'\"()")
			if w != "" && !hollow[w] {
				m.hints[stem(w)] = true
			}
		}
	}
}

// takeApart finds the clauses and images of every line.
func (m *memory) takeApart() {
	m.caps = capitals(m.lines)
	for i, l := range m.lines {
		for _, s := range l.sentences {
			m.caps.mark(s.words)
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
	m.images = slices.DeleteFunc(m.images, func(img image) bool { return img.guessed && !m.attested(img) })
	for i, c := range m.clauses {
		for at, w := range c.words {
			m.index[w.low] = append(m.index[w.low], spot{i, at})
		}
	}
}

// attested says whether the noun of an image without an article stands with one elsewhere.
func (m *memory) attested(img image) bool {
	if len(m.articled) == 0 {
		for _, l := range m.lines {
			for _, s := range l.sentences {
				for i := 1; i < len(s.words); i++ {
					if t := closed[s.words[i-1].low]; t == det || t == adj {
						m.articled[s.words[i].low] = true
					}
				}
			}
		}
	}
	return m.articled[img.words[len(img.words)-1].low]
}

// hinted counts the words of a clause or image that the theme names.
func (m *memory) hinted(ws []word) int {
	n := 0
	for _, w := range ws {
		if w.root != "" && m.hints[w.root] {
			n++
		}
	}
	return n
}

// shared is the rarest word that two lines have in common, as the first one writes it; empty when there is none.
func (m *memory) shared(a, b int) string {
	best, weight := "", 0.0
	for _, s := range m.lines[a].sentences {
		for _, w := range s.words {
			at, ok := slices.BinarySearchFunc(m.lines[b].stems, w.root,
				func(s stemWeight, root string) int { return strings.Compare(s.root, root) })
			if ok && w.root != "" && !vague[w.low] && m.lines[b].stems[at].weight > weight {
				best, weight = textOf(w), m.lines[b].stems[at].weight
			}
		}
	}
	return best
}
