package derive

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// How much knowledge is derived. A source that states enough of its own gets none added.
const (
	// Plenty is how many entries of its own make a source that gets none added.
	Plenty     = 20  // what a dream reads near demurrage
	mostLore   = 120 // entries of one import
	perEpisode = 4   // episodes for one entry, in large imports
	keptTraces = 8   // newest source episodes that an entry names
	roomTopics = 60_000
	roomQuotes = 4000 // statements with the most weight from which entries are made
)

// trace is what is counted of a recurring subject.
type trace struct {
	count   int // episodes
	last    time.Time
	sources []string // the newest keptTraces
	affect  mood.PAD // sum
	taint   dream.Taint
}

// note counts an episode once.
func (t *trace) note(ep *dream.Episode) bool {
	if n := len(t.sources); n > 0 && t.sources[n-1] == ep.ID {
		return false
	}
	t.count++
	if ep.At.After(t.last) {
		t.last = ep.At
	}
	if len(t.sources) == keptTraces {
		t.sources = t.sources[1:]
	}
	t.sources = append(t.sources, ep.ID)
	t.affect.Pleasure += ep.Affect.Pleasure
	t.affect.Arousal += ep.Affect.Arousal
	t.affect.Dominance += ep.Affect.Dominance
	if t.taint == "" {
		t.taint = ep.Taint
	}
	t.taint = dream.LeastTrusted(t.taint, ep.Taint)
	return true
}

// Knowledge collects what the episodes of an import repeat, and what their speakers say about themselves. It is
// deterministic and bounded: when it is full it drops what occurred only once.
type Knowledge struct {
	agent      string
	topics     map[uint64]*topic
	statements map[uint64]*statement
	speakers   map[string]int
	episodes   int
	last       time.Time
	tokens     []word
	spoken     []Turn
}

// NewKnowledge has taken in nothing.
func NewKnowledge(agent string) *Knowledge {
	return &Knowledge{
		agent: agent, topics: map[uint64]*topic{}, statements: map[uint64]*statement{},
		speakers: map[string]int{},
	}
}

// Add takes in one finished episode. Items of an export are left alone: their knowledge is exported beside them.
func (k *Knowledge) Add(ep *dream.Episode, d *Draft) {
	if d.Exact {
		return
	}
	k.episodes++
	if ep.At.After(k.last) {
		k.last = ep.At
	}
	k.spoken = d.voices(k.spoken[:0])
	for _, v := range k.spoken {
		if d.Turns == nil {
			v.Speaker = "" // a note with a speaker may be about them as well as by them
		}
		if len(k.speakers) < 500 {
			k.speakers[v.Speaker]++
		}
		k.tokens = words(unwrapped(v.Text), k.tokens[:0])
		k.addTopics(ep, v.Speaker)
		k.addStatements(ep, v, d.Scene)
	}
	forgetOnce(k.topics, func(t *topic) int { return t.count })
	forgetOnce(k.statements, func(s *statement) int { return s.count })
}

// forgetOnce halves a full map, so that making room stays rare. Which entries go depends only on their counts.
func forgetOnce[T any](m map[uint64]*T, count func(*T) int) {
	if len(m) <= roomTopics {
		return
	}
	for least := 1; len(m) > roomTopics/2; least *= 2 {
		for key, entry := range m {
			if count(entry) <= least {
				delete(m, key)
			}
		}
	}
}

// Aging says how the strength of derived knowledge follows from its age.
type Aging struct {
	Now       time.Time
	HalfLife  time.Duration
	FadeBelow float64                                        // entries begin above it
	Due       func(at time.Time, strength float64) time.Time // when an entry fades; nil leaves it without a due time
}

// candidate is a possible entry.
type candidate struct {
	content string
	weight  float64
	trace   *trace
	speaker string
	telling bool   // a subject that is meaningful without an illustration
	about   string // of a subject: what to look for in statements, lower case
	words   string // of a statement: its text
}

// Entries are the knowledge of the import: half subjects, half statements where both are plenty, by weight. A
// quotation of only one episode is left out, because the episode is there.
func (k *Knowledge) Entries(a Aging) []*dream.Semantic {
	room := min(mostLore, max(k.episodes/perEpisode, min(k.episodes/2, Plenty+4)))
	topics, statements := k.topicCandidates(), k.statementCandidates()
	topics, statements = topics[:min(len(topics), 3*mostLore)], statements[:min(len(statements), roomQuotes)]
	used := map[string]bool{}
	shown, bare := illustrate(topics, statements, used, room/2)
	chosen := shown
	statements = slices.DeleteFunc(statements, func(l candidate) bool { return l.trace.count == 1 })
	for _, l := range append(statements, bare...) {
		if len(chosen) < room && (l.words == "" || !used[l.words]) {
			used[l.words] = true
			chosen = append(chosen, l)
		}
	}
	out := make([]*dream.Semantic, len(chosen))
	for i, l := range chosen {
		out[i] = k.entry(l, a)
	}
	return out
}

// illustrate adds to each subject the weightiest statement of the same speaker about it, each statement once, until
// it has n subjects. Names and pairs of words are meaningful without one; other subjects without an illustration come
// last.
func illustrate(topics, statements []candidate, used map[string]bool, n int) (shown, bare []candidate) {
	lower := make([]string, len(statements))
	for i, s := range statements {
		lower[i] = strings.ToLower(s.words)
	}
	for _, t := range topics {
		if len(shown) == n {
			t.content = asSentence(t.content)
			bare = append(bare, t)
			continue
		}
		text := ""
		for i, s := range statements {
			if s.speaker == t.speaker && mentions(lower[i], t.about) && !used[s.words] {
				text = s.words
				break
			}
		}
		switch {
		case text != "":
			used[text] = true
			t.content = asSentence(t.content + ": " + Quoted(text))
			shown = append(shown, t)
		case t.telling:
			t.content = asSentence(t.content)
			shown = append(shown, t)
		default:
			t.content = asSentence(t.content)
			bare = append(bare, t)
		}
	}
	return shown, bare
}

// mentions says whether a text has a subject as separate words, plural included; both are in lower case.
func mentions(text, subject string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], subject)
		if i < 0 {
			return false
		}
		from += i + len(subject)
		before, _ := utf8.DecodeLastRuneInString(text[:from-len(subject)])
		after, _ := utf8.DecodeRuneInString(strings.TrimPrefix(text[from:], "s"))
		if !IsWordRune(before) && !IsWordRune(after) {
			return true
		}
	}
}

// entry makes a semantic entry of a candidate. Its strength grows with how often it occurred and halves with every
// half-life without an occurrence before the end of the import; it begins a little above the threshold, so that the
// oldest are near their demurrage, not past it.
func (k *Knowledge) entry(l candidate, a Aging) *dream.Semantic {
	t := l.trace
	floor := a.FadeBelow + .02
	often := 1 - math.Pow(2, -float64(t.count)/4)
	age := math.Pow(2, -float64(k.last.Sub(t.last))/float64(a.HalfLife))
	n := float64(t.count)
	s := &dream.Semantic{
		Head: dream.Head{
			ID:      ContentID("se_", k.agent, l.content),
			Agent:   k.agent,
			Kind:    dream.KindSemantic,
			At:      a.Now,
			State:   dream.Live,
			Taint:   t.taint,
			Sources: append([]string(nil), t.sources...),
			Derived: []string{"content", "strength", "affect"},
		},
		Content:  l.content,
		Strength: round(min(1, floor+max(0, .95-floor)*often*age)),
		Affect: mood.PAD{
			Pleasure: bound(t.affect.Pleasure / n), Arousal: bound(t.affect.Arousal / n),
			Dominance: bound(t.affect.Dominance / n),
		},
	}
	if a.Due != nil {
		s.Due, s.Derived = a.Due(s.At, s.Strength).UTC(), append(s.Derived, "due")
	}
	return s
}

func heaviest(all []candidate) []candidate {
	sort.Slice(all, func(i, j int) bool {
		if all[i].weight != all[j].weight {
			return all[i].weight > all[j].weight
		}
		return all[i].content < all[j].content
	})
	return all
}

// isPast says whether something has not occurred in the last third of the time from its kind's first occurrence to
// the end of the import.
func (k *Knowledge) isPast(t *trace, first time.Time) bool {
	return k.last.Sub(t.last) > k.last.Sub(first)/3 && k.last.Sub(t.last) > 30*24*time.Hour
}
