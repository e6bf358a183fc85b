package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// items reads the agent's items by id, with their revisions and vectors.
func (r *reader) items(agent string, life memory.KeptLife) error {
	spaces := []string{}
	if life.Space != "" {
		spaces = append(spaces, life.Space)
	}
	for _, c := range life.Collecting {
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

// page reads some items: rows and vectors first, then the older revisions that the rows tell of.
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
	var past []string
	for i, kept := range rows.Val() {
		k, number, err := keptItem(agent, ids[i], kept)
		if err != nil {
			return nil, err
		}
		for older := 1; older < number; older++ {
			past = append(past, ids[i]+"\x00"+strconv.Itoa(older))
		}
		k.Revisions = slices.Insert(k.Revisions, 0, make([]memory.KeptRevision, number-1)...)
		for n, space := range spaces {
			if packed, ok := vectors[n].Val()[i].(string); ok {
				_, numbers, _ := strings.Cut(packed, "\n")
				k.Vectors = append(k.Vectors, memory.KeptVector{Space: space, V: []byte(numbers)})
			}
		}
		items = append(items, k)
	}
	return items, r.past(agent, past, items)
}

// past fills in the older revisions, in the order of their names.
func (r *reader) past(agent string, names []string, items []memory.KeptItem) error {
	var rows []any
	for chunk := range slices.Chunk(names, keysAtOnce) {
		found, err := r.tx.HMGet(r.ctx, r.key(agent, "revisions"), chunk...).Result()
		if err != nil {
			return err
		}
		rows = append(rows, found...)
	}
	at := 0
	for i := range items {
		for n := range len(items[i].Revisions) - 1 {
			k, number, err := keptItem(agent, items[i].ID, rows[at])
			if err != nil {
				return err
			}
			if number != n+1 {
				return fmt.Errorf("revision %d of %s says that it is %d", n+1, items[i].ID, number)
			}
			items[i].Revisions[n] = k.Revisions[0]
			at++
		}
	}
	return nil
}

// keptItem reads a row: an item with the one revision that the row is, and its number.
func keptItem(agent, id string, kept any) (memory.KeptItem, int, error) {
	text, ok := kept.(string)
	if !ok {
		return memory.KeptItem{}, 0, fmt.Errorf("a row of %s is missing", id)
	}
	row, err := readKept(id, text, true)
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
		Agent: agent, ID: id, Kind: row.kind, Revisions: []memory.KeptRevision{{Cause: row.marks.Cause, At: at, Body: memory.Raw(row.body)}},
	}, row.number, nil
}
