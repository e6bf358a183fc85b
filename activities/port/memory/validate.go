package memory

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

// Validate returns the first fault of a write that no state of a store could make right. A store calls it before it
// reads or locks anything.
func (w Write) Validate() error {
	if w.Agent == "" {
		return errors.New("the agent's id is empty")
	}
	if strings.HasPrefix(w.CauseOf(), past.UndoCause) {
		return fmt.Errorf("cause %q begins with %q, which only Undo may write", w.CauseOf(), past.UndoCause)
	}
	for _, items := range [][]dream.Item{w.Add, w.Change} {
		for i, item := range items {
			if err := ValidateItem(w.Agent, item); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
	}
	for _, v := range w.Vectors {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	for _, e := range w.Events {
		if err := validateEvent(w.Agent, e); err != nil {
			return err
		}
	}
	if w.Affect != nil {
		if err := w.Affect.PAD.Validate(); err != nil {
			return fmt.Errorf("affect: %w", err)
		}
	}
	return w.validateOnWake()
}

func (w Write) validateOnWake() error {
	if w.Late && (w.Affect != nil || w.OnWake != nil) {
		return errors.New("a late write must not set Affect or Waking: the wake has fixed both")
	}
	if w.OnWake == nil || w.OnWake.Mood == nil {
		return nil
	}
	if w.Fence.Awake() {
		return errors.New("a waking mood is stored with the dreaming slot; this write names no dream")
	}
	if err := w.OnWake.Mood.Validate(); err != nil {
		return fmt.Errorf("the waking mood: %w", err)
	}
	return nil
}

func validateEvent(agent string, e event.Event) error {
	if e.Agent != agent || e.ID == "" || !utf8.ValidString(e.ID) {
		return fmt.Errorf("event %q of agent %q: it needs an id of UTF-8 text, and the agent %q", e.ID, e.Agent, agent)
	}
	return nil
}

// kindTypes maps each kind to the Go type of its items.
var kindTypes = func() map[dream.Kind]reflect.Type {
	types := map[dream.Kind]reflect.Type{}
	for _, kind := range dream.Kinds {
		if item, err := dream.Decode(kind, []byte("{}")); err == nil {
			types[kind] = reflect.TypeOf(item)
		}
	}
	return types
}()

// ValidateItem returns why an item cannot be stored for an agent.
func ValidateItem(agent string, item dream.Item) error {
	if item == nil || reflect.ValueOf(item).IsNil() {
		return errors.New("it is nil")
	}
	h := item.Header()
	if h.ID == "" || !utf8.ValidString(h.ID) {
		return fmt.Errorf("its id is %q; an id is UTF-8 text and not empty", h.ID)
	}
	if h.Agent != agent {
		return fmt.Errorf("%s is of agent %q; this memory is of %q", h.ID, h.Agent, agent)
	}
	if kindTypes[h.Kind] != reflect.TypeOf(item) {
		return fmt.Errorf("%s is a %T and names its kind %q; a kind has one type", h.ID, item, h.Kind)
	}
	switch h.State {
	case dream.Live, dream.Superseded, dream.Archived, dream.Proposed:
		return nil
	}
	return fmt.Errorf("%s has state %q; states are live, superseded, archived and proposed", h.ID, h.State)
}

// Validate refuses a vector that has no cosine.
func (v Vector) Validate() error {
	if v.Space == "" {
		return fmt.Errorf("vector of %s: its space is empty; a space names embedder, version and dimension", v.Item)
	}
	if len(v.V) == 0 {
		return fmt.Errorf("vector of %s: it has no numbers", v.Item)
	}
	for i, x := range v.V {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("vector of %s: number %d is %v; it must be finite", v.Item, i, x)
		}
	}
	return nil
}

// Check refuses a write of a stretch that does not hold the slot (ErrFenced) or that was woken (ErrWoken), given the
// holder of the agent's slot and the agent's epoch. late is for what may still be written after the wake: Write.Late,
// and notes under LateNote. A stretch that was woken and has freed the slot is told of the wake: its workflow may not
// know yet that it freed the slot, when the answer to the server was lost.
func (f Fence) Check(holder Fence, epoch int64, late bool) error {
	if f.Awake() {
		return nil
	}
	woken := epoch > f.Epoch && !late
	freed := woken && holder.Same(Fence{})
	if holder.Same(f) && f.Epoch > epoch {
		return fmt.Errorf("the stretch of dream %q began at epoch %d, and the store knows epoch %d: it was put back to an "+
			"earlier state, or lost its newest writes: %w", f.Dream, f.Epoch, epoch, ErrFenced)
	}
	if holder.Same(Fence{}) && !freed && !f.Same(Fence{}) {
		return fmt.Errorf("dream %q run %q does not hold the slot, and no dream does: it was ended, or the store was put "+
			"back to an earlier state: %w", f.Dream, f.Run, ErrFenced)
	}
	if !holder.Same(f) && !freed || f.Same(Fence{}) {
		return fmt.Errorf("dream %q run %q does not hold the slot, dream %q run %q does: %w",
			f.Dream, f.Run, holder.Dream, holder.Run, ErrFenced)
	}
	if woken {
		return fmt.Errorf("the stretch of dream %q began at epoch %d, and the agent's epoch is %d: %w",
			f.Dream, f.Epoch, epoch, ErrWoken)
	}
	return nil
}

// Check refuses a write whose reading is older than the agent's last forgetting (ErrForgotten).
func (r SeenForgettings) Check(forgettings int64) error {
	if r.Stale(forgettings) {
		return fmt.Errorf("it is based on memories that were read before forgetting %d of the agent: %w",
			forgettings, ErrForgotten)
	}
	return nil
}

// CheckRevision refuses a change of an item that was read at another revision than the newest (ErrStale). An item that
// was read at revision 0 is not checked.
func CheckRevision(read, newest int) error {
	if read != 0 && read != newest {
		return fmt.Errorf("it was read at revision %d and the newest is %d: %w", read, newest, ErrStale)
	}
	return nil
}

// Renamed is the error of Agents.PutAgent for an agent that has dreamt or was woken under its old handle (ErrDreamt).
func Renamed(old, handle string) error {
	return fmt.Errorf("it cannot be renamed to %q, as its counters, dreams and ledger entries are stored under %q: %w",
		handle, old, ErrDreamt)
}
