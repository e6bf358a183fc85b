package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
)

// Undo reverts a dream: what it created is archived, what it changed returns to its state before, both as new
// revisions. What another cause changed after the dream stays, and is listed. Undo reads what the dream touched, and
// writes only if there were no other writes to the agent's memory since.
func (s *Store) Undo(ctx context.Context, agent, dreamID string) (memory.UndoResult, error) {
	var done memory.UndoResult
	if dreamID == "" {
		return done, fmt.Errorf("undo a dream of %s: the dream's id is empty", agent)
	}
	err := s.retryTorn(ctx, func(int) (bool, error) {
		u := undoing{Store: s, agent: agent, dream: dreamID}
		torn, err := u.run(ctx)
		done = u.done
		return torn, err
	})
	if err != nil {
		return memory.UndoResult{}, fmt.Errorf("undo dream %s of %s: %w", dreamID, agent, err)
	}
	return done, nil
}

type undoing struct {
	*Store
	agent, dream string
	version      int64
	affects      []string
	write        memory.Write
	done         memory.UndoResult
}

func (u *undoing) run(ctx context.Context) (torn bool, err error) {
	ids, err := u.touched(ctx)
	if err != nil {
		return false, err
	}
	u.write = memory.Write{Agent: u.agent, Cause: past.UndoCause + u.dream}
	histories, err := u.histories(ctx, u.agent, ids)
	if err != nil {
		return false, err
	}
	for i, history := range histories {
		if len(history) == 0 {
			return true, nil // it was forgotten meanwhile
		}
		if err := u.item(ids[i], history); err != nil {
			return false, fmt.Errorf("%s: %w", ids[i], err)
		}
	}
	if err := u.affect(); err != nil {
		return false, err
	}
	p, err := planWrite(u.write, u.set.now())
	if err != nil {
		return false, err
	}
	p.plan.Version, p.plan.Affects = &u.version, int64(len(u.affects))
	for i := range p.plan.Change { // a revision with the undo's cause is written even for unchanged items
		p.plan.Change[i].Same = true
	}
	args, err := u.runMemory(ctx, commitScript, u.agent, p.plan, p.blobs...)
	if err != nil || text(args, 0) == "torn" {
		return err == nil, err
	}
	return false, refusal(args)
}

// touched lists what the dream created or changed, by id, and reads the affects as of the same moment.
func (u *undoing) touched(ctx context.Context) ([]string, error) {
	var made, changed []string
	var beat string
	err := u.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var version *redis.StringCmd
		var affects, byDream, byCause *redis.StringSliceCmd
		_, err := u.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			version = tx.HGet(ctx, u.key(u.agent, countersPart), "pulse")
			affects = tx.LRange(ctx, u.key(u.agent, affectsPart), 0, -1)
			byDream = tx.SMembers(ctx, u.key(u.agent, "dream:"+u.dream))
			byCause = tx.SMembers(ctx, u.key(u.agent, "cause:"+u.dream))
			return nil
		})
		if ignoreMissing(err) != nil {
			return err
		}
		beat, u.affects = version.Val(), affects.Val()
		made, changed = byDream.Val(), byCause.Val()
		return nil
	})
	if err == nil && beat != "" {
		u.version, err = strconv.ParseInt(beat, 10, 64)
	}
	ids := append(made, changed...)
	slices.Sort(ids)
	return slices.Compact(ids), err
}

func (u *undoing) item(id string, history []row) error {
	causes := make([]string, len(history))
	for i, r := range history {
		causes[i] = r.marks.Cause
	}
	if made := history[0].marks.Dream; made != "" {
		causes[0] = made
	}
	newest := history[len(history)-1]
	effect, at := past.Undoing(causes, u.dream)
	switch effect {
	case past.None:
		return nil
	case past.Archives:
		item, err := newest.item()
		if err != nil {
			return err
		}
		item.Header().State = dream.Archived
		return u.put(item, newest, &u.done.Archived)
	case past.Keeps:
		u.done.Kept = append(u.done.Kept, id)
		return u.restate(history[at], newest, new(int))
	case past.Restores:
	}
	return u.restate(history[at], newest, &u.done.Restored)
}

func (u *undoing) restate(r, newest row, count *int) error {
	item, err := r.item()
	if err != nil {
		return err
	}
	return u.put(item, newest, count)
}

// put makes item the newest revision and counts it, unless it equals the newest one.
func (u *undoing) put(item dream.Item, newest row, count *int) error {
	body, err := json.Marshal(item)
	if err != nil {
		return err
	}
	if string(body) != newest.body {
		*count++
	}
	item.Header().Revision = newest.number
	u.write.Change = append(u.write.Change, item)
	return nil
}

// affect removes the dream's affects from the history and returns to the newest that still counts. It is written even
// when a later affect stands, so that undoing the later one does not return to this dream's.
func (u *undoing) affect() error {
	causes, all := make([]string, len(u.affects)), make([]storedAffect, len(u.affects))
	var faults []error
	for i, body := range u.affects {
		faults = append(faults, json.Unmarshal([]byte(body), &all[i]))
		causes[i] = all[i].Cause
		// an undo repeats what it returns to
		if all[i].Affect.Cause == u.dream && !strings.HasPrefix(all[i].Cause, past.UndoCause) {
			causes[i] = u.dream
		}
	}
	counting := past.Counting(causes)
	if !slices.ContainsFunc(counting, func(i int) bool { return causes[i] == u.dream }) {
		return errors.Join(faults...)
	}
	before := dream.Affect{Cause: "new"}
	if left := past.Counting(append(causes, past.UndoCause+u.dream)); len(left) > 0 {
		before = all[left[len(left)-1]].Affect
	}
	u.write.Affect = &before
	return errors.Join(faults...)
}
