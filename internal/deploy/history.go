package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

// history is what an agent has lived, day by day.
type history struct {
	agent  dream.Agent
	days   []time.Time    // the beginning of each day with an entry, in UTC
	items  [][]dream.Item // of each day, oldest first; no dream made any of them
	digest []byte         // of the agent and all items
}

// evening is the end of a day.
func (h history) evening(day int) time.Time { return h.days[day].AddDate(0, 0, 1).Add(-time.Second) }

// readHistory reads what an agent, or the writer of a diary, has lived.
func (d *Process) readHistory(ctx context.Context, r EvaluationRequest) (history, error) {
	if r.Diary != "" {
		return d.historyOfLife(ctx, r.Diary, r.Dialogue)
	}
	return livedBy(ctx, r.Store, r.Agent)
}

// historyOfLife imports a diary into a store that is removed again.
func (d *Process) historyOfLife(ctx context.Context, at, dialogue string) (lived history, err error) {
	files, name, err := chronicleFiles(at)
	if err != nil {
		return history{}, err
	}
	agent := sample.Diarist(handleOf(name+dialogue), time.Time{})
	err = aside(ctx, agent, func(dir string) (*Deployment, error) {
		plain, err := plainConfig(dir)
		if err != nil {
			return nil, err
		}
		return build(ctx, plain, plain.StorePath())
	}, func(h *Deployment) error {
		options := h.importOptions(agent)
		options.Dialogue, options.Embed = dialogue, nil
		report, err := importer.Import(ctx, h.store, agent, files, options)
		if err := unreadable(name, report, err); err != nil {
			return err
		}
		lived, err = livedBy(ctx, h.store, agent)
		return err
	})
	return lived, err
}

// aside stores an agent in a deployment that is built in a folder of its own, and removes both when do has ended.
func aside(ctx context.Context, agent dream.Agent, build func(dir string) (*Deployment, error),
	do func(*Deployment) error,
) (err error) {
	dir, err := os.MkdirTemp("", "oneiros-eval-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := build(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.store.Close()) }()
	if err := h.store.PutAgent(ctx, agent); err != nil {
		return err
	}
	return do(h)
}

// livedBy reads the episodes of an agent and the statements that were derived from nothing, as they were before any
// dream.
func livedBy(ctx context.Context, store memory.Store, agent dream.Agent) (history, error) {
	lived := history{agent: agent}
	items, err := store.Find(ctx, memory.Query{
		Agent: agent.ID, Kinds: []dream.Kind{dream.KindEpisode, dream.KindSemantic},
		States: []dream.State{dream.Live, dream.Archived}, Sort: memory.Oldest,
	})
	if err != nil {
		return lived, fmt.Errorf("read what %s has lived: %w", agent.Handle, err)
	}
	hash := sha256.New()
	enc := json.NewEncoder(hash)
	if err := enc.Encode(agent); err != nil {
		return lived, err
	}
	for _, item := range items {
		head := item.Header()
		if head.Dreamt() || len(head.Sources) > 0 { // what is derived may know later days
			continue
		}
		head.State, head.NewerID = dream.Live, "" // a dream may have archived it, for a gist or without one
		if s, ok := item.(*dream.Semantic); ok {
			s.Uses, s.Used = 0, time.Time{}
		}
		if err := enc.Encode(item); err != nil {
			return lived, err
		}
		day := head.At.UTC().Truncate(24 * time.Hour)
		last := len(lived.days) - 1
		if last < 0 || lived.days[last].Before(day) {
			lived.days, lived.items = append(lived.days, day), append(lived.items, nil)
			last++
		}
		lived.items[last] = append(lived.items[last], item)
	}
	if len(lived.days) == 0 {
		return lived, exit.Usagef("%s has lived nothing yet; oneiros memory import gives it a past, and --life reads a "+
			"diary", agent.Handle)
	}
	lived.digest = hash.Sum(nil)
	return lived, nil
}
