package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var eraseScript = script("money", "book", "memory", "erase")

// errNotRewritten means that the append-only file still contains what was erased.
var errNotRewritten = errors.New(
	"the items are erased, but the server's append-only file holds their text until it is rewritten: " +
		"run BGREWRITEAOF there, or forget again")

// A rewrite of the append-only file that is already running may have begun before the erasure, so Erase waits for its
// end.
const (
	rewriteLook = 20 * time.Millisecond
	rewriteWait = 30 * time.Second
)

// eraser erases items for good.
type eraser struct{ items }

// Forget erases these items alone.
func (s eraser) Forget(ctx context.Context, agent string, ids ...string) (int, error) {
	done, err := s.Erase(ctx, agent, memory.Erasure{IDs: ids})
	return done.Items, err
}

// Erase applies an erasure in one step. Then it lets the server rewrite its append-only file, which continues after
// Erase has returned. Only after that the text is nowhere on the server's disk. Replicas, backups and the server's slow
// log are not covered.
func (s eraser) Erase(ctx context.Context, agent string, e memory.Erasure) (memory.EraseResult, error) {
	var done memory.EraseResult
	err := s.retryTorn(ctx, func(int) (bool, error) {
		p := &erasePlan{
			eraser:  s,
			ctx:     ctx,
			Token:   rand.Text(),
			Agent:   agent,
			Late:    memory.LateNote,
			removed: map[string]bool{},
			words:   e.Words,
		}
		torn := p.carryOut(e)
		done = p.done
		return torn, p.err
	})
	if err == nil {
		err = s.eraseResponses(context.WithoutCancel(ctx))
	}
	if err == nil {
		err = s.dropTalks(context.WithoutCancel(ctx), agent) // they may quote what was erased
	}
	if err == nil {
		err = s.dropResponses(context.WithoutCancel(ctx), agent)
	}
	if err == nil {
		err = s.scrubRooms(context.WithoutCancel(ctx), agent, e.Words)
	}
	if err == nil && !e.More {
		err = s.rewrite(context.WithoutCancel(ctx)) // must start even if the caller gives up
	}
	return done, store.Wrap(err, "forget memories of ", agent)
}

// put is a row to be written back.
type put struct {
	Part   string `json:"part"`
	Name   string `json:"name"`
	Number int    `json:"number,omitempty"` // of a revision
	// Of an item: its text changes, so its places change and its vectors are deleted.
	Other bool `json:"other,omitempty"`
}

// notePut is a note of a dream to be replaced, or dropped.
type notePut struct {
	Dream string `json:"dream"`
	Key   string `json:"key"`
	Drop  bool   `json:"drop,omitempty"`
}

// erasePlan is an erasure while it is planned. It keeps the first fault of its reading.
type erasePlan struct {
	eraser `json:"-"`
	parser
	ctx  context.Context
	done memory.EraseResult

	Token   string    `json:"token"`
	Agent   string    `json:"agent"`
	Version int64     `json:"pulse"`
	IDs     []string  `json:"gone,omitempty"`
	Dreams  []string  `json:"dreams,omitempty"` // dreams whose answers are deleted
	Shown   []string  `json:"shown,omitempty"`  // dreams whose prompts showed the items: their late notes are deleted
	Late    string    `json:"late"`             // prefix of the keys of late notes
	Awake   bool      `json:"awake,omitempty"`  // delete what was bought for the agent while awake
	Put     []put     `json:"put,omitempty"`
	Notes   []notePut `json:"notes,omitempty"`

	removed   map[string]bool
	words     memory.Words
	blobs     []any
	noteBlobs []any
}

// carryOut reads what the erasure concerns and applies it in one step, unless others wrote in between.
func (p *erasePlan) carryOut(e memory.Erasure) (torn bool) {
	if len(e.IDs) == 0 && len(e.Scrub) == 0 && e.Words == nil {
		return false
	}
	version, err := p.counter(p.ctx, p.Agent, "pulse")
	p.fail(err)
	p.Version = version
	scrub := store.Distinct(e.Scrub)
	if e.Words == nil {
		scrub = nil
	}
	p.planDreams(e, scrub)
	p.planNotes(scrub)
	p.scrub(scrub)
	if p.err != nil {
		return false
	}
	args, err := p.runMemory(p.ctx, eraseScript, p.Agent, p, append(p.blobs, p.noteBlobs...)...)
	if err == nil && text(args, 0) == "torn" {
		p.done = memory.EraseResult{}
		return true
	}
	if err == nil {
		err = refusal(args)
	}
	p.fail(err)
	p.done.Items = int(p.number(text(args, 1)))
	return false
}

// read returns the revisions of items, oldest first.
func (p *erasePlan) read(ids []string) [][]row {
	if p.err != nil {
		return nil
	}
	histories, err := p.histories(p.ctx, p.Agent, ids)
	p.fail(err)
	return histories
}

// planDreams finds the dreams that made or changed the items that are erased or scrubbed. An id without an item is
// erased as well, because remains of it may exist.
func (p *erasePlan) planDreams(e memory.Erasure, scrub []string) {
	p.IDs = store.Distinct(e.IDs)
	for _, id := range p.IDs {
		p.removed[id] = true
	}
	var causes []string
	for _, history := range p.read(store.Distinct(slices.Concat(p.IDs, scrub))) {
		p.Awake = p.Awake || len(history) > 0
		for _, r := range history {
			causes = append(causes, r.marks.Cause, r.marks.Dream)
		}
	}
	causes = slices.DeleteFunc(causes, func(cause string) bool { return cause == "" })
	p.Dreams = store.Distinct(append(causes, e.Dreams...))
}

// planNotes finds the dreams whose notes contain such an item's id as a JSON string, because their prompts showed it.
// For every note it plans the removal of what is forgotten.
func (p *erasePlan) planNotes(scrub []string) {
	var names []string
	for _, id := range slices.Concat(p.IDs, scrub) {
		name, err := json.Marshal(id)
		p.fail(err)
		names = append(names, string(name))
	}
	start := p.notesKey(p.Agent, "")
	p.fail(p.scan(p.ctx, start, func(keys []string) error {
		for _, key := range keys {
			dreamID := strings.TrimPrefix(key, start)
			notes, err := p.hash(p.ctx, key)
			if err != nil {
				return err
			}
			if namesAny(notes, names) {
				p.Shown = append(p.Shown, dreamID)
			}
			p.reword(dreamID, notes)
		}
		return nil
	}))
	p.Shown = store.Distinct(p.Shown) // a scan may return a key twice
	p.Dreams = store.Distinct(append(p.Dreams, p.Shown...))
}

func namesAny(notes map[string]string, names []string) bool {
	for _, value := range notes {
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(value, name) }) {
			return true
		}
	}
	return false
}

// reword plans the changes to a dream's notes.
func (p *erasePlan) reword(dreamID string, notes map[string]string) {
	if p.words == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(notes)) {
		left := store.ScrubNote(p.words, key, []byte(notes[key]))
		n := notePut{Dream: dreamID, Key: key, Drop: left.Drop}
		if !left.Changed || slices.Contains(p.Notes, n) { // a scan may return a key twice
			continue
		}
		p.Notes = append(p.Notes, n)
		if !n.Drop {
			p.noteBlobs = append(p.noteBlobs, left.Value)
		}
	}
}

// scrub removes the ids of erased items from every revision of the items that name them, and what is forgotten from the
// items to be scrubbed. It counts how many of the latter change.
func (p *erasePlan) scrub(scrub []string) {
	wanted := map[string]bool{}
	for _, id := range scrub {
		wanted[id] = true
	}
	naming := store.Distinct(append(p.referrers(), scrub...))
	naming = slices.DeleteFunc(naming, func(id string) bool { return p.removed[id] })
	for n, history := range p.read(naming) {
		changed := false
		for i, r := range history {
			words, err := p.scrubRow(r, i == len(history)-1, wanted[naming[n]])
			p.fail(store.Wrap(err, "scrub ", r.id))
			changed = changed || words
		}
		if changed {
			p.done.Scrubbed++
		}
	}
}

// referrers lists the items that name an erased item, or may do so: the items of a dream that name other items of the
// same dream are not indexed one by one.
func (p *erasePlan) referrers() (naming []string) {
	var sets []string
	for _, id := range p.IDs {
		sets = append(sets, p.key(p.Agent, "refers:"+id))
		for at := range id {
			if id[at] == '/' { // the id of a dream's item begins with the dream's id
				sets = append(sets, p.key(p.Agent, "dream:"+id[:at]))
			}
		}
	}
	if len(sets) == 0 || p.err != nil {
		return nil
	}
	replies := make([]*redis.StringSliceCmd, len(sets))
	p.fail(p.together(p.ctx, func(ctx context.Context, line redis.Pipeliner) {
		for i, set := range sets {
			replies[i] = line.SMembers(ctx, set)
		}
	}))
	for _, reply := range replies {
		if reply != nil {
			naming = append(naming, reply.Val()...)
		}
	}
	return naming
}

// scrubRow plans the scrubbed form of a revision. words says that its text changed.
func (p *erasePlan) scrubRow(r row, newest, scrub bool) (words bool, err error) {
	body, changed, err := past.Scrub(r.kind, []byte(r.body), p.removed)
	if changed {
		r.body = string(body)
		r.marks.Refers = slices.DeleteFunc(r.marks.Refers, func(id string) bool { return p.removed[id] })
	}
	before := r.marks.Text
	if err == nil && scrub {
		body, words, err = p.words.Scrub(r.kind, []byte(r.body))
	}
	if err == nil && words {
		err = r.reword(body)
	}
	if err != nil || !changed && !words {
		return false, err
	}
	short, err := r.packed()
	where := put{Part: "revisions", Name: r.id, Number: r.number}
	if newest {
		where = put{Part: "items", Name: r.id, Other: r.marks.Text != before}
	}
	p.Put = append(p.Put, where)
	p.blobs = append(p.blobs, fmt.Sprint(r.number, " ", short))
	return words, err
}

// reword gives a row another body, and updates what depends on its text.
func (r *row) reword(body []byte) error {
	item, err := dream.Decode(r.kind, body)
	if err == nil {
		text := item.Text()
		r.body, r.marks.Text = string(body), textHash(text)
		r.places = places(item.Header().At, item.Marks(), text)
	}
	return err
}

// rewrite lets the server rewrite its append-only file.
func (s *server) rewrite(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rewriteWait)
	defer cancel()
	for {
		err := s.client.BgRewriteAOF(ctx).Err()
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "in progress") {
			return fmt.Errorf("%w: %w", errNotRewritten, err)
		}
		if store.Pause(ctx, rewriteLook, nil) != nil {
			return fmt.Errorf("%w: %w", errNotRewritten, err)
		}
	}
}
