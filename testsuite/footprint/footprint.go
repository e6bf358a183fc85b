// Package footprint measures how much space a store takes, part by part, to find what dreams add to it.
package footprint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite", which has dbstat compiled in
)

// Footprint is the space that a store takes at one moment, in bytes.
type Footprint struct {
	// all of it: a file's pages, free ones included; for a server the memory of its keys
	Total int64
	// for a file: what is stored in it, without free pages and the free space of used pages; for a server Total
	Live  int64
	Parts map[string]int64 // pages of tables and indexes, or memory by class of key
	Texts map[string]int64 // lengths of the tables' texts, by kind; for a file only
}

// File measures a SQLite store as its file is after its log has been merged: the log has the size of recent writes,
// and is temporary.
func File(ctx context.Context, path string) (Footprint, error) {
	f := Footprint{Parts: map[string]int64{}, Texts: map[string]int64{}}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return f, fmt.Errorf("measure %s: %w", path, err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(
		&f.Total); err != nil {
		return f, fmt.Errorf("measure %s: %w", path, err)
	}
	err = each(ctx, db, "SELECT name, sum(pgsize), sum(payload) FROM dbstat GROUP BY name",
		func(name string, size, live int64) {
			f.Parts[name] = size
			f.Live += live
		})
	for _, t := range []struct{ table, by, held string }{
		{"items", "kind", "text || body || coalesce(packed, '')"},
		{"revisions", "kind", "body || coalesce(packed, '')"},
		{"vectors", "kind", "v"},
		{"events", "replace(id, rtrim(id, replace(id, '/', '')), '')", "id || coalesce(data, packed, '')"},
		{"notes", "'notes'", "value"},
		{"answers", "'answers'", "answer"},
		{"attempts", "phase", "step || accounts || tokens || coalesce(packed, '')"},
	} {
		if err != nil {
			break
		}
		err = each(ctx, db,
			fmt.Sprintf("SELECT %s, coalesce(sum(length(CAST(%s AS BLOB))), 0), count(*) FROM %s GROUP BY 1", t.by,
				t.held, t.table),
			func(name string, size, _ int64) { f.Texts[t.table+" "+name] = size })
	}
	if err != nil {
		return f, fmt.Errorf("measure %s: %w", path, err)
	}
	return f, nil
}

func each(ctx context.Context, db *sql.DB, statement string, add func(name string, one, two int64)) error {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var one, two int64
		if err := rows.Scan(&name, &one, &two); err != nil {
			return err
		}
		add(name, one, two)
	}
	return rows.Err()
}

// Server measures the keys of a Redis store that begin with a prefix: the memory of each, values and structure. Keys
// that Redis deletes within the hour are left out.
func Server(ctx context.Context, client *redis.Client, prefix string) (Footprint, error) {
	f := Footprint{Parts: map[string]int64{}}
	keys := client.Scan(ctx, 0, escape(prefix)+"*", 1000).Iterator()
	seen := map[string]bool{} // a scan may show a key twice
	for keys.Next(ctx) {
		key := keys.Val()
		if seen[key] {
			continue
		}
		seen[key] = true
		left, err := client.TTL(ctx, key).Result()
		if err != nil {
			return f, fmt.Errorf("measure %s: %w", key, err)
		}
		if 0 < left && left <= time.Hour {
			continue
		}
		size, err := client.MemoryUsage(ctx, key, 0).Result() // 0: every element is looked at
		if errors.Is(err, redis.Nil) {                        // it has gone meanwhile
			continue
		}
		if err != nil {
			return f, fmt.Errorf("measure %s: %w", key, err)
		}
		f.Parts[class(strings.TrimPrefix(key, prefix))] += size
		f.Total += size
	}
	f.Live = f.Total
	if err := keys.Err(); err != nil {
		return f, fmt.Errorf("measure the keys of %s: %w", prefix, err)
	}
	return f, nil
}

func escape(prefix string) string {
	return regexp.MustCompile(`([\\*?\[\]])`).ReplaceAllString(prefix, `\$1`)
}

// class is the common part of the keys of one purpose: the part of an agent's key, or of the ledger's, before the id.
func class(key string) string {
	words := strings.SplitN(key, ":", 4)
	switch {
	case len(words) > 3 && words[0] == "a" && words[2] == "by":
		sortedBy, _, _ := strings.Cut(words[3], ":")
		return "a:by:" + sortedBy
	case len(words) > 2 && words[0] == "a":
		return "a:" + words[2]
	case len(words) > 1 && words[0] == "m":
		return "m:" + words[1]
	}
	return words[0]
}

// Growth is the difference to before, divided by a number of nights.
func (f Footprint) Growth(before Footprint, nights int) Footprint {
	n := int64(nights)
	return Footprint{
		Total: (f.Total - before.Total) / n, Live: (f.Live - before.Live) / n,
		Parts: difference(f.Parts, before.Parts, n), Texts: difference(f.Texts, before.Texts, n),
	}
}

func difference(after, before map[string]int64, by int64) map[string]int64 {
	out := map[string]int64{}
	for name, size := range after {
		out[name] = (size - before[name]) / by
	}
	return out
}

// String is a line for each part of at least 500 bytes, the largest first.
func (f Footprint) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bytes, %d of them live\n", f.Total, f.Live)
	for _, parts := range []map[string]int64{f.Parts, f.Texts} {
		names := slices.SortedFunc(maps.Keys(parts), func(a, c string) int {
			if parts[a] != parts[c] {
				return int(parts[c] - parts[a])
			}
			return strings.Compare(a, c)
		})
		for _, name := range names {
			if parts[name] >= 500 {
				fmt.Fprintf(&b, "  %-44s %7d\n", name, parts[name])
			}
		}
	}
	return b.String()
}
