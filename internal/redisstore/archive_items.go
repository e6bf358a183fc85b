package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// items exports the agent's items by id, with their revisions and vectors.
func (r *reader) items(agent string, counters memory.KeptCounters) error {
	spaces := []string{}
	if counters.Space != "" {
		spaces = append(spaces, counters.Space)
	}
	for _, c := range counters.Collecting {
		spaces = append(spaces, c.Space)
	}
	slices.Sort(spaces)
	for _, space := range spaces {
		if err := r.watch(r.key(agent, "vectors:"+space)); err != nil {
			return err
		}
	}
	ids, err := r.tx.HKeys(r.ctx, r.key(agent, "items")).Result()
	if err != nil {
		return err
	}
	slices.Sort(ids)
	for chunk := range slices.Chunk(ids, itemsAtOnce) {
		items, err := r.page(agent, chunk, spaces)
		if err != nil {
			return err
		}
		for i := range items {
			size := 0
			for _, v := range items[i].Revisions {
				size += len(v.Body)
			}
			for _, v := range items[i].Vectors {
				size += len(v.V)
			}
			if err := r.hold(memory.Record{Item: &items[i]}, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// page reads some items: rows and vectors first, then the older revisions.
func (r *reader) page(agent string, ids, spaces []string) ([]memory.KeptItem, error) {
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
		return nil, err
	}
	items := make([]memory.KeptItem, 0, len(ids))
	newest := make([]int, len(ids))
	for i, kept := range rows.Val() {
		k, number, err := keptItem(agent, ids[i], kept)
		if err != nil {
			return nil, err
		}
		newest[i] = number
		for n, space := range spaces {
			if packed, ok := vectors[n].Val()[i].(string); ok {
				_, numbers, _ := strings.Cut(packed, "\n")
				k.Vectors = append(k.Vectors, memory.KeptVector{Space: space, V: []byte(numbers)})
			}
		}
		items = append(items, k)
	}
	return items, r.past(agent, items, newest)
}

// past inserts the older revisions before the newest ones, whose numbers are given, and sets all numbers.
func (r *reader) past(agent string, items []memory.KeptItem, newest []int) error {
	var names []string
	for i, k := range items {
		for number := 1; number < newest[i]; number++ {
			names = append(names, revisionName(k.ID, number))
		}
	}
	var rows []any
	for chunk := range slices.Chunk(names, keysAtOnce) {
		found, err := r.tx.HMGet(r.ctx, r.key(agent, "revisions"), chunk...).Result()
		if err != nil {
			return err
		}
		rows = append(rows, found...)
	}
	for i := range items {
		var older []memory.KeptRevision
		var numbers []int
		for number := 1; number < newest[i]; number++ {
			row := rows[0]
			rows = rows[1:]
			if row == nil {
				continue // it was replaced by a later one
			}
			k, answer, err := keptItem(agent, items[i].ID, row)
			if err != nil {
				return err
			}
			if answer != number {
				return fmt.Errorf("revision %d of %s says that it is %d", number, items[i].ID, answer)
			}
			older, numbers = append(older, k.Revisions[0]), append(numbers, number)
		}
		items[i].Revisions = append(older, items[i].Revisions...)
		items[i].SetNumbers(append(numbers, newest[i]))
	}
	return nil
}

// revisionName is the field that holds an older revision of an item.
func revisionName(id string, number int) string { return id + "\x00" + strconv.Itoa(number) }

// keptItem parses a row into an item with that one revision, and its number.
func keptItem(agent, id string, kept any) (memory.KeptItem, int, error) {
	text, ok := kept.(string)
	if !ok {
		return memory.KeptItem{}, 0, fmt.Errorf("a row of %s is missing", id)
	}
	row, err := parseRow(id, text, true)
	if err != nil {
		return memory.KeptItem{}, 0, err
	}
	at, err := parseDate(row.marks.Changed)
	if err != nil {
		return memory.KeptItem{}, 0, fmt.Errorf("revision %d of %s: %w", row.number, id, err)
	}
	if row.number < 1 {
		return memory.KeptItem{}, 0, fmt.Errorf("%s is of revision %d; the first is 1", id, row.number)
	}
	return memory.KeptItem{
		Agent: agent, ID: id, Kind: row.kind,
		Revisions: []memory.KeptRevision{{Cause: row.marks.Cause, At: at, Body: memory.Raw(row.body)}},
	}, row.number, nil
}
