package sqlitestore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// page is how many items are read at once, with their revisions and vectors: one or two megabytes.
const page = 500

func (x *exporter) items(agent string) {
	for after := ""; ; {
		p := exportPage{tx: x.tx, agent: agent, after: after}
		p.newest()
		if len(p.items) == 0 || x.err != nil {
			return
		}
		after = p.items[len(p.items)-1].ID
		p.last = after
		p.earlier()
		p.vectors()
		for i := range p.items {
			x.give(memory.Record{Item: &p.items[i]})
		}
	}
}

// exportPage is some items of an agent by id: those above after, up to last.
type exportPage struct {
	*tx
	agent, after, last string
	items              []memory.KeptItem
	numbers            []int // of the newest revisions
}

// newest reads the items with their newest revisions.
func (p *exportPage) newest() {
	p.each("SELECT id, kind, revision, cause, changed, body, packed, text FROM items WHERE agent = ? AND id > ?"+
		" ORDER BY id LIMIT ?",
		[]any{p.agent, p.after, page}, func(scan scanner) {
			i := memory.KeptItem{Agent: p.agent}
			var number int
			var text string
			var r storedRevision
			scan(&i.ID, &i.Kind, &number, &r.Cause, &r.at, &r.body, &r.short, &text)
			i.Revisions = []memory.KeptRevision{p.kept(r, i.ID, number, text, i.ID)}
			p.items, p.numbers = append(p.items, i), append(p.numbers, number)
		})
}

// storedRevision is a revision as a row stores it.
type storedRevision struct {
	memory.KeptRevision
	at          int64
	body, short []byte
}

func (p *exportPage) kept(r storedRevision, id string, number int, near ...string) memory.KeptRevision {
	r.Body = p.unpacked(fmt.Sprintf("revision %d of %s", number, id), r.body, r.short, near...)
	r.At = time.Unix(0, r.at).UTC()
	return r.KeptRevision
}

// earlier inserts the older revisions before the newest ones, and sets all numbers.
func (p *exportPage) earlier() {
	older, numbers := make([][]memory.KeptRevision, len(p.items)), make([][]int, len(p.items))
	p.each(
		"SELECT id, number, cause, at, body, packed FROM revisions WHERE agent = ? AND id > ? AND id <= ?"+
			" ORDER BY id, number",
		[]any{p.agent, p.after, p.last}, func(scan scanner) {
			var id string
			var number int
			var r storedRevision
			scan(&id, &number, &r.Cause, &r.at, &r.body, &r.short)
			if i, found := p.find(id); found {
				older[i] = append(older[i], p.kept(r, id, number, id))
				numbers[i] = append(numbers[i], number)
			}
		})
	for i := range p.items {
		p.items[i].Revisions = append(older[i], p.items[i].Revisions...)
		p.items[i].SetNumbers(append(numbers[i], p.numbers[i]))
	}
}

// vectors adds the vectors to the items.
func (p *exportPage) vectors() {
	p.each("SELECT id, space, v, numbers FROM vectors WHERE agent = ? AND id > ? AND id <= ? ORDER BY id, space",
		[]any{p.agent, p.after, p.last}, func(scan scanner) {
			var id string
			var v memory.KeptVector
			var kept storedVector
			scan(&id, &v.Space, &kept.v, &kept.numbers)
			var err error
			v.V, err = kept.plain()
			p.fail(err)
			if i, found := p.find(id); found {
				p.items[i].Vectors = append(p.items[i].Vectors, v)
			}
		})
}

// find returns the place of an item in the page.
func (p *exportPage) find(id string) (int, bool) {
	return slices.BinarySearchFunc(p.items, id,
		func(item memory.KeptItem, id string) int { return strings.Compare(item.ID, id) })
}
