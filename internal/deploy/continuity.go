package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/config"
)

const (
	// markServerEvery and markFileEvery are how often a deployment marks its store. A server fails over while processes
	// run; a file is put back while none does.
	markServerEvery = time.Second
	markFileEvery   = time.Minute
	// lossShown is how long doctor and health speak of a loss: caps of the month may count too little until then.
	lossShown = 31 * 24 * time.Hour
	// comparedAfter is how much later than the notice of a loss dreams are compared: each process first enters what it
	// has bought, and Temporal's list of workflows is a few seconds late.
	comparedAfter = time.Minute
	// compareWithin is how long one process compares before another may.
	compareWithin = 10 * time.Minute
)

// Files of the data folder: which mark of the store a process of this folder saw last, and what such processes had bought
// last when they ended. They say nothing of a store of another name.
const (
	markFile      = "store-mark.json"
	purchasesFile = "store-purchases.json"
)

// remembered is what processes of a data folder knew of a store.
type remembered[T any] struct {
	Store string `json:"store"` // its name
	What  T      `json:"what"`
}

// readRemembered reads what is known of a store; the zero value when there is nothing, or nothing that can be read.
func readRemembered[T any](c config.Config, file, store string) (T, error) {
	var k, none remembered[T]
	body, err := os.ReadFile(filepath.Join(c.DataDir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return none.What, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &k)
	}
	if err != nil || k.Store != store {
		return none.What, err
	}
	return k.What, nil
}

// remember replaces what is known of a store, at once.
func remember[T any](c config.Config, file, store string, what T) error {
	body, err := json.Marshal(remembered[T]{store, what})
	if err == nil {
		err = folder(c.DataDir)
	}
	if err != nil {
		return err
	}
	path := filepath.Join(c.DataDir, file)
	partial := fmt.Sprintf("%s.%d", path, os.Getpid())
	err = os.WriteFile(partial, body, 0o600)
	if err == nil {
		err = os.Rename(partial, path)
	}
	return err
}

// storeWatch notices that the store went back to an earlier state.
type storeWatch struct {
	*engine
	every   time.Duration
	seen    memory.Mark
	newest  time.Time // when the newest loss that this process knows of was noticed
	begun   bool
	run     string // of the store's server when it was last asked
	pending bool   // purchases of this process are to be compared with the ledger
	moved   bool   // the newest writes of this process are to be looked for on another run of the server
	fault   string // the last error, which is logged once
}

// watchStore marks the store, and enters into its ledger what it has lost of this process, until ctx ends. Where another
// time than today's is lived, as in the demo and in evaluations, nothing is marked.
func watchStore(ctx context.Context, e *engine) {
	h := e.deployment
	if !h.AsOf.IsZero() || h.Clock != nil {
		return
	}
	w := &storeWatch{engine: e, every: markFileEvery}
	if _, served := h.store.store.(memory.Conditioned); served {
		w.every = markServerEvery
	}
	var err error
	w.seen, err = readRemembered[memory.Mark](h.config, markFile, h.store.name)
	e.warn(ctx, err, "the last mark cannot be read: that the store was put back is not noticed", "file", markFile)
	e.warn(ctx, w.begin(), "purchases are not kept: those of a killed process may be missing if the store goes back")
	e.marks = true
	for {
		w.report(ctx, w.look(ctx))
		if waitFor(ctx, w.every) != nil {
			return
		}
	}
}

// begin begins the journal of this process, and takes over what those before it have bought. What a killed one bought
// is compared: the server may have failed over with it, without a mark or a process that shows it.
func (w *storeWatch) begin() error {
	h := w.deployment
	earlier, killed, err := h.journalPurchases()
	h.guard.Remember(earlier)
	w.pending = killed
	return err
}

// mayLack reports whether one of these losses may have taken what this process, or one before it, has bought.
func (w *storeWatch) mayLack(losses []memory.Loss) bool {
	return slices.ContainsFunc(w.deployment.guard.Purchases(), func(one spend.Purchase) bool {
		return slices.ContainsFunc(losses, func(l memory.Loss) bool { return l.Meets(one.Ask.At, one.Bill.At) })
	})
}

// report logs an error once.
func (w *storeWatch) report(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != w.fault && err != nil {
		w.warn(ctx, err, "the store could not be marked")
	}
	w.fault = text
}

// look compares the store's mark with the one that was seen, and writes the next one when it is time.
func (w *storeWatch) look(ctx context.Context) error {
	store := w.deployment.store
	now := time.Now()
	state, err := store.Swept(ctx)
	if err != nil {
		return err
	}
	retained := state.Continuity.At
	_, lost := state.Missed(w.seen, now)
	if !lost && w.seen.At.Before(retained) && !w.seen.At.IsZero() {
		retained = w.seen.At // the newer mark may have been written after a loss between two marks
	}
	if lost || now.Sub(state.Continuity.At) >= w.every || now.Before(state.Continuity.At) {
		state, err = store.ChangeSwept(ctx, func(s memory.SweepState) (memory.SweepState, error) {
			return s.MarkedAfter(w.seen, now), nil
		})
		if err != nil {
			return err
		}
	}
	// Another run of the server may lack writes that no mark shows: of less than the time between two marks.
	if s, served := store.store.(runs); served {
		run := s.ServerRun()
		if w.run != "" && run != w.run {
			w.pending, w.moved = true, true
		}
		w.run = run
	}
	before := w.seen
	w.seen = state.Continuity.Mark
	newest := state.Continuity.Newest()
	if newest.Noticed.After(w.newest) {
		w.pending = w.pending || w.begun || lost || w.mayLack(state.Continuity.Losses)
		w.newest = newest.Noticed
		if w.begun || lost {
			w.log.Warn("the store has lost what was written: "+lossText(newest), "since", newest.Since, "last",
				newest.Last)
		}
	}
	w.begun = true
	if w.meter != nil {
		w.meter.Lost(state.Continuity)
	}
	if w.seen != before {
		err = remember(w.deployment.config, markFile, w.deployment.store.name, w.seen)
	}
	return errors.Join(err, w.reenter(ctx, memory.Loss{Since: retained, Noticed: now.UTC()}))
}

// runs is a store on a server, of which another run may lack the newest writes.
type runs interface {
	ServerRun() string
	MissingWrite(ctx context.Context) (last time.Time, err error)
}

// reenter enters what this process has bought and the store has lost, and looks for what else it has written. Where no
// mark is missing, this is what shows the loss.
func (w *storeWatch) reenter(ctx context.Context, loss memory.Loss) error {
	entered, err := w.deployment.guard.Resettle(ctx)
	if !w.pending && len(entered) == 0 {
		return err
	}
	last, fault := w.missingWrite(ctx)
	loss.Last = last
	if err == nil && w.pending {
		var more []spend.Purchase
		more, err = w.deployment.reenter(ctx)
		entered = append(entered, more...)
	}
	w.pending = err != nil || fault != nil
	if errors.Is(err, errHeld) {
		err = nil
	}
	err = errors.Join(err, fault)
	loss.Reentered.Calls = len(entered)
	for _, one := range entered {
		loss.Reentered.Amount = spend.Add(loss.Reentered.Amount, one.Counts())
		if one.Ask.At.After(loss.Last) { // its end may have come after the loss
			loss.Last = one.Ask.At.UTC()
		}
		if before := one.Ask.At.Add(-w.every).UTC(); before.Before(loss.Since) {
			loss.Since = before // the newest mark before it was kept, or there would be a loss
		}
	}
	if loss.Last.IsZero() {
		return err
	}
	if loss.Since.After(loss.Last) { // the mark was written after the loss
		loss.Since = time.Time{}
	}
	w.log.Warn("the store lacks what this process has written; purchases are in its ledger again", "last", loss.Last,
		"calls", loss.Reentered.Calls, "amount", loss.Reentered.Amount)
	state, counted := w.deployment.store.ChangeSwept(ctx, func(s memory.SweepState) (memory.SweepState, error) {
		s.Continuity = s.Continuity.WithMissing(loss)
		return s, nil
	})
	if counted == nil {
		w.newest = state.Continuity.Newest().Noticed
	}
	return errors.Join(err, counted)
}

// missingWrite returns when the last write to memory of this process was acknowledged that another run of the server
// lacks; the zero time when none is missing.
func (w *storeWatch) missingWrite(ctx context.Context) (last time.Time, err error) {
	s, served := w.deployment.store.store.(runs)
	if !served || !w.moved {
		return last, nil
	}
	last, err = s.MissingWrite(ctx)
	w.moved = err != nil
	return last.UTC(), err
}

// errHeld says that another process does this work now.
var errHeld = errors.New("another process does this now")

// compareLosses enters what dreams have spent by their workflows in times of which the store has lost what was written,
// and announces each loss to the agents. One worker of the deployment does it at a time, until all dreams of that time
// have closed.
func compareLosses(ctx context.Context, e *engine) error {
	state, err := e.deployment.store.Swept(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, loss := range state.Continuity.Losses {
		if !loss.Compared.IsZero() || time.Since(loss.Noticed) < comparedAfter {
			continue
		}
		err := compareLoss(ctx, e, loss)
		if !errors.Is(err, errHeld) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

func compareLoss(ctx context.Context, e *engine, loss memory.Loss) error {
	h := e.deployment
	change := func(change func(*memory.Loss) error) error {
		_, err := h.store.ChangeSwept(ctx, func(s memory.SweepState) (memory.SweepState, error) {
			var refused error
			s = s.Change(loss.Noticed, func(l memory.Loss) memory.Loss {
				refused = change(&l)
				return l
			})
			return s, refused
		})
		return err
	}
	now := time.Now().UTC()
	err := change(func(l *memory.Loss) error {
		if l.Holder != "" && l.Holder != h.Holder && now.Before(l.Until) {
			return errHeld
		}
		l.Holder, l.Until = h.Holder, now.Add(compareWithin)
		return nil
	})
	if err != nil {
		return err
	}
	if !loss.Announced {
		err = announceLoss(ctx, h, loss)
		if err != nil {
			return err
		}
	}
	done, running, err := e.starter.ForLostDreams(e.converters.DataConverter).Reenter(ctx, loss)
	if done.Calls > 0 {
		e.log.Warn("what dreams had spent and the store had lost is in its ledger again", "amount", done.Amount)
	}
	return errors.Join(err, change(func(l *memory.Loss) error {
		l.Announced = true
		l.Reentered = l.Reentered.Plus(done)
		if err == nil && running == 0 {
			l.Holder, l.Until, l.Compared = "", time.Time{}, now
		}
		return nil
	}))
}

// announceLoss writes into the log of each agent that something of it may be lost.
func announceLoss(ctx context.Context, h *Deployment, loss memory.Loss) error {
	agents, err := h.store.Agents(ctx)
	if err != nil {
		return err
	}
	for _, a := range agents {
		id := fmt.Sprintf("lost/%d", loss.Noticed.UnixNano())
		e := event.New(id, a.ID, "", loss.Noticed, event.WritesLost{
			Since: loss.Since, Last: loss.Last,
			Noticed: loss.Noticed,
		})
		_, err := h.store.Commit(ctx, memory.Write{Agent: a.ID, Cause: "operator", Events: []event.Event{e}})
		if err != nil && !errors.Is(err, memory.ErrRemoved) {
			return fmt.Errorf("announce to %s what was lost: %w", a.Handle, err)
		}
	}
	return nil
}

// lossText says of which time what was written is lost, as far as it is known.
func lossText(l memory.Loss) string {
	from := "from an unknown time"
	if !l.Since.IsZero() {
		from = "after " + l.Since.UTC().Format(time.RFC3339)
	}
	text := fmt.Sprintf("what was written %s until %s is lost, and what was written until %s may be", from,
		l.Last.UTC().Format(time.RFC3339), l.Noticed.UTC().Format(time.RFC3339))
	if l.Reentered.Calls > 0 {
		text += fmt.Sprintf("; %s of lost purchases are in the ledger again", l.Reentered.Amount)
	}
	return text
}

// checkLosses says whether the store went back to an earlier state, and of which time writes are lost.
func (d doctor) checkLosses(ctx context.Context) Finding { return d.onStore(ctx, lookForLosses) }

// StoreLosses reports what the store has lost; false when the store cannot tell.
func (h *Deployment) StoreLosses(ctx context.Context) (Finding, bool) {
	if h.store.store == nil {
		return Finding{}, false
	}
	return lookForLosses(ctx, h), true
}

func lookForLosses(ctx context.Context, h *Deployment) Finding {
	state, err := h.store.Swept(ctx)
	if err != nil {
		return warned("Fix the store first.", "not checked: %v", err)
	}
	return lossFinding(state.Continuity, time.Now())
}

func lossFinding(c memory.Continuity, now time.Time) Finding {
	var texts []string
	for _, l := range c.Losses {
		if now.Sub(l.Noticed) < lossShown {
			texts = append(texts, lossText(l))
		}
	}
	switch {
	case len(texts) > 0:
		return warned("Compare these days with the provider's bill (oneiros spend --by day); docs/operations.md, "+
			"section \"The store has lost writes\", says what is lost. This line goes 31 days after the loss.",
			"%s", strings.Join(texts, "; "))
	case c.Number == 0:
		return passed("the store was not marked yet; a worker or a server does it")
	}
	return passed("no writes were lost, as far as the marks tell; the newest is of %s", c.At.UTC().Format(time.RFC3339))
}
