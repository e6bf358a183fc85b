package sqlitestore

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// page is how many items are read at once, with their revisions and vectors: one or two megabytes.
const page = 500

func (d tx) exportItems(agent string, put recordFunc) error {
	for after := ""; ; {
		items, numbers, err := d.itemsAfter(agent, after)
		if err != nil || len(items) == 0 {
			return err
		}
		last := items[len(items)-1].ID
		if err := d.addEarlier(agent, after, last, items, numbers); err != nil {
			return err
		}
		if err := d.addVectors(agent, after, last, items); err != nil {
			return err
		}
		for i := range items {
			if err := put(memory.Record{Item: &items[i]}); err != nil {
				return err
			}
		}
		after = last
	}
}

// itemsAfter reads one page of items with their newest revisions and the numbers of these.
func (d tx) itemsAfter(agent, after string) (items []memory.KeptItem, numbers []int, err error) {
	err = d.each(
		"SELECT id, kind, revision, cause, changed, body, packed, text FROM items WHERE agent = ? AND id > ? ORDER BY id LIMIT ?",
		[]any{agent, after, page},
		func(scan func(...any) error) error {
			i := memory.KeptItem{Agent: agent}
			var r memory.KeptRevision
			var at int64
			var number int
			var text string
			var body, short []byte
			err := scan(&i.ID, (*string)(&i.Kind), &number, &r.Cause, &at, &body, &short, &text)
			if err == nil {
				body, err = unpacked(body, short, text, i.ID)
			}
			r.Body = body
			r.At = time.Unix(0, at).UTC()
			i.Revisions = []memory.KeptRevision{r}
			items, numbers = append(items, i), append(numbers, number)
			return err
		})
	return items, numbers, err
}

// addEarlier inserts the older revisions of a page before the newest ones, whose numbers are given, and sets all
// numbers.
func (d tx) addEarlier(agent, after, last string, items []memory.KeptItem, newest []int) error {
	place := 0
	var older []memory.KeptRevision
	numbers := make([][]int, len(items))
	settle := func() {
		if len(older) > 0 {
			items[place].Revisions = append(older, items[place].Revisions...)
			older = nil
		}
	}
	err := d.each(
		"SELECT id, number, cause, at, body, packed FROM revisions WHERE agent = ? AND id > ? AND id <= ? ORDER BY id, number",
		[]any{agent, after, last},
		func(scan func(...any) error) error {
			var id string
			var r memory.KeptRevision
			var at int64
			var number int
			var body, short []byte
			if err := scan(&id, &number, &r.Cause, &at, &body, &short); err != nil {
				return err
			}
			body, err := unpacked(body, short, id)
			if err != nil {
				return fmt.Errorf("revision %d of %s: %w", number, id, err)
			}
			r.Body = body
			r.At = time.Unix(0, at).UTC()
			if items[place].ID != id {
				settle()
			}
			for items[place].ID < id {
				place++
			}
			if items[place].ID == id {
				older = append(older, r)
				numbers[place] = append(numbers[place], number)
			}
			return nil
		})
	settle()
	for i := range items {
		items[i].SetNumbers(append(numbers[i], newest[i]))
	}
	return err
}

// addVectors adds the vectors to the items of a page.
func (d tx) addVectors(agent, after, last string, items []memory.KeptItem) error {
	place := 0
	return d.each(
		"SELECT id, space, v, numbers FROM vectors WHERE agent = ? AND id > ? AND id <= ? ORDER BY id, space",
		[]any{agent, after, last},
		func(scan func(...any) error) error {
			var id string
			var v memory.KeptVector
			var kept storedVector
			if err := scan(&id, &v.Space, &kept.v, &kept.numbers); err != nil {
				return err
			}
			var err error
			v.V, err = kept.plain()
			if err != nil {
				return fmt.Errorf("vector of %s: %w", id, err)
			}
			for items[place].ID < id {
				place++
			}
			if items[place].ID == id {
				items[place].Vectors = append(items[place].Vectors, v)
			}
			return nil
		})
}
