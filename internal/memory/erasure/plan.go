// Package erasure finds what repeats or was made from memories that are to be forgotten, and takes it out.
package erasure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
)

// Entry is an item in all of its revisions.
type Entry struct {
	Item    dream.Item
	Earlier []dream.Item // older revisions
}

func (e Entry) revisions() []dream.Item { return append([]dream.Item{e.Item}, e.Earlier...) }

// Why says why an item is erased.
type Why string

// The reasons.
const (
	Named   Why = "named"   // it was asked for
	Derived Why = "derived" // everything it was made from is erased
	Copied  Why = "copied"  // without what it repeats it would say nothing, or little
	Traced  Why = "traced"  // a dream made it of what is erased and of other things, in words of its own
)

// Found is an item that an erasure concerns.
type Found struct {
	Item   dream.Item
	Why    Why      // of one that is erased
	Fields []string // of one that is scrubbed: where it repeats what is forgotten, in any revision
}

// Plan is what an erasure does.
type Plan struct {
	Erase    []Found      // copies first and what was asked for last: until then the rest can be found again
	Scrub    []Found      // stay without what they repeat
	Left     []dream.Item // stay: dreams made them of what is erased and of other things, in words of their own
	Alike    []dream.Item // stay: somebody said them, and they share a phrase that many use
	Absent   []string     // ids asked for that name nothing
	Dreams   []string     // dreams that are not over: the answers kept for them may repeat it
	Scrubber *Scrubber    // nil: there are no words to look for

	gone map[string]bool // every id that is erased or was asked for
}

// Request is what is to be forgotten.
type Request struct {
	IDs     []string // items, whether they are still there or not
	Texts   []string // what repeats these, although no item is named
	Derived bool     // what dreams made of the items in words of their own is erased, too
	Bare    bool     // only the items themselves; what repeats them is left as it is
}

// work is a plan in the making.
type work struct {
	entries []Entry
	origins map[string][]string // of each entry, over all revisions
	why     map[string]Why      // of what is erased
	ids     map[string]bool     // what is erased, and what was asked for and is not there
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
	if request.Bare {
		p.Erase, p.Left, p.gone = w.erased(), w.items(left), w.ids
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
	p.Erase, p.Left, p.Scrubber, p.Dreams, p.gone = w.erased(), w.items(left), s, w.unsettled(), w.ids
	return p, nil
}

// Again looks for what was written since a plan was made, and plans to erase that. It finds nothing new when more is
// false.
func Again(entries []Entry, before Plan) (p Plan, more bool, err error) {
	w, err := begin(entries)
	if err != nil {
		return p, false, err
	}
	for id := range before.gone {
		w.ids[id] = true
	}
	w.descend()
	p.Scrub, err = w.copies(before.Scrubber)
	if err != nil {
		return p, false, err
	}
	p.Erase, p.Scrubber, p.Dreams, p.gone = w.erased(), before.Scrubber, w.unsettled(), w.ids
	return p, len(p.Erase)+len(p.Scrub) > 0, nil
}

// begin reads what every entry was made from.
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

// traced finds what dreams made from what is asked for, however far: see past.Descend.
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

// descend takes along what was made from nothing but what is erased, and what import derived from memories that were
// all forgotten before.
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

// groundless says whether everything that an item was made from is erased.
func (w *work) groundless(item dream.Item) bool {
	h := item.Header()
	origins := w.origins[h.ID]
	switch {
	case h.Kind == dream.KindRecord || h.Kind == dream.KindEpisode && h.Dream == "":
		return false
	case h.Dream == "" && len(h.Sources) == 0:
		return h.Kind == dream.KindSemantic && slices.Contains(h.Derived, "content") // it had sources once
	case h.Dream == "":
		origins = h.Sources
	}
	return len(origins) > 0 && !slices.ContainsFunc(origins, func(id string) bool { return !w.ids[id] })
}

// scrubber learns what is to be recognised: the words of what is erased that people or agents said, and of the given
// texts.
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
			said, err := w.ownWords(item)
			if err != nil {
				return nil, err
			}
			texts = append(texts, said...)
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
			continue // it quotes the neighbours, which stay
		}
		s.words.learn(f.text, !lived(item))
	}
	return nil
}

// ownWords are the texts of an item that stays which do not come from what is forgotten: what somebody said, and what
// import put around its quotations.
func (w *work) ownWords(item dream.Item) ([]string, error) {
	h := item.Header()
	if h.Dream != "" || h.Kind == dream.KindRecord {
		return nil, nil
	}
	if !lived(item) && slices.ContainsFunc(w.origins[h.ID], func(id string) bool { return w.ids[id] }) {
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

// unquoted is what stands outside of the quotation marks that import writes.
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

// copies finds what repeats the forgotten, and takes along what would say little without.
func (w *work) copies(s *Scrubber) ([]Found, error) {
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
	var out []Found
	for _, e := range w.entries {
		id := e.Item.Header().ID
		if fields := found[id]; !w.ids[id] && len(fields) > 0 {
			slices.Sort(fields)
			out = append(out, Found{Item: e.Item, Fields: slices.Compact(fields)})
		}
	}
	return out, nil
}

// alike lists what somebody said that shares a phrase with what is forgotten, and is left as it is.
func (w *work) alike(s *Scrubber, scrubbed []Found) []dream.Item {
	touched := map[string]bool{}
	for _, f := range scrubbed {
		touched[f.Item.Header().ID] = true
	}
	var out []dream.Item
	for _, e := range w.entries {
		id := e.Item.Header().ID
		if !w.ids[id] && !touched[id] && lived(e.Item) && s.words.alike(e.Item.Text()) {
			out = append(out, e.Item)
		}
	}
	return out
}

// erased lists what is erased: what was asked for last.
func (w *work) erased() []Found {
	var before, named []Found
	for _, e := range w.entries {
		switch why := w.why[e.Item.Header().ID]; why {
		case "":
		case Named:
			named = append(named, Found{Item: e.Item, Why: why})
		default:
			before = append(before, Found{Item: e.Item, Why: why})
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

// unsettled lists the dreams that go on or may go on.
func (w *work) unsettled() []string {
	var out []string
	for _, e := range w.entries {
		if n, ok := e.Item.(*dream.Record); ok && n.Unsettled() {
			out = append(out, n.ID)
		}
	}
	return out
}
