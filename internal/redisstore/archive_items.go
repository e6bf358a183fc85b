package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// items exports the agent's items by id, with their revisions and vectors.
func (r *reader) items(agent string, counters memory.KeptCounters) {
	spaces := []string{}
	if counters.Space != "" {
		spaces = append(spaces, counters.Space)
	}
	for _, c := range counters.Collecting {
		spaces = append(spaces, c.Space)
	}
	slices.Sort(spaces)
	for _, space := range spaces {
		r.watch(r.key(agent, "vectors:"+space))
	}
	ids, err := r.tx.HKeys(r.ctx, r.key(agent, "items")).Result()
	r.fail(err)
	slices.Sort(ids)
	for chunk := range slices.Chunk(ids, itemsAtOnce) {
		if r.err != nil {
			return
		}
		for _, item := range r.page(agent, chunk, spaces) {
			size := 0
			for _, v := range item.Revisions {
				size += len(v.Body)
			}
			for _, v := range item.Vectors {
				size += len(v.V)
			}
			r.hold(memory.Record{Item: &item}, size)
		}
	}
}

// page reads some items: rows and vectors first, then the older revisions.
func (r *reader) page(agent string, ids, spaces []string) []memory.KeptItem {
	var rows *redis.SliceCmd
	vectors := make([]*redis.SliceCmd, len(spaces))
	_, err := r.tx.Pipelined(r.ctx, func(p redis.Pipeliner) error {
		rows = p.HMGet(r.ctx, r.key(agent, "items"), ids...)
		for i, space := range spaces {
			vectors[i] = p.HMGet(r.ctx, r.key(agent, "vectors:"+space), ids...)
		}
		return nil
	})
	if err != nil {
		r.fail(err)
		return nil
	}
	items := make([]memory.KeptItem, len(ids))
	newest := make([]int, len(ids))
	for i, kept := range rows.Val() {
		items[i], newest[i] = r.item(agent, ids[i], kept)
		for n, space := range spaces {
			if packed, ok := vectors[n].Val()[i].(string); ok {
				_, numbers, _ := strings.Cut(packed, "\n")
				items[i].Vectors = append(items[i].Vectors, memory.KeptVector{Space: space, V: []byte(numbers)})
			}
		}
	}
	r.past(agent, items, newest)
	return items
}

// past inserts the older revisions before the newest ones, whose numbers are given, and sets all numbers.
func (r *reader) past(agent string, items []memory.KeptItem, newest []int) {
	var names []string
	for i, k := range items {
		for number := 1; number < newest[i]; number++ {
			names = append(names, revisionName(k.ID, number))
		}
	}
	var rows []any
	for chunk := range slices.Chunk(names, keysAtOnce) {
		found, err := r.tx.HMGet(r.ctx, r.key(agent, "revisions"), chunk...).Result()
		r.fail(err)
		rows = append(rows, found...)
	}
	for i := 0; r.err == nil && i < len(items); i++ {
		var older []memory.KeptRevision
		var numbers []int
		for number := 1; number < newest[i]; number++ {
			row := rows[0]
			rows = rows[1:]
			if row == nil {
				continue // it was replaced by a later one
			}
			k, answer := r.item(agent, items[i].ID, row)
			if answer != number {
				r.fail(fmt.Errorf("revision %d of %s says that it is %d", number, items[i].ID, answer))
			}
			older, numbers = append(older, k.Revisions...), append(numbers, number)
		}
		items[i].Revisions = append(older, items[i].Revisions...)
		items[i].SetNumbers(append(numbers, newest[i]))
	}
}

// revisionName is the field that holds an older revision of an item.
func revisionName(id string, number int) string { return id + "\x00" + strconv.Itoa(number) }

// item parses a row into an item with that one revision, and its number.
func (r *reader) item(agent, id string, kept any) (memory.KeptItem, int) {
	text, ok := kept.(string)
	if !ok {
		r.fail(fmt.Errorf("a row of %s is missing", id))
	}
	row, err := parseRow(id, text, true)
	r.fail(err)
	if row.number < 1 {
		r.fail(fmt.Errorf("%s is of revision %d; the first is 1", id, row.number))
	}
	return memory.KeptItem{
		Agent: agent, ID: id, Kind: string(row.kind),
		Revisions: []memory.KeptRevision{
			{Cause: row.marks.Cause, At: r.time(row.marks.Changed), Body: memory.Raw(row.body)},
		},
	}, row.number
}
