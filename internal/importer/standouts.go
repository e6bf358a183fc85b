package importer

import (
	"sort"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// standout is an episode that knowledge may fall back on.
type standout struct {
	salience float64
	id       string
	trace    trace
	words    string
}

// keepStandout keeps the most salient episodes, for sources so uniform that neither subjects nor statements fill the list.
func (k *knowledge) keepStandout(ep *dream.Episode, text string) {
	s := standout{salience: ep.Salience, id: ep.ID}
	if len(k.standouts) == 2*enough && !s.above(k.standouts[len(k.standouts)-1]) {
		return
	}
	s.words = passage(text, mostStated)
	for _, have := range k.standouts {
		if have.words == s.words {
			return
		}
	}
	s.trace.note(ep)
	at := sort.Search(len(k.standouts), func(i int) bool { return s.above(k.standouts[i]) })
	k.standouts = append(k.standouts, standout{})
	copy(k.standouts[at+1:], k.standouts[at:])
	k.standouts[at] = s
	k.standouts = k.standouts[:min(len(k.standouts), 2*enough)]
}

func (s standout) above(o standout) bool {
	if s.salience != o.salience {
		return s.salience > o.salience
	}
	return s.id < o.id
}

// standoutLore words what is left when everything else is told.
func (k *knowledge) standoutLore(used map[string]bool) []lore {
	var out []lore
	for i := range k.standouts {
		s := &k.standouts[i]
		if !used[s.words] {
			out = append(out, lore{content: sentence("one moment stood out: " + quoted(s.words)), weight: s.salience, trace: &s.trace, words: s.words})
		}
	}
	return out
}
