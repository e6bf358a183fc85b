package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/retention"
)

// sweeper removes what is older than the configuration says.
func (h *Deployment) sweeper() *retention.Sweeper {
	c := h.config.Retention
	s := &retention.Sweeper{
		Store:  h.store,
		Ledger: h.store.ledger,
		Ages: retention.Ages{
			Ledger: c.Ledger,
			Events: c.Events,
			Undo:   c.Undo,
			Dreams: c.Dreams,
		},
		Now:   time.Now,
		By:    h.Holder,
		Pause: pauseAfter,
	}
	if h.config.Archive.URL != "" {
		s.Archived = h.archived
	}
	return s
}

// longestPause is the longest pause of a sweep between two steps.
const longestPause = 200 * time.Millisecond

// pauseAfter waits as long as a step took, so that a sweep uses the store at most half of the time.
func pauseAfter(ctx context.Context, took time.Duration) error {
	return waitFor(ctx, min(took, longestPause))
}

// waitFor waits for a time, or until ctx ends, and returns the error of ctx.
func waitFor(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// archived returns the number of an agent's newest archived event.
func (h *Deployment) archived(ctx context.Context, agent string) (int64, error) {
	bucket, err := archive.OpenReadOnly(h.config.Archive.URL)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, archiveWithin)
	defer cancel()
	position, err := archive.Find(ctx, bucket, agent)
	return position.Seq, err
}

// sweep looks for what has become old until ctx ends. One worker of the deployment does it at a time.
// Where another time than today's is lived, as in the demo and in evaluations, nothing becomes old.
func sweep(ctx context.Context, e *engine) {
	if !e.deployment.AsOf.IsZero() || e.deployment.Clock != nil {
		return
	}
	every := e.deployment.config.Retention.Every
	text := ""
	for {
		removed, err := sweepIfDue(ctx, e, every)
		switch {
		case err == nil:
			text = ""
		case errors.Is(err, retention.ErrBusy) || ctx.Err() != nil:
		case text != err.Error(): // log each error once, not in every pass
			text = err.Error()
			e.log.Warn("what has become old could not be removed; the next pass tries again", "error", err)
		}
		if removed.Sum() > 0 {
			e.log.Info("what had become old was removed", "attempts", removed.Attempts, "events", removed.Events,
				"revisions", removed.Revisions, "items", removed.Items)
		}
		if waitFor(ctx, min(every, lookEvery)) != nil {
			return
		}
	}
}

// lookEvery is how often a worker looks whether a pass is due: another worker may have made one meanwhile.
const lookEvery = 5 * time.Minute

// sweepIfDue makes a pass unless one was completed within every.
func sweepIfDue(ctx context.Context, e *engine, every time.Duration) (memory.Removed, error) {
	state, err := e.deployment.store.Swept(ctx)
	if err != nil {
		return memory.Removed{}, err
	}
	if e.meter != nil {
		e.meter.Swept(state, every)
	}
	if now := time.Now(); now.Before(state.Ended.Add(every)) && !now.Before(state.Ended) {
		return memory.Removed{}, nil
	}
	removed, err := e.deployment.Sweeper.Pass(ctx)
	if e.meter == nil || errors.Is(err, retention.ErrBusy) {
		return removed, err
	}
	state, read := e.deployment.store.Swept(ctx)
	if read == nil {
		e.meter.Swept(state, every)
	}
	return removed, errors.Join(err, read)
}

// lateAfter is how much longer than retention.every a pass may be away before the doctor says so.
const lateAfter = time.Hour

// checkRetention says when what has become old was last removed, and how much.
func (d doctor) checkRetention(ctx context.Context) Finding {
	return d.onStore(ctx, func(ctx context.Context, h *Deployment) Finding {
		state, err := h.store.Swept(ctx)
		if err != nil {
			return warned("Fix the store first.", "not checked: %v", err)
		}
		return sweptFinding(state, h.config.Retention.Every, time.Now())
	})
}

func sweptFinding(state memory.SweepState, every time.Duration, now time.Time) Finding {
	const advice = "See that a worker runs (oneiros up), or sweep by hand: oneiros store sweep."
	switch {
	case state.Failure != "":
		return warned("See what the store says; the next pass tries again. docs/retention.md says what is removed.",
			"the newest pass failed on %s: %s", state.Failed.Format(time.RFC3339), state.Failure)
	case state.Ended.IsZero():
		return passed("nothing was swept yet; a worker does it once every %s", every)
	case now.Sub(state.Ended) > every+lateAfter:
		return warned(advice, "last swept on %s, which is longer ago than retention.every (%s)",
			state.Ended.Format(time.RFC3339), every)
	}
	return passed("last swept on %s: %s", state.Ended.Format(time.RFC3339), RemovedText(state.Removed))
}

// RemovedText says what was removed.
func RemovedText(r memory.Removed) string {
	if r.Sum() == 0 {
		return "nothing was old"
	}
	return fmt.Sprintf("%s calls folded, %s events, %s revisions, %s fragments and scenarios removed",
		thousands(r.Attempts), thousands(r.Events), thousands(r.Revisions), thousands(r.Items))
}

// SweepError turns the error of a pass into one with an exit code.
func SweepError(err error) error {
	if errors.Is(err, retention.ErrBusy) {
		return exit.Refusedf("%w; it goes on by itself", err)
	}
	return err
}
