// Package erasure finds what repeats memories that are to be forgotten or was made from them, and removes it.
package erasure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

// Entry is an item with all of its revisions.
type Entry struct {
	Item    dream.Item
	Earlier []dream.Item // earlier revisions
}

func (e Entry) revisions() []dream.Item { return append([]dream.Item{e.Item}, e.Earlier...) }

// Why is the reason that an item is erased.
type Why string

// The reasons.
const (
	Named   Why = "named"   // it was selected
	Derived Why = "derived" // everything it was made from is erased
	Copied  Why = "copied"  // without the copied words little or nothing of it would be left
	Traced  Why = "traced"  // a dream made it, in other words, from what is erased and from other memories
)

// Match is an item that an erasure affects.
type Match struct {
	Item   dream.Item
	Why    Why      // of an erased item
	Fields []string // of a scrubbed item: the fields that repeat what is forgotten, in any revision
}

// Plan lists the effects of an erasure.
type Plan struct {
	// Items to delete: copies first, selected items last. Until those are gone, an interrupted erasure can be planned
	// again from them.
	Erase    []Match
	Scrub    []Match      // kept without the words they repeat
	Left     []dream.Item // kept: dreams made them, in other words, from what is erased and from other memories
	Alike    []dream.Item // kept: somebody said them, and they share a common phrase with what is erased
	Absent   []string     // selected ids that do not exist
	Dreams   []string     // dreams that are not over: their recorded answers may repeat what is forgotten
	Scrubber *Scrubber    // nil: there are no words to look for

	removed map[string]bool // every id that is erased or was selected
}

// Request names what is to be forgotten.
type Request struct {
	IDs       []string // items, whether they still exist or not
	Texts     []string // also forget what repeats these texts
	Derived   bool     // also erase what dreams made of the items in other words
	ItemsOnly bool     // erase the items alone and keep what repeats them
}

// work is a plan being made.
type work struct {
	entries []Entry
	origins map[string][]string // origins of each entry, over all revisions
	why     map[string]Why      // reasons of the items that are erased
	ids     map[string]bool     // erased items, and selected ids that do not exist
}

// Find plans an erasure over all items of an agent.
func Find(entries []Entry, request Request) (Plan, error) {
	w, err := begin(entries)
	if err != nil {
		return Plan{}, err
	}
	existing := map[string]bool{}
	for _, e := range entries {
		existing[e.Item.Header().ID] = true
	}
	var p Plan
	for _, id := range request.IDs {
		if w.ids[id] {
			continue
		}
		w.ids[id] = true
		if existing[id] {
			w.why[id] = Named
		} else {
			p.Absent = append(p.Absent, id)
		}
	}
	left := w.traced(request)
	if request.ItemsOnly {
		p.Erase, p.Left, p.removed = w.erased(), w.items(left), w.ids
		return p, nil
	}
	if request.Derived {
		for id := range left {
			w.take(id, Traced)
		}
		left = nil
	}
	w.descend()
	s, err := w.scrubber(request.Texts)
	if err != nil {
		return Plan{}, err
	}
	p.Scrub, err = w.copies(s)
	if err != nil {
		return Plan{}, err
	}
	for id := range w.why {
		delete(left, id)
	}
	p.Alike = w.alike(s, p.Scrub)
	p.Erase, p.Left = w.erased(), w.items(left)
	p.Scrubber, p.Dreams, p.removed = s, w.unsettled(), w.ids
	return p, nil
}

// Again plans the erasure of what was written since a plan was made. more is false when nothing was found.
func Again(entries []Entry, before Plan) (p Plan, more bool, err error) {
	w, err := begin(entries)
	if err != nil {
		return p, false, err
	}
	for id := range before.removed {
		w.ids[id] = true
	}
	w.descend()
	p.Scrub, err = w.copies(before.Scrubber)
	if err != nil {
		return p, false, err
	}
	p.Erase, p.Scrubber = w.erased(), before.Scrubber
	p.Dreams, p.removed = w.unsettled(), w.ids
	return p, len(p.Erase)+len(p.Scrub) > 0, nil
}

// begin reads the origins of every entry.
func begin(entries []Entry) (work, error) {
	w := work{entries: entries, origins: map[string][]string{}, why: map[string]Why{}, ids: map[string]bool{}}
	for _, e := range entries {
		id := e.Item.Header().ID
		for _, item := range e.revisions() {
			origins, err := past.Origins(item)
			if err != nil {
				return w, err
			}
			w.origins[id] = append(w.origins[id], origins...)
		}
	}
	return w, nil
}

func (w *work) take(id string, why Why) {
	w.why[id], w.ids[id] = why, true
}

// traced finds what dreams made from the selected items, directly or through other texts (see past.Descend).
func (w *work) traced(request Request) map[string]bool {
	var texts []past.Text
	for _, e := range w.entries {
		if h := e.Item.Header(); h.Dream != "" && h.Kind != dream.KindRecord {
			texts = append(texts, past.Text{ID: h.ID, Dream: h.Dream, Origins: w.origins[h.ID]})
		}
	}
	marked := past.Descend(texts, request.IDs...)
	for id := range w.ids {
		delete(marked, id)
	}
	return marked
}

// descend adds the items that were made only from erased items, and items that import derived from memories that were
// all forgotten earlier.
func (w *work) descend() {
	for before := -1; before < len(w.ids); {
		before = len(w.ids)
		for _, e := range w.entries {
			if h := e.Item.Header(); !w.ids[h.ID] && w.groundless(e.Item) {
				w.take(h.ID, Derived)
			}
		}
	}
}

// groundless reports whether everything that an item was made from is erased.
func (w *work) groundless(item dream.Item) bool {
	h := item.Header()
	origins := w.origins[h.ID]
	switch {
	case h.Kind == dream.KindRecord || h.Kind == dream.KindEpisode && h.Dream == "":
		return false
	case h.Dream == "" && len(h.Sources) == 0:
		// Its sources were forgotten earlier.
		return h.Kind == dream.KindSemantic && slices.Contains(h.Derived, "content")
	case h.Dream == "":
		origins = h.Sources
	}
	return len(origins) > 0 && !slices.ContainsFunc(origins, func(id string) bool { return !w.ids[id] })
}

// scrubber collects the words to recognise: those of the selected items, and the given texts.
func (w *work) scrubber(texts []string) (*Scrubber, error) {
	s := &Scrubber{words: newWording(), sessions: map[string]bool{}}
	for _, text := range texts {
		s.words.learn(text, false)
	}
	for _, e := range w.entries {
		if w.why[e.Item.Header().ID] != Named {
			continue
		}
		for _, item := range e.revisions() {
			if err := s.learn(item); err != nil {
				return nil, err
			}
		}
	}
	var stays [][]string
	for _, e := range w.entries {
		if w.ids[e.Item.Header().ID] || s.answers(e.Item) {
			continue
		}
		var texts []string
		for _, item := range e.revisions() {
			own, err := w.ownWords(item)
			if err != nil {
				return nil, err
			}
			texts = append(texts, own...)
		}
		stays = append(stays, texts)
	}
	s.words.compare(stays)
	return s, nil
}

func (s *Scrubber) learn(item dream.Item) error {
	h := item.Header()
	if session := item.Marks().Session; session != "" && h.Kind == dream.KindEpisode && h.Dream == "" {
		s.sessions[session] = true
	}
	fields, err := fieldsOf(item)
	if err != nil {
		return fmt.Errorf("read the words of %s: %w", h.ID, err)
	}
	for _, f := range fields {
		if h.Kind == dream.KindEpisode && slices.Contains(h.Derived, f.name) && f.name != "content" {
			continue // it quotes other memories, which stay
		}
		s.words.learn(f.text, !isOriginal(item))
	}
	return nil
}

// ownWords returns the texts of an item that stays which do not come from what is forgotten: what somebody said, and
// what import wrote around its quotations.
func (w *work) ownWords(item dream.Item) ([]string, error) {
	h := item.Header()
	if h.Dream != "" || h.Kind == dream.KindRecord {
		return nil, nil
	}
	if !isOriginal(item) && slices.ContainsFunc(w.origins[h.ID], func(id string) bool { return w.ids[id] }) {
		return nil, nil
	}
	fields, err := fieldsOf(item)
	if err != nil {
		return nil, fmt.Errorf("read the words of %s: %w", h.ID, err)
	}
	var out []string
	for _, f := range fields {
		if slices.Contains(h.Derived, f.name) {
			out = append(out, unquoted(f.text))
		} else {
			out = append(out, f.text)
		}
	}
	return out, nil
}

// unquoted returns the text outside of the quotation marks that import writes.
func unquoted(text string) string {
	var b strings.Builder
	depth := 0
	for _, r := range text {
		switch {
		case r == '“':
			depth++
		case r == '”' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// copies finds the items that repeat what is forgotten, and erases those that would have little text left.
func (w *work) copies(s *Scrubber) ([]Match, error) {
	found := map[string][]string{}
	for _, e := range w.entries {
		h := e.Item.Header()
		if w.ids[h.ID] {
			continue
		}
		for i, item := range e.revisions() {
			fields, err := fieldsOf(item)
			if err != nil {
				return nil, fmt.Errorf("read the words of %s: %w", h.ID, err)
			}
			for _, f := range fields {
				v := s.voiceOf(item, f.name)
				if _, marked := s.marked(f.text, v); !slices.Contains(marked, true) {
					continue
				}
				found[h.ID] = append(found[h.ID], f.name)
				if i == 0 && h.Kind != dream.KindRecord && f.name == mainField(h.Kind) && s.empties(f.text, v) {
					w.take(h.ID, Copied)
				}
			}
		}
	}
	w.descend()
	var out []Match
	for _, e := range w.entries {
		id := e.Item.Header().ID
		if fields := found[id]; !w.ids[id] && len(fields) > 0 {
			slices.Sort(fields)
			out = append(out, Match{Item: e.Item, Fields: slices.Compact(fields)})
		}
	}
	return out, nil
}

// alike lists what people said that shares a phrase with what is forgotten and is kept.
func (w *work) alike(s *Scrubber, scrubbed []Match) []dream.Item {
	touched := map[string]bool{}
	for _, f := range scrubbed {
		touched[f.Item.Header().ID] = true
	}
	var out []dream.Item
	for _, e := range w.entries {
		id := e.Item.Header().ID
		if !w.ids[id] && !touched[id] && isOriginal(e.Item) && s.words.alike(e.Item.Text()) {
			out = append(out, e.Item)
		}
	}
	return out
}

// erased lists the items to erase, the selected ones last.
func (w *work) erased() []Match {
	var before, named []Match
	for _, e := range w.entries {
		switch why := w.why[e.Item.Header().ID]; why {
		case "":
		case Named:
			named = append(named, Match{Item: e.Item, Why: why})
		default:
			before = append(before, Match{Item: e.Item, Why: why})
		}
	}
	return append(before, named...)
}

func (w *work) items(ids map[string]bool) []dream.Item {
	var out []dream.Item
	for _, e := range w.entries {
		if ids[e.Item.Header().ID] {
			out = append(out, e.Item)
		}
	}
	return out
}

// unsettled lists the dreams that are running or may be resumed.
func (w *work) unsettled() []string {
	var out []string
	for _, e := range w.entries {
		if n, ok := e.Item.(*dream.Record); ok && n.Unsettled() {
			out = append(out, n.ID)
		}
	}
	return out
}
