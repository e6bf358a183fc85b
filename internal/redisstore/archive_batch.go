package redisstore

import (
	"fmt"
	"strconv"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// batch holds items of one agent that wait to be written.
type batch struct {
	agent string
	plan  batchPlan
	blobs []any
	bytes int
}

type batchPlan struct {
	Before         string      `json:"before"`
	After          string      `json:"after"`
	Own            string      `json:"own"`
	VectorRevision int64       `json:"tide"`
	Items          []batchItem `json:"items"`
}

type batchItem struct {
	ID     string   `json:"id"`
	Past   int      `json:"past"`
	Spaces []string `json:"spaces,omitempty"`
}

// item adds an item to the batch.
func (f *importer) item(k memory.KeptItem) error {
	c := &f.batch
	if c.agent != k.Agent {
		if err := f.flushBatch(); err != nil {
			return err
		}
		c.agent = k.Agent
	}
	numbers := k.Numbers()
	for i, r := range k.Revisions {
		kept, err := keptRow(k, r, numbers[i])
		if err != nil {
			return fmt.Errorf("item %s, revision %d: %w", k.ID, numbers[i], err)
		}
		c.add(kept)
	}
	next := batchItem{ID: k.ID, Past: len(k.Revisions) - 1}
	for _, v := range k.Vectors {
		next.Spaces = append(next.Spaces, v.Space)
		c.add(string(v.V))
	}
	c.plan.Items = append(c.plan.Items, next)
	if c.bytes < bytesAtOnce && len(c.plan.Items) < itemsAtOnce {
		return nil
	}
	return f.flushBatch()
}

// itemsAtOnce is the maximum number of items in one step of an import.
const itemsAtOnce = 250

func (c *batch) add(blob string) {
	c.blobs = append(c.blobs, blob)
	c.bytes += len(blob)
}

// keptRow computes the sort keys and sets of a revision; its body stays as it is.
func keptRow(k memory.KeptItem, kept memory.KeptRevision, number int) (string, error) {
	item, err := store.ItemOf(k, kept)
	if err != nil {
		return "", err
	}
	r, err := encodeItem(k.Agent, item, kept.Cause, kept.At)
	if err != nil {
		return "", err
	}
	r.body = string(kept.Body)
	packed, err := r.packed()
	return strconv.Itoa(number) + " " + packed, err
}

// flushBatch writes the waiting items. Each batch has its own vector revision, so that a search reads them in pages.
func (f *importer) flushBatch() error {
	c := f.batch
	if len(c.plan.Items) == 0 {
		return nil
	}
	f.batch = batch{agent: c.agent}
	if f.counters.Agent == c.agent {
		c.plan.Own = f.counters.Space
	}
	f.vectorRevision++
	c.plan.VectorRevision = f.vectorRevision
	// written with the next step
	f.do("HSET", f.key(c.agent, countersPart), "tide", f.vectorRevision)
	if f.err != nil {
		return f.err
	}
	return f.advance(func(before, after string) (any, error) {
		c.plan.Before, c.plan.After = before, after
		args, err := f.runMemory(f.ctx, refillScript, c.agent, c.plan, c.blobs...)
		return args, err
	})
}
