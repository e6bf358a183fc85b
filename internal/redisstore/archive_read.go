package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// errEnough ends an export that nobody reads on.
var errEnough = errors.New("enough")

// heldBack bounds the bytes of a part that are kept until nobody can have written to it meanwhile. A part that is larger is told as it is
// read, and when somebody wrote to it the whole export ends (memory.ErrTorn).
const heldBack = 64 << 20

// exportTries is how often a part is read again because others wrote to it.
const exportTries = 20

// Export reads part after part: the names, each agent, the ledger. It watches every key that it reads, so that the server
// says when one has changed before the part's end.
func (s *Store) Export(ctx context.Context) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		if err := s.finished(ctx); err != nil {
			yield(memory.Record{}, fmt.Errorf("export %s: %w", s.name, err))
			return
		}
		s.told(ctx)(yield)
	}
}

// finished refuses keys that an import has begun to fill.
func (s *Store) finished(ctx context.Context) error {
	stands, err := s.standing(ctx)
	if err == nil && strings.HasPrefix(stands, importing) {
		err = ErrUnfinished
	}
	return err
}

// told tells what the keys say, whole or not.
func (s *Store) told(ctx context.Context) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		err := s.export(ctx, func(r memory.Record) error {
			if !yield(r, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(memory.Record{}, fmt.Errorf("export %s: %w", s.name, err))
		}
	}
}

// census is what there is to read.
type census struct {
	notes      map[string][]string // dreams by agent
	accounts   []string
	allowances []string // dreams
}

func (s *Store) export(ctx context.Context, put func(memory.Record) error) error {
	c, err := s.census(ctx)
	if err != nil {
		return err
	}
	if err := s.part(ctx, put, (*reader).names); err != nil {
		return err
	}
	for _, agent := range slices.Sorted(maps.Keys(c.notes)) {
		slices.Sort(c.notes[agent])
		if err := s.part(ctx, put, func(r *reader) error { return r.mind(agent, slices.Compact(c.notes[agent])) }); err != nil {
			return fmt.Errorf("agent %q: %w", agent, err)
		}
	}
	if c, err = s.census(ctx); err != nil { // the ledger is read last, and as it is then
		return err
	}
	if err := s.part(ctx, put, func(r *reader) error { return r.book(c) }); err != nil {
		return fmt.Errorf("the ledger: %w", err)
	}
	return nil
}

// census looks at the name of every key.
func (s *Store) census(ctx context.Context) (census, error) {
	c := census{notes: map[string][]string{}}
	allowed := s.book("allowance:")
	accounts := s.book("account:")
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

// dreamsOf is the dream whose notes a part holds, if it holds any.
func dreamsOf(part string) []string {
	if dream, ok := strings.CutPrefix(part, "notes:"); ok {
		return []string{dream}
	}
	return nil
}

// reader reads one part on a connection of its own.
type reader struct {
	*Store
	ctx  context.Context
	tx   *redis.Tx
	put  func(memory.Record) error
	held []memory.Record
	size int
	told bool // something of the part has been told
}

// part reads a part and tells it when it is whole.
func (s *Store) part(ctx context.Context, put func(memory.Record) error, read func(*reader) error) error {
	pause := time.Millisecond
	for range exportTries {
		r := &reader{Store: s, ctx: ctx, put: put}
		err := s.client.Watch(ctx, func(tx *redis.Tx) error { return r.quietly(tx, read) })
		torn := errors.Is(err, redis.TxFailedErr)
		switch {
		case err == nil:
			return r.tell()
		case r.told && torn:
			return memory.ErrTorn
		case r.told, !torn && fate(err) == ran, errors.Is(err, errEnough):
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

// quietly reads, and answers redis.TxFailedErr when anything that was watched has changed since: then what was read, and what
// seemed wrong with it, means nothing.
func (r *reader) quietly(tx *redis.Tx, read func(*reader) error) error {
	r.tx = tx
	err := read(r)
	if errors.Is(err, errEnough) {
		return err
	}
	_, moved := tx.TxPipelined(r.ctx, func(p redis.Pipeliner) error { return p.Ping(r.ctx).Err() })
	if errors.Is(moved, redis.TxFailedErr) || err == nil {
		return moved
	}
	return err
}

// hold keeps a record until the part is whole.
func (r *reader) hold(record memory.Record, size int) error {
	r.held = append(r.held, record)
	r.size += size + 200 // about what a record takes beside its texts
	if r.size < heldBack {
		return nil
	}
	r.told = true
	return r.tell()
}

func (r *reader) tell() error {
	for _, record := range r.held {
		if err := r.put(record); err != nil {
			return err
		}
	}
	r.held, r.size = r.held[:0], 0
	return nil
}

// watch asks the server to say whether keys change from now on.
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
	if err := r.watch(prefix+"agents", prefix+"handles", r.feedsKey()); err != nil {
		return err
	}
	feeds, err := r.tx.HGetAll(r.ctx, r.feedsKey()).Result()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(feeds)) {
		if err := r.hold(memory.Record{Feed: &memory.KeptFeed{Name: name, Body: memory.Raw(feeds[name])}}, len(feeds[name])); err != nil {
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
	return nil
}

// mind reads one agent.
func (r *reader) mind(agent string, dreams []string) error {
	keys := []string{}
	for _, part := range []string{lifePart, slotPart, leasesPart, affectsPart, "items", "revisions", "events", "spaces"} {
		keys = append(keys, r.key(agent, part))
	}
	for _, dream := range dreams {
		keys = append(keys, r.notesKey(agent, dream))
	}
	if err := r.watch(keys...); err != nil {
		return err
	}
	life, err := r.life(agent)
	if err != nil {
		return err
	}
	for _, part := range []func() error{
		func() error { return r.leases(agent) }, func() error { return r.slot(agent) }, func() error { return r.affects(agent) },
		func() error { return r.items(agent, life) }, func() error { return r.events(agent) }, func() error { return r.notes(agent, dreams) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) life(agent string) (memory.KeptLife, error) {
	k := memory.KeptLife{Agent: agent}
	said, err := r.tx.HGetAll(r.ctx, r.key(agent, lifePart)).Result()
	if err != nil {
		return k, err
	}
	dim := int64(0)
	for name, n := range map[string]*int64{"seq": &k.Seq, "dreams": &k.Dreams, "scrubs": &k.Scrubs, "dim": &dim, "epoch": &k.Epoch, "told": &k.Told} {
		if said[name] == "" {
			continue
		}
		if *n, err = strconv.ParseInt(said[name], 10, 64); err != nil {
			return k, fmt.Errorf("its life's %s: %w", name, err)
		}
	}
	k.Space, k.Dim = said["space"], int(dim)
	if k.Lock, err = parseDate(said["lock"]); err != nil {
		return k, err
	}
	if k.Seen, err = parseDate(said["seen"]); err != nil {
		return k, err
	}
	if said["digest"] != "" {
		if err := json.Unmarshal([]byte(said["digest"]), &k.Digest); err != nil {
			return k, fmt.Errorf("its digest: %w", err)
		}
	}
	if said["last"] != "" {
		w, err := readWake(said["last"])
		if err != nil {
			return k, err
		}
		k.Wake = &memory.KeptWake{
			Epoch: w.Epoch, Cause: string(w.Cause), Client: w.Client, At: w.At, Dream: w.Dream, Affect: w.Affect, Delta: w.Delta, Digest: w.Digest,
		}
	}
	collecting, err := r.tx.HGetAll(r.ctx, r.key(agent, "spaces")).Result()
	if err != nil {
		return k, err
	}
	for _, space := range slices.Sorted(maps.Keys(collecting)) {
		n, err := strconv.Atoi(collecting[space])
		if err != nil {
			return k, fmt.Errorf("the length of space %q: %w", space, err)
		}
		k.Collecting = append(k.Collecting, memory.KeptSpace{Space: space, Dim: n})
	}
	if k.Blank() {
		return k, nil
	}
	return k, r.hold(memory.Record{Life: &k}, 1000)
}

func (r *reader) leases(agent string) error {
	kept, err := r.tx.HGetAll(r.ctx, r.key(agent, leasesPart)).Result()
	if err != nil {
		return err
	}
	for _, client := range slices.Sorted(maps.Keys(kept)) {
		l, err := readLease(kept[client])
		if err != nil {
			return err
		}
		k := memory.KeptLease{Agent: agent, Client: client, Cause: string(l.Cause), Since: l.Since, Until: l.Until}
		if err := r.hold(memory.Record{Lease: &k}, 100); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) slot(agent string) error {
	h, err := r.tx.HGetAll(r.ctx, r.key(agent, slotPart)).Result()
	if err != nil || h["dream"]+h["run"] == "" {
		return err
	}
	k := memory.KeptSlot{Agent: agent, Dream: h["dream"], Run: h["run"], Workflow: h["workflow"], Cluster: h["cluster"]}
	if h["epoch"] != "" {
		if k.Epoch, err = strconv.ParseInt(h["epoch"], 10, 64); err != nil {
			return err
		}
	}
	if k.Since, err = parseDate(h["since"]); err != nil {
		return err
	}
	if h["mood"] != "" {
		k.Mood = &mood.PAD{}
		if err := json.Unmarshal([]byte(h["mood"]), k.Mood); err != nil {
			return err
		}
	}
	return r.hold(memory.Record{Slot: &k}, 500)
}

func (r *reader) affects(agent string) error {
	for from := int64(0); ; from += keysAtOnce {
		kept, err := r.tx.LRange(r.ctx, r.key(agent, affectsPart), from, from+keysAtOnce-1).Result()
		if err != nil || len(kept) == 0 {
			return err
		}
		for i, text := range kept {
			var f felt
			if err := json.Unmarshal([]byte(text), &f); err != nil {
				return err
			}
			k := memory.KeptAffect{Agent: agent, Number: int(from) + i + 1, Cause: f.Cause, Affect: f.Affect}
			if err := r.hold(memory.Record{Affect: &k}, len(text)); err != nil {
				return err
			}
		}
	}
}

func (r *reader) events(agent string) error {
	for next := "-"; ; {
		found, err := r.tx.XRangeN(r.ctx, r.key(agent, "events"), next, "+", eventsAtOnce).Result()
		if err != nil || len(found) == 0 {
			return err
		}
		for _, m := range found {
			e, err := decodeEvent(m)
			if err != nil {
				return err
			}
			k := memory.KeptEvent{
				Agent: agent, Seq: e.Seq, ID: e.ID, Schema: e.Schema, Subsystem: e.Subsystem, Dream: e.Dream, Type: e.Type, At: e.At.UTC(),
				Data: memory.Raw(e.Data),
			}
			if err := r.hold(memory.Record{Event: &k}, 200+len(k.Data)); err != nil {
				return err
			}
			next = "(" + m.ID
		}
	}
}

// envelopeOf writes an event's envelope as Commit does.
func envelopeOf(k memory.KeptEvent) (string, error) {
	envelope, _, err := encodeEvent(event.Event{
		ID: k.ID, Schema: k.Schema, Subsystem: k.Subsystem, Agent: k.Agent, Dream: k.Dream, Type: k.Type, At: k.At,
	})
	return envelope, err
}

func (r *reader) notes(agent string, dreams []string) error {
	for _, dream := range dreams {
		notes, err := r.tx.HGetAll(r.ctx, r.notesKey(agent, dream)).Result()
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(notes)) {
			k := memory.KeptNote{Agent: agent, Dream: dream, Key: key, Value: []byte(notes[key])}
			if err := r.hold(memory.Record{Note: &k}, len(k.Value)); err != nil {
				return err
			}
		}
	}
	return nil
}
