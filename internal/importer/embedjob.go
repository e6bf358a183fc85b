package importer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// How long a claim on a job lasts unless it is renewed, which happens three times as often, and how often a worker
// looks for jobs. The job of a killed process goes to another one after the first.
const (
	claimFor  = 15 * time.Second
	lookEvery = 2 * time.Second
)

// A failed job is retried after the first of these, then after twice as long each time, up to the second.
const (
	retryFirst   = time.Minute
	retryLongest = 30 * time.Minute
)

// EmbedStore stores memories and the jobs of embedding them.
type EmbedStore interface {
	memory.Store
	memory.EmbedQueue
}

// EmbedWorker embeds agents' memories under a claim in the store, so that only one process does the work. Vectors
// that were made before it stopped stay, and the next process continues with items without a vector.
type EmbedWorker struct {
	Store  EmbedStore
	Holder string // names this process in the store; no two share one
	Now    func() time.Time
	Log    *slog.Logger // nil: silent

	// Serving returns the embedder that serves an agent.
	Serving func(ctx context.Context, agent dream.Agent) (Embedder, error)
}

// EmbedHeld is the error of a job that another process holds.
type EmbedHeld struct{ Job memory.EmbedJob }

// Error names the process that holds the job, and its progress.
func (h *EmbedHeld) Error() string {
	return fmt.Sprintf("process %s embeds these memories: %d of %d are done", h.Job.Holder, h.Job.Done, h.Job.Total)
}

// RequestEmbedding adds a job that embeds an agent's memories in the background.
func RequestEmbedding(ctx context.Context, jobs memory.EmbedQueue, agent dream.Agent, now time.Time) error {
	_, err := jobs.PutEmbedJob(ctx, memory.EmbedJob{Agent: agent.ID, Requested: now.UTC()}, now)
	return err
}

// Run does the jobs in the store, one after the other, until ctx ends.
func (w *EmbedWorker) Run(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if err := w.Round(ctx); err != nil && ctx.Err() == nil {
			w.log().Warn("it could not be looked up whose memories are to be embedded", "error", err)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *EmbedWorker) log() *slog.Logger {
	if w.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return w.Log
}

// Round does the jobs that are due. The failure of a job is stored with it and ends no round.
func (w *EmbedWorker) Round(ctx context.Context) error {
	jobs, err := w.Store.EmbedJobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		now := w.Now()
		if j.Live(now) || now.Before(j.Next) {
			continue
		}
		agent, err := w.Store.Agent(ctx, j.Agent)
		if errors.Is(err, memory.ErrNotFound) { // the agent was removed
			_, err = w.Store.EndEmbedJob(ctx, j)
			if err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		w.log().Info("memories are being embedded", "agent", agent.Handle)
		moved, err := w.serve(ctx, agent)
		var held *EmbedHeld
		switch {
		case errors.As(err, &held) || ctx.Err() != nil:
		case err != nil:
			w.log().Warn("memories could not be embedded; it is tried again", "agent", agent.Handle, "embedded",
				moved.Placed, "error", err)
		default:
			w.log().Info("all memories are embedded", "agent", agent.Handle, "embedded", moved.Placed, "space",
				moved.To)
		}
	}
	return nil
}

// serve embeds with the embedder that serves the agent, in its own space: only a person requests a move.
func (w *EmbedWorker) serve(ctx context.Context, agent dream.Agent) (ReembedResult, error) {
	e, err := w.Serving(ctx, agent)
	if err != nil {
		e.Embed = func(context.Context, []string) ([][]float32, string, error) { return nil, "", err }
	}
	e.Stay = true
	return w.Embed(ctx, agent, e, nil)
}

// Embed gives every live memory of an agent that lacks one a vector of the embedder, as Reembed does, and announces
// the end. It returns *EmbedHeld when another process does so already.
func (w *EmbedWorker) Embed(ctx context.Context, agent dream.Agent, e Embedder,
	progress func(done, total int64),
) (ReembedResult, error) {
	now := w.Now()
	before, err := w.Store.EmbedJob(ctx, agent.ID)
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return ReembedResult{}, err
	}
	claim := &embedClaim{worker: w, job: memory.EmbedJob{
		Agent:     agent.ID,
		Requested: now.UTC(),
		Holder:    w.Holder,
		Until:     now.Add(claimFor).UTC(),
		Began:     now.UTC(),
		Failed:    before.Failed,
		Failure:   before.Failure,
	}}
	kept, err := w.Store.PutEmbedJob(ctx, claim.job, now)
	if errors.Is(err, memory.ErrTaken) {
		return ReembedResult{}, &EmbedHeld{kept}
	}
	if err != nil {
		return ReembedResult{}, err
	}
	claim.job.Requested = kept.Requested
	moved, err := claim.run(ctx, agent, e, progress)
	if err == nil && moved.Placed > 0 {
		err = w.announce(ctx, agent, moved, now)
	}
	return moved, err
}

func (w *EmbedWorker) announce(ctx context.Context, agent dream.Agent, moved ReembedResult, began time.Time) error {
	now := w.Now()
	result := event.MemoriesEmbedded{Space: moved.To, Embedded: moved.Placed, Took: now.Sub(began).Milliseconds()}
	id := fmt.Sprintf("embedded/%s/%d", w.Holder, began.UnixNano())
	_, err := w.Store.Commit(ctx, memory.Write{
		Agent:  agent.ID,
		Cause:  "embed",
		Events: []event.Event{event.New(id, agent.ID, "", now.UTC(), result)},
	})
	return err
}

// embedClaim is a job that this process holds.
type embedClaim struct {
	worker *EmbedWorker
	mu     sync.Mutex
	job    memory.EmbedJob
}

// run embeds until every item has a vector and no further request came.
func (c *embedClaim) run(ctx context.Context, agent dream.Agent, e Embedder,
	progress func(done, total int64),
) (ReembedResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { c.keep(ctx, cancel) })
	var all ReembedResult
	var err error
	for first := true; ; first = false {
		var moved ReembedResult
		moved, err = Reembed(ctx, c.worker.Store, agent, e, func(done, total int64) {
			c.count(all.Placed+int(done), all.Placed+int(total))
			if progress != nil {
				progress(int64(all.Placed)+done, int64(all.Placed)+total)
			}
		})
		if first {
			all.From = moved.From
		}
		all.To, all.Placed = moved.To, all.Placed+moved.Placed
		if err != nil {
			break
		}
		var ended bool
		ended, err = c.end(ctx)
		if ended || err != nil {
			break
		}
	}
	lost := context.Cause(ctx)
	cancel(nil)
	renewing.Wait()
	var held *EmbedHeld
	if errors.As(lost, &held) {
		return all, held
	}
	if err != nil {
		c.release(err, lost != nil, !e.Stay && all.From != "" && all.To != all.From)
	}
	return all, err
}

func (c *embedClaim) count(done, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.job.Done, c.job.Total = done, total
	if done > 0 {
		c.job.Failed, c.job.Failure = 0, ""
	}
}

// end removes the job; false when another request came, which is done under the same claim.
func (c *embedClaim) end(ctx context.Context) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended, err := c.worker.Store.EndEmbedJob(ctx, c.job)
	if ended || err != nil {
		return ended, err
	}
	return false, c.renew(ctx)
}

// renew extends the claim and records the progress. Its caller holds the lock.
func (c *embedClaim) renew(ctx context.Context) error {
	now := c.worker.Now()
	c.job.Until = now.Add(claimFor).UTC()
	kept, err := c.worker.Store.PutEmbedJob(ctx, c.job, now)
	if errors.Is(err, memory.ErrTaken) {
		return &EmbedHeld{kept}
	}
	if err == nil {
		c.job.Requested = kept.Requested
	}
	return err
}

// keep renews the claim until ctx ends, and ends the work when another process has the claim.
func (c *embedClaim) keep(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(claimFor / 3)
	defer tick.Stop()
	shown := time.NewTicker(time.Second)
	defer shown.Stop()
	for done := -1; ; {
		select {
		case <-shown.C:
			c.mu.Lock()
			moved := c.job.Done != done
			done = c.job.Done
			c.mu.Unlock()
			if !moved {
				continue
			}
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		err := c.renew(ctx)
		c.mu.Unlock()
		var held *EmbedHeld
		if errors.As(err, &held) {
			cancel(held)
			return
		}
	}
}

// releaseWithin bounds how long the store may take to record that a job was given up.
const releaseWithin = 2 * time.Second

// release gives the job up for another process: at once where this process was told to stop, else after a while, with
// the reason. A move to another space is left to the person who requested it.
func (c *embedClaim) release(why error, stopped, moving bool) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if moving {
		if _, err := c.worker.Store.EndEmbedJob(ctx, c.job); err != nil {
			c.worker.log().Warn("a move that ended early could not be noted", "agent", c.job.Agent, "error", err)
		}
		return
	}
	now := c.worker.Now()
	c.job.Until = now.UTC()
	if !stopped {
		c.job.Failed++
		c.job.Failure = plainFailure(why)
		c.job.Next = now.Add(min(retryLongest, retryFirst<<min(c.job.Failed-1, 10))).UTC()
	}
	if _, err := c.worker.Store.PutEmbedJob(ctx, c.job, now); err != nil {
		c.worker.log().Warn("a job of embedding could not be given up; it is free when its claim ends", "agent",
			c.job.Agent, "error", err)
	}
}

// plainFailure says how embedding failed, without text that a provider may have quoted.
func plainFailure(err error) string {
	if f, ok := inference.AsFailure(err); ok {
		return "the embedder failed: " + string(f.Kind)
	}
	return err.Error()
}
