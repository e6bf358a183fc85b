package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// errStopped ends an export whose reader has stopped.
var errStopped = errors.New("enough")

// maxHeld bounds the bytes of a part that are held until it is certain that nobody wrote to it meanwhile. A larger
// part is returned while it is read, and when somebody wrote to it the whole export fails (memory.ErrTorn).
const maxHeld = 64 << 20

// exportTries is how often a part is read again because of writes in between.
const exportTries = 20

// Export reads one part after another: the names, each agent, the ledger. It watches every key that it reads, so that
// the server reports a change before the part's end.
func (s *Store) Export(ctx context.Context) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		if err := s.checkFinished(ctx); err != nil {
			yield(memory.Record{}, fmt.Errorf("export %s: %w", s.name, err))
			return
		}
		s.exportAll(ctx)(yield)
	}
}

// checkFinished returns an error for keys of an unfinished import.
func (s *Store) checkFinished(ctx context.Context) error {
	stands, err := s.currentMark(ctx)
	if err == nil && strings.HasPrefix(stands, importing) {
		err = ErrUnfinished
	}
	return err
}

// exportAll exports the keys, whether an import is unfinished or not.
func (s *Store) exportAll(ctx context.Context) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		err := s.export(ctx, func(r memory.Record) error {
			if !yield(r, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(memory.Record{}, fmt.Errorf("export %s: %w", s.name, err))
		}
	}
}

// inventory lists what there is to read.
type inventory struct {
	notes      map[string][]string // dreams by agent
	accounts   []string
	allowances []string // dreams
}

func (s *Store) export(ctx context.Context, put func(memory.Record) error) error {
	c, err := s.inventory(ctx)
	if err != nil {
		return err
	}
	if err := s.part(ctx, put, (*reader).names); err != nil {
		return err
	}
	for _, agent := range slices.Sorted(maps.Keys(c.notes)) {
		slices.Sort(c.notes[agent])
		if err := s.part(ctx, put,
			func(r *reader) error { return r.exportAgent(agent, slices.Compact(c.notes[agent])) }); err != nil {
			return fmt.Errorf("agent %q: %w", agent, err)
		}
	}
	c, err = s.inventory(ctx)
	if err != nil { // the ledger is read last, as of that time
		return err
	}
	if err := s.part(ctx, put, func(r *reader) error { return r.exportLedger(c) }); err != nil {
		return fmt.Errorf("the ledger: %w", err)
	}
	return nil
}

// inventory reads the name of every key.
func (s *Store) inventory(ctx context.Context) (inventory, error) {
	c := inventory{notes: map[string][]string{}}
	allowed := s.ledgerKey("allowance:")
	accounts := s.ledgerKey("account:")
	err := s.scan(ctx, func(keys []string) error {
		for _, key := range keys {
			if !s.lasting(key) {
				continue
			}
			if agent, part, ok := agentPart(strings.TrimPrefix(key, s.set.prefix)); ok {
				c.notes[agent] = append(c.notes[agent], dreamsOf(part)...)
			} else if dream, ok := strings.CutPrefix(key, allowed); ok {
				c.allowances = append(c.allowances, dream)
			} else if scope, ok := strings.CutPrefix(key, accounts); ok {
				c.accounts = append(c.accounts, scope)
			}
		}
		return nil
	})
	for _, list := range []*[]string{&c.accounts, &c.allowances} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return c, err
}

// dreamsOf returns the dream whose notes a part holds, if it holds any.
func dreamsOf(part string) []string {
	if dream, ok := strings.CutPrefix(part, "notes:"); ok {
		return []string{dream}
	}
	return nil
}

// reader reads one part on a connection of its own.
type reader struct {
	*Store
	ctx      context.Context
	tx       *redis.Tx
	put      func(memory.Record) error
	held     []memory.Record
	size     int
	returned bool // records of the part have been returned
}

// part reads a part and returns it when it is complete.
func (s *Store) part(ctx context.Context, put func(memory.Record) error, read func(*reader) error) error {
	pause := time.Millisecond
	for range exportTries {
		r := &reader{Store: s, ctx: ctx, put: put}
		err := s.client.Watch(ctx, func(tx *redis.Tx) error { return r.readWatched(tx, read) })
		torn := errors.Is(err, redis.TxFailedErr)
		switch {
		case err == nil:
			return r.flush()
		case r.returned && torn:
			return memory.ErrTorn
		case r.returned, !torn && outcomeOf(err) == ran, errors.Is(err, errStopped):
			return err
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
			pause = min(2*pause, lastPause)
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
	return memory.ErrTorn
}

// readWatched reads a part. It returns redis.TxFailedErr when a watched key has changed since: then neither the records
// nor an error of reading them mean anything.
func (r *reader) readWatched(tx *redis.Tx, read func(*reader) error) error {
	r.tx = tx
	err := read(r)
	if errors.Is(err, errStopped) {
		return err
	}
	_, moved := tx.TxPipelined(r.ctx, func(p redis.Pipeliner) error { return p.Ping(r.ctx).Err() })
	if errors.Is(moved, redis.TxFailedErr) || err == nil {
		return moved
	}
	return err
}

// hold keeps a record until the part is complete.
func (r *reader) hold(record memory.Record, size int) error {
	r.held = append(r.held, record)
	r.size += size + 200 // estimated size of a record without its texts
	if r.size < maxHeld {
		return nil
	}
	r.returned = true
	return r.flush()
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
func (r *reader) watch(keys ...string) error {
	for chunk := range slices.Chunk(keys, keysAtOnce) {
		if err := r.tx.Watch(r.ctx, chunk...).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) names() error {
	prefix := r.set.prefix
	if err := r.watch(prefix+"agents", prefix+"handles", r.feedsKey(), r.keysKey(), r.keysRequiredKey()); err != nil {
		return err
	}
	feeds, err := r.tx.HGetAll(r.ctx, r.feedsKey()).Result()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(feeds)) {
		if err := r.hold(memory.Record{Feed: &memory.KeptFeed{Name: name, Body: memory.Raw(feeds[name])}},
			len(feeds[name])); err != nil {
			return err
		}
	}
	records, err := r.tx.HGetAll(r.ctx, prefix+"agents").Result()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(records)) {
		var named struct{ Handle string }
		if err := json.Unmarshal([]byte(records[id]), &named); err != nil {
			return fmt.Errorf("agent %q: %w", id, err)
		}
		a := memory.KeptAgent{ID: id, Handle: named.Handle, Body: memory.Raw(records[id])}
		if err := r.hold(memory.Record{Agent: &a}, len(a.Body)); err != nil {
			return err
		}
	}
	return r.keys()
}
