// Package retention removes from a store what has become old: it folds rows of the spend ledger into sums, and removes
// events, earlier revisions and what finished dreams left beside their results.
package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// step is how many rows, events, revisions or items one write removes at most, so that nobody waits long behind it.
const step = 300

// trimEvery is how often an agent's revisions are trimmed: to find old ones, SQLite reads all that are kept.
const trimEvery = 24 * time.Hour

// claim is how long a process holds the right to sweep without renewing it. A killed one is followed after that.
const claim = 2 * time.Minute

// ErrBusy is returned by Pass while another process sweeps.
var ErrBusy = errors.New("another process sweeps")

// Ages say how long each part of a history is kept; 0 keeps it for ever.
type Ages struct {
	Ledger time.Duration // rows of the spend ledger, before they are folded into sums
	Events time.Duration
	Undo   time.Duration // revisions after they were replaced: so long a dream can be undone
	Dreams time.Duration // fragments and scenarios, after the end of their dream; not shorter than Undo
}

// Store is what is swept.
type Store interface {
	memory.Agents
	memory.Items
	memory.Aging
	fabric.Log
}

// Ledger is the spend ledger that is swept.
type Ledger interface{ spend.Folder }

// Sweeper sweeps a deployment. Its fields must not change during a pass.
type Sweeper struct {
	Store  Store
	Ledger Ledger
	Ages   Ages
	Now    func() time.Time
	By     string // identifies the process in the store

	// Archived returns the number of an agent's newest event that is archived; only those before and with it are
	// removed. nil: events are not archived, and all may be removed.
	Archived func(ctx context.Context, agent string) (int64, error)
	// Pause waits after a step that took so long, so that others come to write. nil: a sweep does not wait.
	Pause func(ctx context.Context, took time.Duration) error
	// Dry counts what a pass would remove, and removes nothing.
	Dry bool

	// passed are dreams, by agent and id, that are done although an earlier one of their agent is open.
	passed map[[2]string]bool
}

// Pass sweeps once. What was done stays when it fails or its process dies: the next pass goes on with the rest. An
// error of one agent does not stop the others. ErrBusy.
func (s *Sweeper) Pass(ctx context.Context) (memory.Removed, error) {
	if s.Dry {
		return s.sweep(ctx)
	}
	began := s.Now().UTC()
	err := s.renew(ctx)
	if err != nil {
		return memory.Removed{}, err
	}
	removed, err := s.sweep(ctx)
	_, ending := s.Store.ChangeSwept(context.WithoutCancel(ctx), func(now memory.SweepState) (memory.SweepState, error) {
		if now.Holder == s.By {
			now.Holder, now.Until = "", time.Time{}
		}
		now.Total = now.Total.Plus(removed)
		if err != nil {
			now.Failure, now.Failed = err.Error(), s.Now().UTC()
			return now, nil
		}
		now.Failure, now.Failed = "", time.Time{}
		now.Began, now.Ended, now.Removed = began, s.Now().UTC(), removed
		return now, nil
	})
	return removed, errors.Join(err, ending)
}

// renew takes or keeps the claim. ErrBusy.
func (s *Sweeper) renew(ctx context.Context) error {
	now := s.Now().UTC()
	_, err := s.Store.ChangeSwept(ctx, func(state memory.SweepState) (memory.SweepState, error) {
		if state.Live(s.By, now) {
			return state, fmt.Errorf("%w: %s, until %s", ErrBusy, state.Holder, state.Until.Format(time.RFC3339))
		}
		state.Holder, state.Until = s.By, now.Add(claim)
		return state, nil
	})
	return err
}

// pass is a pass in progress.
type pass struct {
	*Sweeper
	ctx     context.Context
	now     time.Time
	renewed time.Time
	ended   map[string]bool // by dream: whether it ended before the rows of its ledger become old
	removed memory.Removed
	faults  []error
}

func (s *Sweeper) sweep(ctx context.Context) (memory.Removed, error) {
	now := s.Now().UTC()
	p := &pass{
		Sweeper: s,
		ctx:     ctx,
		now:     now,
		renewed: now,
		ended:   map[string]bool{},
	}
	agents, err := s.Store.Agents(ctx)
	if err != nil {
		return p.removed, fmt.Errorf("list the agents to sweep: %w", err)
	}
	for _, a := range agents {
		if err := p.agent(a); err != nil {
			p.faults = append(p.faults, fmt.Errorf("sweep what %s has left: %w", a.Handle, err))
		}
		if ctx.Err() != nil {
			return p.removed, errors.Join(append(p.faults, ctx.Err())...)
		}
	}
	if err := p.ledger(); err != nil {
		p.faults = append(p.faults, fmt.Errorf("fold the spend ledger: %w", err))
	}
	return p.removed, errors.Join(p.faults...)
}

// write makes one step, renews the claim where it is due, and waits.
func (p *pass) write(do func() (int, error)) (int, error) {
	if now := p.Now(); now.Sub(p.renewed) > claim/4 {
		if err := p.renew(p.ctx); err != nil {
			return 0, err
		}
		p.renewed = now
	}
	began := time.Now()
	n, err := do()
	if err == nil && n > 0 && p.Pause != nil {
		err = p.Pause(p.ctx, time.Since(began))
	}
	return n, err
}

// agent sweeps what one agent left.
func (p *pass) agent(a dream.Agent) error {
	open, err := p.open(a.ID)
	if err != nil {
		return err
	}
	faults := []error{p.events(a.ID, open), p.revisions(a.ID, open), p.details(a.ID)}
	for i, err := range faults {
		if errors.Is(err, memory.ErrTaken) { // it dreams: the next pass comes to it
			faults[i] = nil
		}
	}
	return errors.Join(faults...)
}

// open returns the dreams of an agent that are not closed yet, with the time that each began.
func (p *pass) open(agent string) (map[string]time.Time, error) {
	records, err := p.Store.Find(p.ctx, memory.Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States,
		Statuses: []string{string(dream.Dreaming), dream.RecordWaits},
	})
	open := map[string]time.Time{}
	for _, r := range memory.As[*dream.Record](records) {
		if r.Unsettled() {
			open[r.ID] = r.At
		}
	}
	return open, err
}

// before returns the time before which something of an age is old; false when nothing ever is.
func (p *pass) before(age time.Duration) (time.Time, bool) { return p.now.Add(-age), age > 0 }

// events removes an agent's oldest events up to the first that is not old, belongs to a dream that is not closed, or is
// not archived yet. The newest stays.
func (p *pass) events(agent string, open map[string]time.Time) error {
	cutoff, some := p.before(p.Ages.Events)
	if !some {
		return nil
	}
	oldest, err := p.Store.Events(p.ctx, agent, 0, 1)
	if err != nil || len(oldest) == 0 || !oldest[0].At.Before(cutoff) {
		return err // most passes find nothing
	}
	archived := int64(-1)
	for after := int64(0); ; {
		events, err := p.Store.Events(p.ctx, agent, after, step+1)
		if err != nil || len(events) == 0 {
			return err
		}
		if archived < 0 && p.Archived != nil {
			archived, err = p.Archived(p.ctx, agent)
			if err != nil {
				return err
			}
		}
		n, through := 0, after
		for _, e := range events[:len(events)-1] { // the next one proves that there are newer ones
			_, waits := open[e.Dream]
			if waits || !e.At.Before(cutoff) || p.Archived != nil && e.Seq > archived {
				break
			}
			n, through = n+1, e.Seq
		}
		if n > 0 && !p.Dry {
			n, err = p.write(func() (int, error) { return p.Store.TrimEvents(p.ctx, agent, through, step) })
		}
		p.removed.Events += n
		if err != nil || n < len(events)-1 || len(events) <= step {
			return err
		}
		after = through
	}
}

// revisions removes revisions and affects that were replaced before a dream that can be undone began.
func (p *pass) revisions(agent string, open map[string]time.Time) error {
	cutoff, some := p.before(p.Ages.Undo)
	if !some {
		return nil
	}
	for _, began := range open {
		if began.Before(cutoff) {
			cutoff = began
		}
	}
	if p.Dry {
		return nil // a store counts them only by removing them
	}
	aged, err := p.Store.Aged(p.ctx, agent)
	if err != nil || aged.Undo.After(cutoff.Add(-trimEvery)) {
		return err
	}
	for {
		n, err := p.write(func() (int, error) { return p.Store.TrimRevisions(p.ctx, agent, cutoff, step) })
		p.removed.Revisions += n
		if err != nil || n == 0 {
			return err
		}
	}
}

// ledger folds attempts of the past.
func (p *pass) ledger() error {
	cutoff, some := p.before(p.Ages.Ledger)
	if !some {
		return nil
	}
	for after := int64(0); ; {
		rows, next, err := p.Ledger.Attempts(p.ctx, after, step)
		if err != nil {
			return err
		}
		var old []spend.Row
		young := len(rows)
		for _, r := range rows {
			if !r.At.Before(cutoff) {
				continue
			}
			young--
			over, err := p.over(r, cutoff)
			if err != nil {
				return err
			}
			if over {
				old = append(old, r)
			}
		}
		n := len(old)
		if n > 0 && !p.Dry {
			n, err = p.write(func() (int, error) { return p.Ledger.Fold(p.ctx, old) })
		}
		p.removed.Attempts += n
		if err != nil || next == 0 || young > 0 && young == len(rows) {
			return err // what follows was reserved later
		}
		after = next
	}
}

// over reports whether nothing needs an old attempt any more: it has ended, no later process reads its answer, and its
// dream ended before the time.
func (p *pass) over(r spend.Row, cutoff time.Time) (bool, error) {
	if r.State == spend.Open || spend.Lasting(r.Step) || !r.Ended.Before(cutoff) {
		return false, nil
	}
	if r.Dream == "" {
		return true, nil
	}
	over, cached := p.ended[r.Dream]
	if !cached {
		record, err := memory.One[*dream.Record](p.ctx, p.Store, r.Agent, r.Dream)
		switch {
		case errors.Is(err, memory.ErrNotFound): // it was forgotten, or its agent removed
			over = true
		case err != nil:
			return false, err
		default:
			over = !record.Unsettled() && record.Ended.Before(cutoff)
		}
		p.ended[r.Dream] = over
	}
	return over, nil
}
