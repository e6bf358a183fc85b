package redisstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
)

var eraseScript = script("money", "book", "memory", "erase")

// errHeld says that the append-only file still holds what is erased.
var errHeld = errors.New("the items are erased, but the server's append-only file holds their text until it is rewritten: " +
	"run BGREWRITEAOF there, or forget again")

// A rewrite of the append-only file that is under way may have begun before the erasure: it is waited for.
const (
	rewriteLook = 20 * time.Millisecond
	rewriteWait = 30 * time.Second
)

// Forget erases items, their revisions and vectors, takes their ids out of what was made from them, and drops the answers
// that dreams made or changed them from or showed them for, in one step. Then it has the server rewrite its append-only file, which goes on
// after Forget has returned: only when that is done is the text nowhere on the server's disk.
// Replicas, backups and the server's own slow log are beyond it.
func (s *Store) Forget(ctx context.Context, agent string, ids ...string) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	erased := 0
	err := s.settle(ctx, func(int) (bool, error) {
		var torn bool
		var err error
		erased, torn, err = s.erase(ctx, agent, ids)
		return torn, err
	})
	if err == nil {
		err = s.eraseSaid(context.WithoutCancel(ctx))
	}
	if err == nil {
		err = s.dropTalks(context.WithoutCancel(ctx), agent) // they may quote what is gone
	}
	if err == nil {
		err = s.rewrite(context.WithoutCancel(ctx)) // what is erased must not outlive its caller's patience
	}
	return erased, wrap(err, "forget memories of ", agent)
}

// put is a row to put back.
type put struct {
	Part   string `json:"part"`
	Name   string `json:"name"`
	Number int    `json:"number,omitempty"` // of a revision
}

type erasePlan struct {
	Token  string   `json:"token"`
	Agent  string   `json:"agent"`
	Pulse  int64    `json:"pulse"`
	Gone   []string `json:"gone"`
	Dreams []string `json:"dreams,omitempty"` // whose answers go too
	Shown  []string `json:"shown,omitempty"`  // dreams whose prompts showed them: their late notes go too
	Late   string   `json:"late"`             // what the keys of these begin with
	Put    []put    `json:"put,omitempty"`

	gone  map[string]bool
	blobs []any
}

func (s *Store) erase(ctx context.Context, agent string, ids []string) (erased int, torn bool, err error) {
	p := erasePlan{Token: rand.Text(), Agent: agent, Late: memory.LateNote, gone: map[string]bool{}}
	if p.Pulse, err = s.counter(ctx, agent, "pulse"); err != nil {
		return 0, false, err
	}
	if err := s.condemn(ctx, &p, ids); err != nil || len(p.Gone) == 0 {
		return 0, false, err
	}
	if err := s.betray(ctx, &p); err != nil {
		return 0, false, err
	}
	if err := s.scrub(ctx, &p); err != nil {
		return 0, false, err
	}
	said, err := s.of(ctx, eraseScript, agent, p, p.blobs...)
	if err != nil || text(said, 0) == "torn" {
		return 0, err == nil, err
	}
	return len(p.Gone), false, refusal(said)
}

// condemn finds which of the ids there are, and the dreams that made or changed them.
func (s *Store) condemn(ctx context.Context, p *erasePlan, ids []string) error {
	ids = distinct(ids)
	histories, err := s.histories(ctx, p.Agent, ids)
	if err != nil {
		return err
	}
	var causes []string
	for i, history := range histories {
		if len(history) == 0 {
			continue
		}
		p.Gone, p.gone[ids[i]] = append(p.Gone, ids[i]), true
		for _, r := range history {
			causes = append(causes, r.marks.Cause, r.marks.Dream)
		}
	}
	p.Dreams = slices.DeleteFunc(distinct(causes), func(cause string) bool { return cause == "" })
	return nil
}

// betray finds the dreams whose notes name what goes, as a JSON text: their prompts showed it.
func (s *Store) betray(ctx context.Context, p *erasePlan) error {
	names := make([][]byte, len(p.Gone))
	for i, id := range p.Gone {
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
			if namesAny(notes, names) {
				p.Shown = append(p.Shown, strings.TrimPrefix(key, start))
			}
		}
		return nil
	})
	p.Shown = distinct(p.Shown) // a scan may show a key twice
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

// scrub takes the ids of what goes out of every revision of the items that name them.
func (s *Store) scrub(ctx context.Context, p *erasePlan) error {
	var naming []string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		replies, err := s.client.Pipelined(ctx, func(line redis.Pipeliner) error {
			for _, id := range p.Gone {
				line.SMembers(ctx, s.key(p.Agent, "refers:"+id))
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
	if err != nil {
		return err
	}
	slices.Sort(naming)
	naming = slices.DeleteFunc(slices.Compact(naming), func(id string) bool { return p.gone[id] })
	histories, err := s.histories(ctx, p.Agent, naming)
	if err != nil {
		return err
	}
	for _, history := range histories {
		for i, r := range history {
			if err := p.putBack(r, i == len(history)-1); err != nil {
				return fmt.Errorf("scrub %s: %w", r.id, err)
			}
		}
	}
	return nil
}

func (p *erasePlan) putBack(r row, newest bool) error {
	body, changed, err := past.Scrub(r.kind, []byte(r.body), p.gone)
	if err != nil || !changed {
		return err
	}
	r.body = string(body)
	r.marks.Refers = slices.DeleteFunc(r.marks.Refers, func(id string) bool { return p.gone[id] })
	packed, err := r.packed()
	where := put{Part: "revisions", Name: r.id, Number: r.number}
	if newest {
		where = put{Part: "items", Name: r.id}
	}
	p.Put = append(p.Put, where)
	p.blobs = append(p.blobs, fmt.Sprint(r.number, " ", packed))
	return err
}

// rewrite has the server write its append-only file anew.
func (s *Store) rewrite(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rewriteWait)
	defer cancel()
	for {
		err := s.client.BgRewriteAOF(ctx).Err()
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "in progress") {
			return fmt.Errorf("%w: %w", errHeld, err)
		}
		wait := time.NewTimer(rewriteLook)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("%w: %w", errHeld, err)
		}
	}
}
