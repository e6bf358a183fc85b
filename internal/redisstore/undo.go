package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Undo reverts a dream: what it created is archived, what it changed returns to its state before, both as new
// revisions. What another cause changed after the dream stays, and is listed. Undo reads what the dream touched, and
// writes only if there were no other writes to the agent's memory since.
func (s items) Undo(ctx context.Context, agent, dreamID string) (memory.UndoResult, error) {
	var done memory.UndoResult
	err := store.CheckNames("the dream's id", dreamID)
	if err == nil {
		err = s.retryTorn(ctx, func(int) (bool, error) {
			u := undoing{items: s, dream: dreamID, write: store.UndoWrite(agent, dreamID)}
			torn, err := u.run(ctx)
			done = u.done
			return torn, err
		})
	}
	return store.Result(done, err, "undo dream ", dreamID, " of ", agent)
}

type undoing struct {
	items
	dream   string
	version int64
	aged    memory.Aged
	affects []store.Affect
	write   memory.Write
	done    memory.UndoResult
}

func (u *undoing) run(ctx context.Context) (torn bool, err error) {
	agent := u.write.Agent
	ids, err := u.touched(ctx)
	if err != nil {
		return false, err
	}
	histories, err := u.histories(ctx, agent, ids)
	if err != nil {
		return false, err
	}
	for i, history := range histories {
		if len(history) == 0 {
			return true, nil // it was forgotten meanwhile
		}
		if err := u.item(history); err != nil {
			return false, store.Wrap(err, ids[i])
		}
	}
	u.write.Affect = store.UndoAffect(u.affects, u.dream)
	p, err := u.planWrite(u.write)
	if err != nil {
		return false, err
	}
	p.plan.Version, p.plan.Affects = &u.version, int64(len(u.affects))
	for i := range p.plan.Change { // a revision with the undo's cause is written even for unchanged items
		p.plan.Change[i].Same = true
	}
	args, err := u.runMemory(ctx, commitScript, agent, p.plan, p.blobs...)
	if err != nil || text(args, 0) == "torn" {
		return err == nil, err
	}
	return false, refusal(args)
}

// touched lists what the dream created or changed, by id, and reads the affects as of the same moment.
func (u *undoing) touched(ctx context.Context) ([]string, error) {
	var counters *redis.SliceCmd
	var affects, byDream, byCause *redis.StringSliceCmd
	agent := u.write.Agent
	err := u.together(ctx, func(ctx context.Context, tx redis.Pipeliner) {
		counters = tx.HMGet(ctx, u.key(agent, countersPart), "pulse", undoFromField)
		affects = tx.LRange(ctx, u.key(agent, affectsPart), 0, -1)
		byDream = tx.SMembers(ctx, u.key(agent, "dream:"+u.dream))
		byCause = tx.SMembers(ctx, u.key(agent, "cause:"+u.dream))
	})
	if err != nil {
		return nil, err
	}
	var p parser
	values := counters.Val()
	u.version, u.aged.Undo = p.number(text(values, 0)), p.time(text(values, 1))
	u.affects, err = store.Decode[store.Affect](affects.Val())
	ids := append(byDream.Val(), byCause.Val()...)
	slices.Sort(ids)
	return slices.Compact(ids), errors.Join(p.err, err)
}

// item adds the effect on an item with these revisions to the write.
func (u *undoing) item(history []row) error {
	revisions, err := revisionsOf(history)
	if err != nil {
		return err
	}
	if err := memory.CheckUndo(u.aged, revisions, u.dream); err != nil {
		return err
	}
	effect, item := memory.UndoItem(revisions, u.dream)
	if effect == past.None {
		return nil
	}
	body, err := json.Marshal(item)
	newest := history[len(history)-1]
	u.done.Count(effect, newest.id, string(body) != newest.body)
	item.Header().Revision = newest.number
	u.write.Change = append(u.write.Change, item)
	return err
}
