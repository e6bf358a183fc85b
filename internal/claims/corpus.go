package claims

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// Text is an episode in its own words.
type Text struct {
	ID      string
	At      time.Time
	Content string
}

// corpus is what episodes name, for counting.
type corpus struct {
	episodes []Episode // oldest first
	at       []int64   // when each of them was, in microseconds
	names    []*name   // that are compared with each other
	ofTerm   map[string]*name

	factorials []float64 // logarithms, up to the number of episodes
}

// name is a word that episodes hold.
type name struct {
	term  string
	says  string         // the form that checks use: the commonest
	forms map[string]int // as written
	in    []int          // episodes that hold it, in order
	days  int            // on which it is held
}

// takeApart reads episodes, without copies.
func takeApart(texts []Text) *corpus {
	c := &corpus{ofTerm: map[string]*name{}}
	var found copyFinder
	reader, single := words.NewReader(strings.Clone), map[string]string{}
	for _, t := range texts {
		terms, _ := reader.Of(t.Content)
		e, i := Episode{ID: t.ID, At: t.At, Terms: slices.Clone(terms)}, len(c.episodes)
		if found.isCopy(c.episodes, e) {
			continue
		}
		c.episodes, c.at = append(c.episodes, e), append(c.at, t.At.UnixMicro())
		for _, term := range terms {
			n := c.ofTerm[term]
			if n == nil {
				n = &name{term: term, forms: map[string]int{}}
				c.ofTerm[term] = n
			}
			if len(n.in) == 0 || n.in[len(n.in)-1] != i {
				n.in = append(n.in, i)
			}
		}
		for field := range strings.FieldsSeq(t.Content) {
			form := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			term, read := single[form]
			if !read {
				if of := NameOf(form); len(of) == 1 && len(form) <= LongestName {
					term = of[0]
				}
				single[form] = term
			}
			if n := c.ofTerm[term]; n != nil {
				n.forms[form]++
			}
		}
	}
	c.factorials = make([]float64, len(texts)+1)
	for n := 2; n < len(c.factorials); n++ {
		c.factorials[n] = c.factorials[n-1] + math.Log(float64(n))
	}
	c.choose()
	return c
}

// choose selects the names that are compared: those that come up on several days and are no matter of course, the ones
// that come up on the most days.
func (c *corpus) choose() {
	for _, n := range c.ofTerm {
		for i, at := range n.in {
			if i == 0 || c.day(at) != c.day(n.in[i-1]) {
				n.days++
			}
		}
		if n.days < leastDays || len(n.forms) == 0 || float64(len(n.in)) > mostShare*float64(len(c.episodes)) {
			continue
		}
		n.says = slices.MaxFunc(slices.Sorted(maps.Keys(n.forms)), func(a, b string) int {
			return cmp.Compare(n.forms[a], n.forms[b])
		})
		if len([]rune(n.term)) > 2 && slices.Equal(NameOf(n.says), Name{n.term}) {
			c.names = append(c.names, n)
		}
	}
	slices.SortFunc(c.names, func(a, b *name) int { return cmp.Or(b.days-a.days, cmp.Compare(a.term, b.term)) })
	c.names = c.names[:min(len(c.names), mostNames)]
}

// day is the number of the day of an episode, in UTC.
func (c *corpus) day(i int) int64 { return c.episodes[i].At.Unix() / int64(day/time.Second) }

func (c *corpus) last() time.Time { return c.episodes[len(c.episodes)-1].At }

func (c *corpus) span() time.Duration { return c.last().Sub(c.episodes[0].At) }

// decided are the episodes whose wait has ended, with enough episodes in it for silence to mean something.
func (c *corpus) decided(wait time.Duration) set {
	s, covered := newSet(len(c.episodes)), Coverage(c.episodes)
	for i, e := range c.episodes {
		until := e.At.Add(wait)
		if wait == 0 || !until.After(c.last()) && covered(e.At, until) {
			s.add(i)
		}
	}
	return s
}

// followedBy are the episodes after which a name is held before a wait is over, if the wait has ended; without a wait,
// those that hold it.
func (c *corpus) followedBy(n *name, wait time.Duration) set {
	s, next := newSet(len(c.episodes)), 0
	if wait == 0 {
		for _, i := range n.in {
			s.add(i)
		}
		return s
	}
	last := c.at[len(c.at)-1]
	for i, at := range c.at {
		for next < len(n.in) && c.at[n.in[next]] <= at {
			next++
		}
		until := at + wait.Microseconds()
		if next < len(n.in) && until <= last && c.at[n.in[next]] <= until {
			s.add(i)
		}
	}
	return s
}

// starts are the episodes that hold a name and begin a trial: all of them without a wait, else the first, and each one
// behind the wait of the one before.
func (c *corpus) starts(n *name, wait time.Duration) set {
	s := newSet(len(c.episodes))
	for _, i := range n.in {
		s.add(i)
	}
	return c.apart(s, wait)
}

// elsewhere are the episodes that neither hold a name nor follow one that does before a wait is over, so far apart that
// their own waits do not overlap.
func (c *corpus) elsewhere(n *name, wait time.Duration) set {
	s, next := newSet(len(c.episodes)), 0
	for i, at := range c.at {
		for next < len(n.in) && n.in[next] <= i {
			next++
		}
		if next == 0 || n.in[next-1] != i && at > c.at[n.in[next-1]]+wait.Microseconds() {
			s.add(i)
		}
	}
	return c.apart(s, wait)
}

// apart keeps the episodes of a set that lie further apart than a wait.
func (c *corpus) apart(s set, wait time.Duration) set {
	if wait == 0 {
		return s
	}
	kept, free := newSet(len(c.episodes)), int64(math.MinInt64)
	for i, at := range c.at {
		if s.has(i) && at > free {
			kept.add(i)
			free = at + wait.Microseconds()
		}
	}
	return kept
}

// days counts the days of the episodes of a set.
func (c *corpus) days(s set) int {
	days, last := 0, int64(0)
	for i := range c.episodes {
		if s.has(i) && (days == 0 || c.day(i) != last) {
			days, last = days+1, c.day(i)
		}
	}
	return days
}

// newest are the ids of the newest episodes of a set, four at most.
func (c *corpus) newest(s set) []string {
	var ids []string
	for i := len(c.episodes) - 1; i >= 0 && len(ids) < 4; i-- {
		if s.has(i) {
			ids = append(ids, c.episodes[i].ID)
		}
	}
	return ids
}

// oneName says whether the words of a check are two words of one name, such as "Grand" and "Canyon": most episodes that
// hold either hold both, next to each other.
func (c *corpus) oneName(check dream.Check) bool {
	a, b := c.ofTerm[NameOf(check.When)[0]], c.ofTerm[NameOf(check.Then)[0]]
	beside := 0
	for _, i := range a.in {
		terms := c.episodes[i].Terms
		for at := 1; at < len(terms); at++ {
			if terms[at-1] == a.term && terms[at] == b.term || terms[at-1] == b.term && terms[at] == a.term {
				beside++
				break
			}
		}
	}
	return 4*beside >= 3*max(len(a.in), len(b.in))
}

// set is a set of episodes by number.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

func (s set) and(o set) set {
	made := make(set, len(s))
	for i := range s {
		made[i] = s[i] & o[i]
	}
	return made
}

func ones(w uint64) int { return bits.OnesCount64(w) }
