package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// maxHeld bounds the bytes of a part that are held until it is certain that nobody wrote to it meanwhile. A larger
// part is returned while it is read, and when somebody wrote to it the whole export fails (memory.ErrTorn). The ledger
// is read as of one moment while others write (archive_moment.go).
const maxHeld = 64 << 20

// exportTries is how often a part is read again because of writes in between.
const exportTries = 20

// Export reads one part after another: the names, each agent, the ledger. It watches keys of which one
// changes with everything that it reads, so that the server reports a change before the part's end.
func (s archives) Export(ctx context.Context) memory.Records {
	return store.Export(s.name, func(put store.Put) error {
		mark, err := s.currentMark(ctx)
		if err == nil && strings.HasPrefix(mark, importing) {
			err = ErrUnfinished
		}
		if err != nil {
			return err
		}
		return s.export(ctx, put)
	})
}

// exportAll exports the keys, whether an import is unfinished or not.
func (s archives) exportAll(ctx context.Context) memory.Records {
	return store.Export(s.name, func(put store.Put) error { return s.export(ctx, put) })
}

func (s archives) export(ctx context.Context, put store.Put) error {
	notes, err := s.inventory(ctx)
	if err != nil {
		return err
	}
	if err := s.part(ctx, put, (*reader).names); err != nil {
		return err
	}
	for _, agent := range slices.Sorted(maps.Keys(notes)) {
		slices.Sort(notes[agent])
		dreams := slices.Compact(notes[agent])
		if err := s.part(ctx, put, func(r *reader) { r.agent(agent, dreams) }); err != nil {
			return fmt.Errorf("agent %q: %w", agent, err)
		}
	}
	if err := s.part(ctx, put, (*reader).rooms); err != nil {
		return store.Wrap(err, "rooms")
	}
	return store.Wrap(s.part(ctx, put, (*reader).ledger), "the ledger")
}

// inventory reads the name of every key, and returns the dreams with notes by agent, also of agents that have none.
func (s archives) inventory(ctx context.Context) (map[string][]string, error) {
	notes := map[string][]string{}
	err := s.scan(ctx, s.set.prefix+"a:", func(keys []string) error {
		for _, key := range keys {
			agent, part, ok := agentPart(strings.TrimPrefix(key, s.set.prefix))
			if !ok || !s.lasting(key) {
				continue
			}
			dreams := notes[agent]
			if dream, ok := strings.CutPrefix(part, "notes:"); ok {
				dreams = append(dreams, dream)
			}
			notes[agent] = dreams
		}
		return nil
	})
	return notes, err
}

// reader reads one part on a connection of its own. After its first fault it gives no more records.
type reader struct {
	*server
	parser
	ctx      context.Context
	tx       *redis.Tx
	put      store.Put
	held     []memory.Record
	size     int
	most     int  // bytes that are held
	returned bool // records of the part have been returned
}

// part reads a part and returns it when it is complete.
func (s archives) part(ctx context.Context, put store.Put, read func(*reader)) error {
	pause := time.Millisecond
	for range exportTries {
		r := &reader{server: s.server, ctx: ctx, put: put, most: maxHeld}
		err := s.client.Watch(ctx, func(tx *redis.Tx) error { return r.readWatched(tx, read) })
		torn := errors.Is(err, redis.TxFailedErr)
		switch {
		case err == nil:
			return r.flush()
		case r.returned && torn:
			return memory.ErrTorn
		case r.returned, !torn && final(err), errors.Is(err, store.ErrStopped):
			return err
		}
		if err := store.Pause(ctx, pause, nil); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
	}
	return memory.ErrTorn
}

// readWatched reads a part. It returns redis.TxFailedErr when a watched key has changed since: then neither the records
// nor an error of reading them mean anything.
func (r *reader) readWatched(tx *redis.Tx, read func(*reader)) error {
	r.tx = tx
	read(r)
	if errors.Is(r.err, store.ErrStopped) {
		return r.err
	}
	moved := unchanged(r.ctx, tx)
	if errors.Is(moved, redis.TxFailedErr) || r.err == nil {
		return moved
	}
	return r.err
}

// unchanged returns redis.TxFailedErr when a watched key has changed. Its transaction is empty, because a full server
// refuses every command within one.
func unchanged(ctx context.Context, tx *redis.Tx) error {
	if err := tx.Do(ctx, "MULTI").Err(); err != nil {
		return err
	}
	err := tx.Do(ctx, "EXEC").Err()
	if errors.Is(err, redis.Nil) {
		return redis.TxFailedErr
	}
	return err
}

// hold keeps a record until the part is complete.
func (r *reader) hold(record memory.Record, size int) {
	r.held = append(r.held, record)
	r.size += size + 200 // estimated size of a record without its texts
	if r.err == nil && r.size >= r.most {
		r.returned = true
		r.fail(r.flush())
	}
}

func (r *reader) flush() error {
	for _, record := range r.held {
		if err := r.put(record); err != nil {
			return err
		}
	}
	r.held, r.size = r.held[:0], 0
	return nil
}

// watch makes the server report changes of keys from now on.
func (r *reader) watch(keys ...string) {
	for chunk := range slices.Chunk(keys, keysAtOnce) {
		if r.err == nil {
			r.fail(r.tx.Watch(r.ctx, chunk...).Err())
		}
	}
}

// hash reads a hash that is watched.
func (r *reader) hash(key string) map[string]string {
	if r.err != nil {
		return nil
	}
	values, err := r.tx.HGetAll(r.ctx, key).Result()
	r.fail(err)
	return values
}

// each calls put with the fields of a watched hash, in order.
func (r *reader) each(key string, put func(name, value string)) {
	values := r.hash(key)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		put(name, values[name])
	}
}

func (r *reader) names() {
	r.watch(r.root(agentsKey), r.root(handlesKey), r.root(feedsKey), r.root(keysKey), r.root(keysRequiredKey))
	r.each(r.root(feedsKey), func(name, body string) {
		r.hold(memory.Record{Feed: &memory.KeptFeed{Name: name, Body: memory.Raw(body)}}, len(body))
	})
	var named struct{ Handle, Hash string }
	r.each(r.root(agentsKey), func(id, body string) {
		r.json(body, &named)
		r.hold(memory.Record{Agent: &memory.KeptAgent{ID: id, Handle: named.Handle, Body: memory.Raw(body)}}, len(body))
	})
	keys := int64(0)
	r.each(r.root(keysKey), func(id, body string) {
		r.json(body, &named)
		r.hold(memory.Record{Key: &memory.KeptKey{ID: id, Hash: named.Hash, Body: memory.Raw(body)}}, len(body))
		keys++
	})
	mark, err := r.tx.Get(r.ctx, r.root(keysRequiredKey)).Result()
	r.fail(ignoreMissing(err))
	if required := keysRequired(mark, keys); required != (keys > 0) {
		r.hold(memory.Record{Access: &memory.KeptAccess{KeysRequired: required}}, 0)
	}
}
