package redisstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
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

// Forget erases these items alone.
func (s *Store) Forget(ctx context.Context, agent string, ids ...string) (int, error) {
	done, err := s.Erase(ctx, agent, memory.Erasure{IDs: ids})
	return done.Items, err
}

// Erase applies an erasure in one step. Then it lets the server rewrite its append-only file, which continues after
// Erase has returned. Only after that the text is nowhere on the server's disk. Replicas, backups and the server's slow
// log are not covered.
func (s *Store) Erase(ctx context.Context, agent string, e memory.Erasure) (memory.EraseResult, error) {
	var done memory.EraseResult
	err := s.retryTorn(ctx, func(int) (bool, error) {
		var torn bool
		var err error
		done, torn, err = s.erase(ctx, agent, e)
		return torn, err
	})
	if err == nil {
		err = s.eraseResponses(context.WithoutCancel(ctx))
	}
	if err == nil {
		err = s.dropTalks(context.WithoutCancel(ctx), agent) // they may quote what was erased
	}
	if err == nil && !e.More {
		err = s.rewrite(context.WithoutCancel(ctx)) // must start even if the caller gives up
	}
	return done, wrap(err, "forget memories of ", agent)
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

type erasePlan struct {
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

func (s *Store) erase(ctx context.Context, agent string, e memory.Erasure) (done memory.EraseResult, torn bool,
	err error,
) {
	if len(e.IDs) == 0 && len(e.Scrub) == 0 && e.Words == nil {
		return done, false, nil
	}
	p := erasePlan{
		Token:   rand.Text(),
		Agent:   agent,
		Late:    memory.LateNote,
		removed: map[string]bool{},
		words:   e.Words,
	}
	p.Version, err = s.counter(ctx, agent, "pulse")
	if err != nil {
		return done, false, err
	}
	scrub := distinct(slices.Clone(e.Scrub))
	if e.Words == nil {
		scrub = nil
	}
	if err := s.planDreams(ctx, &p, e.IDs, scrub); err != nil {
		return done, false, err
	}
	p.Dreams = distinct(append(p.Dreams, e.Dreams...))
	if err := s.planNotes(ctx, &p, scrub); err != nil {
		return done, false, err
	}
	done.Scrubbed, err = s.scrub(ctx, &p, scrub)
	if err != nil {
		return done, false, err
	}
	args, err := s.runMemory(ctx, eraseScript, agent, p, append(p.blobs, p.noteBlobs...)...)
	if err != nil || text(args, 0) == "torn" {
		return memory.EraseResult{}, err == nil, err
	}
	err = refusal(args)
	if err == nil && len(args) > 1 {
		done.Items, err = strconv.Atoi(text(args, 1))
	}
	return done, false, err
}

// planDreams finds the dreams that made or changed the items that are erased or scrubbed. An id without an item is
// erased as well, because remains of it may exist.
func (s *Store) planDreams(ctx context.Context, p *erasePlan, ids, scrub []string) error {
	ids = distinct(slices.Clone(ids))
	p.IDs = ids
	for _, id := range ids {
		p.removed[id] = true
	}
	histories, err := s.histories(ctx, p.Agent, distinct(append(slices.Clone(ids), scrub...)))
	if err != nil {
		return err
	}
	var causes []string
	for _, history := range histories {
		p.Awake = p.Awake || len(history) > 0
		for _, r := range history {
			causes = append(causes, r.marks.Cause, r.marks.Dream)
		}
	}
	p.Dreams = slices.DeleteFunc(distinct(causes), func(cause string) bool { return cause == "" })
	return nil
}

// planNotes finds the dreams whose notes contain such an item's id as a JSON string, because their prompts showed it.
// For every note it plans the removal of what is forgotten.
func (s *Store) planNotes(ctx context.Context, p *erasePlan, scrub []string) error {
	ids := append(slices.Clone(p.IDs), scrub...)
	names := make([][]byte, len(ids))
	for i, id := range ids {
		name, err := json.Marshal(id)
		if err != nil {
			return err
		}
		names[i] = name
	}
	start := s.notesKey(p.Agent, "")
	err := s.scanFrom(ctx, start, func(keys []string) error {
		for _, key := range keys {
			notes, err := s.Notes(ctx, p.Agent, strings.TrimPrefix(key, start), "")
			if err != nil {
				return err
			}
			dreamID := strings.TrimPrefix(key, start)
			if namesAny(notes, names) {
				p.Shown = append(p.Shown, dreamID)
			}
			p.reword(dreamID, notes)
		}
		return nil
	})
	p.Shown = distinct(p.Shown) // a scan may return a key twice
	p.Dreams = distinct(append(p.Dreams, p.Shown...))
	return err
}

func namesAny(notes map[string][]byte, names [][]byte) bool {
	for _, value := range notes {
		if slices.ContainsFunc(names, func(name []byte) bool { return bytes.Contains(value, name) }) {
			return true
		}
	}
	return false
}

// reword plans the changes to a dream's notes.
func (p *erasePlan) reword(dreamID string, notes map[string][]byte) {
	if p.words == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(notes)) {
		n := notePut{Dream: dreamID, Key: key}
		value, changed := []byte(nil), false
		if strings.HasPrefix(key, memory.LateNote) {
			changed, n.Drop = p.words.Holds(notes[key]), true
		} else {
			value, changed = p.words.Note(notes[key])
		}
		if !changed || slices.Contains(p.Notes, n) { // a scan may return a key twice
			continue
		}
		p.Notes = append(p.Notes, n)
		if !n.Drop {
			p.noteBlobs = append(p.noteBlobs, value)
		}
	}
}

// scrub removes the ids of erased items from every revision of the items that name them, and what is forgotten from the
// items to be scrubbed. It returns how many of the latter change.
func (s *Store) scrub(ctx context.Context, p *erasePlan, scrub []string) (int, error) {
	naming, err := s.referrers(ctx, p)
	if err != nil {
		return 0, err
	}
	wanted := map[string]bool{}
	for _, id := range scrub {
		wanted[id] = !p.removed[id]
	}
	naming = distinct(append(naming, scrub...))
	naming = slices.DeleteFunc(naming, func(id string) bool { return p.removed[id] })
	histories, err := s.histories(ctx, p.Agent, naming)
	if err != nil {
		return 0, err
	}
	scrubbed := 0
	for n, history := range histories {
		changed := false
		for i, r := range history {
			words, err := p.scrubRow(r, i == len(history)-1, wanted[naming[n]])
			if err != nil {
				return scrubbed, fmt.Errorf("scrub %s: %w", r.id, err)
			}
			changed = changed || words
		}
		if changed {
			scrubbed++
		}
	}
	return scrubbed, nil
}

// referrers lists the items that name an erased item, or may do so: the items of a dream that name other items of the
// same dream are not indexed one by one.
func (s *Store) referrers(ctx context.Context, p *erasePlan) ([]string, error) {
	var naming []string
	if len(p.IDs) == 0 {
		return nil, nil
	}
	var sets []string
	for _, id := range p.IDs {
		sets = append(sets, s.key(p.Agent, "refers:"+id))
		for at := range id {
			if id[at] == '/' { // the id of a dream's item begins with the dream's id
				sets = append(sets, s.key(p.Agent, "dream:"+id[:at]))
			}
		}
	}
	slices.Sort(sets)
	sets = slices.Compact(sets)
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		replies, err := s.client.Pipelined(ctx, func(line redis.Pipeliner) error {
			for _, set := range sets {
				line.SMembers(ctx, set)
			}
			return nil
		})
		naming = nil
		for _, reply := range replies {
			if set, ok := reply.(*redis.StringSliceCmd); ok {
				naming = append(naming, set.Val()...)
			}
		}
		return err
	})
	slices.Sort(naming)
	return slices.Compact(naming), err
}

// scrubRow plans the scrubbed form of a revision. words says that its text changed.
func (p *erasePlan) scrubRow(r row, newest, scrub bool) (words bool, err error) {
	body, changed, err := past.Scrub(r.kind, []byte(r.body), p.removed)
	if err != nil {
		return false, err
	}
	if changed {
		r.body = string(body)
		r.marks.Refers = slices.DeleteFunc(r.marks.Refers, func(id string) bool { return p.removed[id] })
	}
	before := r.marks.Text
	if scrub {
		body, words, err = p.words.Scrub(r.kind, []byte(r.body))
		if err != nil {
			return false, err
		}
	}
	if words {
		if err := r.reword(body); err != nil {
			return false, err
		}
	}
	if !changed && !words {
		return false, nil
	}
	packed, err := r.packed()
	where := put{Part: "revisions", Name: r.id, Number: r.number}
	if newest {
		where = put{Part: "items", Name: r.id, Other: r.marks.Text != before}
	}
	p.Put = append(p.Put, where)
	p.blobs = append(p.blobs, fmt.Sprint(r.number, " ", packed))
	return words, err
}

// reword gives a row another body, and updates what depends on its text.
func (r *row) reword(body []byte) error {
	item, err := dream.Decode(r.kind, body)
	if err != nil {
		return err
	}
	text := item.Text()
	hash := sha256.Sum256([]byte(text))
	r.body, r.marks.Text = string(body), hex.EncodeToString(hash[:16])
	r.places = places(item.Header().At, item.Marks(), text)
	return nil
}

// rewrite lets the server rewrite its append-only file.
func (s *Store) rewrite(ctx context.Context) error {
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
		wait := time.NewTimer(rewriteLook)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("%w: %w", errNotRewritten, err)
		}
	}
}
