package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/index"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// Store keeps agents and their memories in the memory of this process. It implements memory.DreamStore, presence.Store
// and fabric.Log.
type Store struct {
	mu     sync.Mutex
	agents map[string]*agent // by id
	news   chan struct{}     // closed at the next change
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{agents: map[string]*agent{}, news: make(chan struct{})} }

// agent is everything about one agent. A change is made on a copy, which replaces it when the change succeeds, so maps
// and slices are never changed in place.
type agent struct {
	id     string
	record []byte                   // a dream.Agent as JSON; nil: it was never put
	items  map[string][]entry       // revisions by item, oldest first
	places map[string]memory.Vector // by item, all in space
	space  string                   // of places
	length int                      // of each vector
	notes  map[noteKey][]byte       //
	events []event.Event            // numbered from 1
	moods  []feeling                // oldest first
	slot   memory.Slot              // the zero Slot: nobody dreams
	mood   *memory.MoodOnWake       // that the dream in slot would leave
	dreams int64                    // numbers used
	awake  presence.Status          // with leases that have ended
	digest []string                 // for the next wake
	index  *index.Index             // follows items and places up to changes
	dirty  map[string]int64         // by item, the change it was part of
	change int64                    // rises with every change of an item
}

// entry is one revision of an item.
type entry struct {
	number int
	cause  string
	at     time.Time
	kind   dream.Kind
	body   []byte // JSON
}

type noteKey struct{ dream, key string }

// feeling is an affect with the cause of the write that set it.
type feeling struct {
	cause  string
	affect dream.Affect
}

func (e entry) item() (dream.Item, error) {
	item, err := dream.Decode(e.kind, e.body)
	if err == nil {
		item.Header().Revision = e.number
	}
	return item, err
}

// read returns a copy of an agent's state; empty when there is none.
func (s *Store) read(id string) agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at(id)
}

func (s *Store) at(id string) agent {
	if a := s.agents[id]; a != nil {
		return *a
	}
	return agent{id: id, index: index.New()}
}

// write changes an agent's state, or leaves it as it is when do fails.
func (s *Store) write(id string, do func(*agent) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		return errors.New("the agent's id is empty")
	}
	a := s.at(id)
	a.items, a.places = cloned(a.items), cloned(a.places)
	a.notes, a.dirty = cloned(a.notes), cloned(a.dirty)
	if err := do(&a); err != nil {
		return err
	}
	s.agents[id] = &a
	close(s.news)
	s.news = make(chan struct{})
	return nil
}

func cloned[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// PutAgent stores an agent's record.
func (s *Store) PutAgent(_ context.Context, a dream.Agent) error {
	if a.ID == "" || a.Handle == "" {
		return fmt.Errorf("put agent %q: id and handle must not be empty", a.Handle)
	}
	all, err := s.records()
	if err != nil {
		return err
	}
	return s.write(a.ID, func(kept *agent) error {
		for _, other := range all {
			switch {
			case other.ID != a.ID && other.Handle == a.Handle:
				return fmt.Errorf("handle %q belongs to agent %s: %w", a.Handle, other.ID, memory.ErrTaken)
			case other.ID == a.ID && other.Handle != a.Handle && (kept.dreams > 0 || kept.awake.Epoch > 0):
				return memory.Renamed(other.Handle, a.Handle)
			}
		}
		var err error
		kept.record, err = json.Marshal(a)
		return err
	})
}

func (s *Store) records() ([]dream.Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []dream.Agent
	for _, kept := range s.agents {
		if kept.record == nil {
			continue
		}
		var a dream.Agent
		if err := json.Unmarshal(kept.record, &a); err != nil {
			return nil, fmt.Errorf("read agent %s: %w", kept.id, err)
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b dream.Agent) int { return cmp.Compare(a.Handle, b.Handle) })
	return all, nil
}

// Agent finds an agent by id or handle.
func (s *Store) Agent(_ context.Context, idOrHandle string) (dream.Agent, error) {
	all, err := s.records()
	if err != nil {
		return dream.Agent{}, err
	}
	for _, by := range []func(dream.Agent) string{
		func(a dream.Agent) string { return a.ID }, func(a dream.Agent) string { return a.Handle },
	} {
		if i := slices.IndexFunc(all, func(a dream.Agent) bool { return by(a) == idOrHandle }); i >= 0 {
			return all[i], nil
		}
	}
	return dream.Agent{}, fmt.Errorf("agent %q: %w", idOrHandle, memory.ErrNotFound)
}

// Agents lists the agents by handle.
func (s *Store) Agents(context.Context) ([]dream.Agent, error) { return s.records() }

// Commit applies a write.
func (s *Store) Commit(_ context.Context, w memory.Write) (memory.Receipt, error) {
	var r memory.Receipt
	err := w.Validate()
	if err == nil {
		err = s.write(w.Agent, func(a *agent) error {
			var err error
			r, err = a.commit(w)
			return err
		})
	}
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("commit to the memory of %s: %w", w.Agent, err)
	}
	return r, nil
}

func (a *agent) commit(w memory.Write) (r memory.Receipt, err error) {
	if err := w.Fence.Check(a.slot.Fence, a.awake.Epoch, w.Late); err != nil {
		return r, err
	}
	a.change++
	for _, item := range w.Add {
		if _, exists := a.items[item.Header().ID]; exists {
			r.Existing++
			continue
		}
		r.Added++
		if err := a.put(item, w, nil); err != nil {
			return r, err
		}
	}
	written := map[string]bool{}
	for _, item := range w.Change {
		id := item.Header().ID
		changed, err := a.revise(item, w, written[id])
		if err != nil {
			return r, fmt.Errorf("change %s: %w", id, err)
		}
		written[id] = true
		if changed {
			r.Changed++
		}
	}
	for _, v := range w.Vectors {
		if err := a.place(v); err != nil {
			return r, fmt.Errorf("vector of %s: %w", v.Item, err)
		}
	}
	if w.Affect != nil {
		a.moods = append(slices.Clip(a.moods), feeling{w.CauseOf(), *w.Affect})
	}
	if w.OnWake != nil {
		if !w.Fence.Awake() {
			a.mood = w.OnWake.MoodOnWake()
		}
		a.digest = presence.AppendDigest(slices.Clone(a.digest), w.OnWake.Digest)
	}
	for _, e := range w.Events {
		if slices.ContainsFunc(a.events, func(o event.Event) bool { return o.ID == e.ID }) {
			continue
		}
		e.Seq, e.Data = int64(len(a.events))+1, slices.Clone(e.Data)
		a.events = append(slices.Clip(a.events), e)
	}
	r.LastSeq = int64(len(a.events))
	return r, nil
}

// put appends a revision to an item's history.
func (a *agent) put(item dream.Item, w memory.Write, history []entry) error {
	body, err := json.Marshal(item)
	if err != nil {
		return err
	}
	h := item.Header()
	e := entry{1, w.CauseOf(), time.Now().UTC(), h.Kind, body}
	if n := len(history); n > 0 {
		newest := history[n-1]
		e.number = newest.number + 1
		before, err := newest.item()
		if err != nil {
			return err
		}
		if w.Replaces(newest.cause, before.Header().State, h.State) {
			history = history[:n-1]
		}
	}
	a.items[h.ID] = append(slices.Clip(history), e)
	a.dirty[h.ID] = a.change
	return nil
}

// revise makes item the newest revision. changed is false when it equals the newest one.
func (a *agent) revise(item dream.Item, w memory.Write, again bool) (changed bool, err error) {
	h := item.Header()
	history := a.items[h.ID]
	if len(history) == 0 {
		return false, memory.ErrNotFound
	}
	newest := history[len(history)-1]
	if newest.kind != h.Kind {
		return false, fmt.Errorf("it is a %s and cannot become a %s", newest.kind, h.Kind)
	}
	if err := memory.CheckRevision(h.Revision, newest.number); err != nil && !again {
		return false, err
	}
	body, err := json.Marshal(item)
	if err != nil || bytes.Equal(body, newest.body) {
		return false, err
	}
	return true, a.put(item, w, history)
}

// place stores a vector; the first one sets the agent's space.
func (a *agent) place(v memory.Vector) error {
	if a.space == "" {
		a.space, a.length = v.Space, len(v.V)
	}
	if a.space != v.Space || a.length != len(v.V) {
		return fmt.Errorf("%s with %d numbers, and the agent's vectors are in %s with %d: %w",
			v.Space, len(v.V), a.space, a.length, memory.ErrSpace)
	}
	if len(a.items[v.Item]) == 0 {
		return memory.ErrNotFound
	}
	v.V = slices.Clone(v.V)
	a.places[v.Item] = v
	a.dirty[v.Item] = a.change
	return nil
}

// newest returns the newest revision of an item; nil when there is none.
func (a agent) newest(id string) (dream.Item, error) {
	history := a.items[id]
	if len(history) == 0 {
		return nil, nil
	}
	return history[len(history)-1].item()
}

// Get returns items in the order of ids.
func (s *Store) Get(_ context.Context, agentID string, ids ...string) ([]dream.Item, error) {
	a := s.read(agentID)
	var found []dream.Item
	for _, id := range ids {
		item, err := a.newest(id)
		if err != nil {
			return nil, err
		}
		if item != nil {
			found = append(found, item)
		}
	}
	return found, nil
}

// Find returns the items that match a query.
func (s *Store) Find(_ context.Context, q memory.Query) ([]dream.Item, error) {
	if err := q.Sort.Validate(); err != nil {
		return nil, fmt.Errorf("find memories of %s: %w", q.Agent, err)
	}
	a := s.read(q.Agent)
	var found []dream.Item
	for id := range a.items {
		item, err := a.newest(id)
		if err != nil {
			return nil, err
		}
		if q.Matches(item) {
			found = append(found, item)
		}
	}
	memory.SortItems(found, q.Sort)
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
}

// Count counts what Find would return without a limit.
func (s *Store) Count(ctx context.Context, q memory.Query) (int, error) {
	q.Limit = 0
	found, err := s.Find(ctx, q)
	return len(found), err
}

// Revisions returns every revision of an item.
func (s *Store) Revisions(_ context.Context, agentID, id string) ([]memory.Revision, error) {
	a := s.read(agentID)
	revisions, err := a.revisions(id)
	if err == nil && len(revisions) == 0 {
		err = fmt.Errorf("revisions of %s: %w", id, memory.ErrNotFound)
	}
	return revisions, err
}

func (a agent) revisions(id string) ([]memory.Revision, error) {
	var out []memory.Revision
	for _, e := range a.items[id] {
		item, err := e.item()
		if err != nil {
			return nil, err
		}
		out = append(out, memory.Revision{Number: e.number, Cause: e.cause, At: e.at, Item: item})
	}
	return out, nil
}

// Undo takes back what a dream did.
func (s *Store) Undo(_ context.Context, agentID, dreamID string) (memory.UndoResult, error) {
	var done memory.UndoResult
	if dreamID == "" {
		return done, errors.New("the dream's id is empty")
	}
	err := s.write(agentID, func(a *agent) error {
		var err error
		done, err = a.undo(dreamID)
		return err
	})
	return done, err
}

func (a *agent) undo(dreamID string) (done memory.UndoResult, err error) {
	a.change++
	w := memory.Write{Cause: past.UndoCause + dreamID}
	for _, id := range slices.Sorted(maps.Keys(a.items)) {
		revisions, err := a.revisions(id)
		if err != nil {
			return done, err
		}
		effect, item := memory.UndoItem(revisions, dreamID)
		if effect == past.None {
			continue
		}
		item.Header().Revision = 0
		changed, err := a.revise(item, w, false)
		if err == nil && !changed { // the undo is noted in the history all the same
			err = a.put(item, w, a.items[id])
		}
		if err != nil {
			return done, err
		}
		done.Count(effect, id, changed)
	}
	var writes, affects []string
	for _, f := range a.moods {
		writes, affects = append(writes, f.cause), append(affects, f.affect.Cause)
	}
	if undoes, at := past.UndoingAffect(writes, affects, dreamID); undoes {
		before := feeling{affect: dream.Affect{Cause: "new"}}
		if at >= 0 {
			before = a.moods[at]
		}
		before.cause = w.Cause
		a.moods = append(slices.Clip(a.moods), before)
	}
	return done, nil
}

// catchUp brings an agent's search index up to date.
func (s *Store) catchUp(id string) func() (index.Version, error) {
	return func() (index.Version, error) {
		a := s.read(id)
		v := index.Version{Space: a.space, Numbers: a.length, VectorRevision: a.change}
		return v, a.index.CatchUp(v, func(since int64, put func(index.Entry)) (int64, error) {
			for id, at := range a.dirty {
				if at <= since {
					continue
				}
				item, err := a.newest(id)
				if err != nil {
					return 0, err
				}
				h := item.Header()
				put(index.Entry{
					ID: id, Kind: h.Kind, Owner: item.Marks().Owner, Live: h.State == dream.Live,
					Dreamt: h.Dreamt(), At: h.At, Text: item.Text(), Vector: a.places[id].V,
				})
			}
			return a.change, nil
		})
	}
}

// Near returns the nearest live items.
func (s *Store) Near(_ context.Context, q memory.Near) ([]memory.Hit, error) {
	if err := (memory.Vector{Item: "the search", Space: q.Space, V: q.V}).Validate(); err != nil {
		return nil, err
	}
	return s.read(q.Agent).index.NearNow(q, s.catchUp(q.Agent))
}

// Search returns the live items that match best.
func (s *Store) Search(_ context.Context, q memory.Search) (memory.Found, error) {
	return s.read(q.Agent).index.SearchNow(q, s.catchUp(q.Agent))
}

// Vectors returns stored vectors.
func (s *Store) Vectors(_ context.Context, agentID, space string, ids ...string) ([]memory.Vector, error) {
	a := s.read(agentID)
	var found []memory.Vector
	for _, id := range ids {
		if v, ok := a.places[id]; ok && v.Space == space {
			v.V = slices.Clone(v.V)
			found = append(found, v)
		}
	}
	return found, nil
}

// WithoutVector returns live items without a vector in the space.
func (s *Store) WithoutVector(ctx context.Context, agentID, space string, kinds []dream.Kind,
	limit int,
) ([]dream.Item, error) {
	a := s.read(agentID)
	all, err := s.Find(ctx, memory.Query{Agent: agentID, Kinds: kinds, Sort: memory.Oldest})
	bare := slices.DeleteFunc(all, func(item dream.Item) bool {
		v, ok := a.places[item.Header().ID]
		return ok && v.Space == space
	})
	if limit > 0 && len(bare) > limit {
		bare = bare[:limit]
	}
	return bare, err
}

// Space names the space of the agent's vectors.
func (s *Store) Space(_ context.Context, agentID string) (string, error) {
	return s.read(agentID).space, nil
}

// Affect returns the agent's affect.
func (s *Store) Affect(_ context.Context, agentID string) (dream.Affect, error) {
	a := s.read(agentID)
	return a.affect(), nil
}

func (a agent) affect() dream.Affect {
	if len(a.moods) == 0 {
		return dream.Affect{Cause: "new"}
	}
	return a.moods[len(a.moods)-1].affect
}

// Forgettings is zero: this store forgets nothing.
func (s *Store) Forgettings(context.Context, string) (int64, error) { return 0, nil }

// NextDream numbers the agent's dreams.
func (s *Store) NextDream(_ context.Context, agentID string) (n int64, err error) {
	err = s.write(agentID, func(a *agent) error {
		a.dreams++
		n = a.dreams
		return nil
	})
	return n, err
}

// TakeSlot takes the agent's dreaming slot, or confirms it.
func (s *Store) TakeSlot(_ context.Context, agentID string, want memory.Slot, steal memory.Fence) (memory.Slot, error) {
	var got memory.Slot
	err := s.write(agentID, func(a *agent) error {
		got = a.slot
		switch until := a.awake.Until(); {
		case want.Same(memory.Fence{}):
			return errors.New("a fence names a dream and a run")
		case got.Same(want.Fence):
			return nil
		case !got.Same(memory.Fence{}) && !got.Same(steal):
			return fmt.Errorf("dream %q run %q holds it: %w", got.Dream, got.Run, memory.ErrTaken)
		case until.After(want.Since):
			got = memory.Slot{}
			return fmt.Errorf("the agent is held awake until %s: %w", until, memory.ErrAwake)
		}
		got = want
		got.Since, got.Epoch, got.Read = want.Since.UTC(), a.awake.Epoch, memory.SeenForgettings{}
		a.slot, a.mood = got, nil
		return nil
	})
	return got, err
}

// FreeSlot frees the slot if the fence holds it.
func (s *Store) FreeSlot(_ context.Context, agentID string, f memory.Fence) error {
	return s.write(agentID, func(a *agent) error {
		if a.slot.Same(f) && (f.Epoch == 0 || a.slot.Epoch <= f.Epoch) {
			a.slot, a.mood = memory.Slot{}, nil
		}
		return nil
	})
}

// Slots lists the taken slots.
func (s *Store) Slots(context.Context) (map[string]memory.Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := map[string]memory.Slot{}
	for id, a := range s.agents {
		if !a.slot.Same(memory.Fence{}) {
			taken[id] = a.slot
		}
	}
	return taken, nil
}

// PutNote stores a note, once.
func (s *Store) PutNote(_ context.Context, agentID string, f memory.Fence, key string, value []byte) ([]byte, error) {
	var kept []byte
	err := s.write(agentID, func(a *agent) error {
		if key == "" {
			return errors.New("the note's key is empty")
		}
		if err := f.Check(a.slot.Fence, a.awake.Epoch, strings.HasPrefix(key, memory.LateNote)); err != nil {
			return err
		}
		at := noteKey{f.Dream, key}
		if _, exists := a.notes[at]; !exists {
			a.notes[at] = append([]byte{}, value...)
		}
		kept = append([]byte{}, a.notes[at]...)
		return nil
	})
	return kept, err
}

// Note returns a note.
func (s *Store) Note(_ context.Context, agentID, dreamID, key string) ([]byte, error) {
	a := s.read(agentID)
	value, exists := a.notes[noteKey{dreamID, key}]
	if !exists {
		return nil, fmt.Errorf("note %q of dream %q: %w", key, dreamID, memory.ErrNotFound)
	}
	return append([]byte{}, value...), nil
}

// Notes returns the notes of a dream with a key prefix.
func (s *Store) Notes(_ context.Context, agentID, dreamID, prefix string) (map[string][]byte, error) {
	a := s.read(agentID)
	found := map[string][]byte{}
	for at, value := range a.notes {
		if at.dream == dreamID && strings.HasPrefix(at.key, prefix) {
			found[at.key] = append([]byte{}, value...)
		}
	}
	return found, nil
}

// DropNotes removes notes of a dream by key.
func (s *Store) DropNotes(_ context.Context, agentID, dreamID string, keys []string) error {
	return s.write(agentID, func(a *agent) error {
		for _, key := range keys {
			delete(a.notes, noteKey{dreamID, key})
		}
		return nil
	})
}

// DropAllNotes removes all notes of a dream.
func (s *Store) DropAllNotes(_ context.Context, agentID, dreamID string) error {
	return s.write(agentID, func(a *agent) error {
		maps.DeleteFunc(a.notes, func(at noteKey, _ []byte) bool { return at.dream == dreamID })
		return nil
	})
}

// Events returns events after a sequence number.
func (s *Store) Events(_ context.Context, agentID string, after int64, limit int) ([]event.Event, error) {
	a := s.read(agentID)
	from := min(max(0, after), int64(len(a.events)))
	events := slices.Clone(a.events[from:])
	if limit > 0 && len(events) > limit {
		events = events[:limit]
	}
	return events, nil
}

// Await returns when the agent has events after a sequence number.
func (s *Store) Await(ctx context.Context, agentID string, after int64) error {
	for {
		s.mu.Lock()
		n, news := int64(len(s.at(agentID).events)), s.news
		s.mu.Unlock()
		if n > after {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Heads returns the number of the newest event of these agents, or of every agent.
func (s *Store) Heads(_ context.Context, agents ...string) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heads := map[string]int64{}
	for id, a := range s.agents {
		if n := len(a.events); n > 0 && (len(agents) == 0 || slices.Contains(agents, id)) {
			heads[id] = int64(n)
		}
	}
	return heads, nil
}
