package localmodel

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
	split "github.com/seed-56a03226/oneiros/internal/sentence"
)

// line is one memory that a prompt shows.
type line struct {
	ref   string // r12; empty when it has none
	group int    // lines under one heading, from 0
	rule  bool   // the agent acts by it already: compared with, never recombined
	text  string
	v     []float32 // of the lexical embedder
}

// regularity is a claim that a prompt shows: one that a program counted, or one that was made before.
type regularity struct {
	check        dream.Check
	line         int
	hits, trials int // zero unless it was counted
	days         int
}

// material is what a prompt shows, taken apart.
type material struct {
	lines     []line
	clauses   []clause
	counted   []regularity
	made      []regularity
	hints     map[string]bool // stems of the theme, of the words that drift by and of what the agent cares about
	asks      bool            // a line without a reference is a question, whose words are the hints
	low, high float64         // how sure the prompt wants an answer to be; high is 0 when it does not say
	most      int             // items that the prompt asks for at most; 0 when it does not say
}

const (
	mostLines = 400  // of a prompt that are read; a dream never shows more
	mostWords = 6000 // of all lines together
)

var (
	bullet  = regexp.MustCompile(`^\s*[-*•]\s+(?:\[([A-Za-z]{0,3}\d{1,5})\]\s*)?(.*)$`)
	sureIn  = regexp.MustCompile(`(?i)sure[^.]*?\((0?\.\d+) to (0?\.\d+)\)`)
	atMost  = regexp.MustCompile(`(?i)\bat most (\d{1,2}) (\w+)`)
	hinting = regexp.MustCompile(`(?i)^(?:.*(?:theme|background|words)[^:]*:\s*(\S.*)|you care about (.*))$`)
	// counts follow a claim that a program counted (internal/prompt, Regularity).
	counts = regexp.MustCompile(`^(.*) \((\d+) of (\d+) times[^)]*; for (\d+) days\)$`)
)

// takenUp is a claim in the other words that this model has for it.
var takenUp = regexp.MustCompile(`^(?:Where|After) .+ is named, `)

// read takes a prompt apart: its bulleted lines, or every line when none is bulleted.
func read(prompt string) *material {
	m := &material{hints: map[string]bool{}}
	group, words := -1, 0
	fresh, rule := true, false
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
			ref:   ref,
			group: group,
			rule:  rule,
			text:  text,
			v:     Vector(text),
		})
	}
	var others []string
	for row := range strings.SplitSeq(prompt, "\n") {
		if found := bullet.FindStringSubmatch(row); found != nil {
			take(found[1], found[2])
			continue
		}
		row = strings.TrimSpace(row)
		if row != "" {
			others = append(others, row)
			fresh, rule = true, strings.Contains(strings.ToLower(row), "already act by")
			m.listen(row)
		}
	}
	if len(m.lines) == 0 {
		rule = false
		for _, row := range others {
			fresh = true
			take("", row)
		}
	}
	m.takeApart()
	return m
}

// listen reads what an instruction says of the theme, of how many items to write and of how sure to be.
func (m *material) listen(row string) {
	if found := sureIn.FindStringSubmatch(row); found != nil {
		m.low, _ = strconv.ParseFloat(found[1], 64)
		m.high, _ = strconv.ParseFloat(found[2], 64)
	}
	if found := atMost.FindStringSubmatch(row); found != nil && found[2] != "words" {
		m.most, _ = strconv.Atoi(found[1])
	}
	if found := hinting.FindStringSubmatch(row); found != nil {
		m.hint(wordsOf(found[1] + " " + found[2]))
	}
}

func (m *material) hint(ws []word) {
	for _, w := range ws {
		if w.root != "" {
			m.hints[w.root] = true
		}
	}
}

// takeApart finds the claims and the clauses of all lines. Rules and claims are not recombined.
func (m *material) takeApart() {
	var texts []sentence
	for i, l := range m.lines {
		if l.rule || m.claim(i) {
			continue
		}
		for _, s := range sentences(l.text) {
			s.line = i
			if !s.asks {
				texts = append(texts, s)
			} else if l.ref == "" {
				m.asks = true
				m.hint(s.words)
			}
		}
	}
	m.clauses = clausesOf(texts, shortest)
	if len(m.clauses) == 0 {
		m.clauses = clausesOf(texts, 1)
	}
}

// claim notes the claim that a line makes, if it is one of the sentences that a program reads.
func (m *material) claim(at int) bool {
	text := m.lines[at].text
	found := counts.FindStringSubmatch(text)
	if found == nil {
		check, ok := claims.Read(text)
		if ok {
			m.made = append(m.made, regularity{check: check, line: at})
		}
		return ok || takenUp.MatchString(text)
	}
	r := regularity{line: at}
	r.hits, _ = strconv.Atoi(found[2])
	r.trials, _ = strconv.Atoi(found[3])
	r.days, _ = strconv.Atoi(found[4])
	var ok bool
	r.check, ok = claims.Read(found[1])
	if ok {
		m.counted = append(m.counted, r)
	}
	return ok
}

// quote answers a question with the sentence that shares most words with it, the first of equals; nil when no question
// is asked or none shares a word.
func (m *material) quote() []string {
	if !m.asks {
		return nil
	}
	best, most := "", 0
	for _, l := range m.lines {
		for _, text := range split.Split(l.text) {
			shared := map[string]bool{}
			for _, w := range wordsOf(text) {
				shared[w.root] = m.hints[w.root]
			}
			n := 0
			for _, hinted := range shared {
				if hinted {
					n++
				}
			}
			if n > most && !strings.Contains(text, "?") {
				best, most = text, n
			}
		}
	}
	var pieces []string
	for i, text := range strings.Fields(best) {
		if i > 0 {
			text = " " + text
		}
		pieces = append(pieces, text)
	}
	return pieces
}

// hinted counts the words that the hints name.
func (m *material) hinted(ws []word) int {
	n := 0
	for _, w := range ws {
		if w.root != "" && m.hints[w.root] {
			n++
		}
	}
	return n
}

// near is how much two lines share, in [0, 1].
func (m *material) near(a, b int) float64 { return clamp(Closeness(m.lines[a].v, m.lines[b].v)) }
