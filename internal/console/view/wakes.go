package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Interruption is one wake out of a dream, from its event.
type Interruption struct {
	Dream string    `json:"dream"`
	At    time.Time `json:"at"`
	event.DreamInterrupted
}

func interruptionOf(e event.Event) (*Interruption, error) {
	i := &Interruption{Dream: e.Dream, At: e.At}
	if err := json.Unmarshal(e.Data, &i.DreamInterrupted); err != nil {
		return i, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return i, nil
}

// Text is the four phases of the wake on one line.
func (i *Interruption) Text() string {
	text := fmt.Sprintf("receipt %s, stop %s (%s), preserve %s, switch %s; together %s", screen.Millis(i.Receipt),
		screen.Millis(i.Stop),
		screen.SleepName(i.Light), screen.Millis(i.Preserve), screen.Millis(i.Switch), screen.Millis(i.total()))
	if i.Forced {
		text += "; a call did not stop in time and was left behind"
	}
	return text
}

func (i *Interruption) total() float64 { return i.Receipt + i.Stop + i.Preserve + i.Switch }

// lookBack bounds how many of an agent's newest events are searched for its wakes: some hundred dreams.
const lookBack = 10_000

// WakesOf finds an agent's newest wakes out of dreams, newest first: up to limit of those wanted.
func WakesOf(ctx context.Context, app *cli.App, a dream.Agent, wanted func(*Interruption) bool,
	limit int,
) ([]*Interruption, error) {
	var found []*Interruption
	err := Backwards(ctx, app.Events, a.ID, func(e event.Event) (more bool, err error) {
		if e.Type != (event.DreamInterrupted{}).EventType() {
			return true, nil
		}
		i, err := interruptionOf(e)
		if err != nil {
			return false, err
		}
		if wanted(i) {
			found = append(found, i)
		}
		return len(found) < limit, nil
	})
	return found, err
}

// Backwards reads an agent's newest events, newest first, until each returns false.
func Backwards(
	ctx context.Context,
	log fabric.Log,
	agent string,
	each func(event.Event) (more bool, err error),
) error {
	newest, err := NewestOf(ctx, log, agent)
	if err != nil {
		return err
	}
	for end := newest; end > 0 && newest-end < lookBack; end -= cli.Page {
		after := max(end-cli.Page, 0)
		events, err := log.Events(ctx, agent, after, int(end-after))
		if err != nil {
			return fmt.Errorf("read the events of %s: %w", agent, err)
		}
		if len(events) == 0 || events[0].Seq > end {
			return nil // older ones were removed (docs/retention.md)
		}
		for _, e := range slices.Backward(events) {
			if e.Seq > end {
				continue
			}
			if more, err := each(e); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// NewestOf finds the number of an agent's newest event. Numbers have no gaps, so it doubles until there is none and
// then bisects.
func NewestOf(ctx context.Context, log fabric.Log, agent string) (int64, error) {
	exists := func(seq int64) (bool, error) {
		events, err := log.Events(ctx, agent, seq-1, 1)
		if err != nil {
			return false, fmt.Errorf("read the events of %s: %w", agent, err)
		}
		return len(events) > 0, nil
	}
	low, high := int64(0), int64(1)
	for {
		there, err := exists(high)
		if err != nil {
			return 0, err
		}
		if !there {
			break
		}
		low, high = high, high*2
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		there, err := exists(middle)
		if err != nil {
			return 0, err
		}
		if there {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// EventsOf reads the events of one dream in order, from its first stretch to the end of its last.
func EventsOf(ctx context.Context, app *cli.App, record *dream.Record) ([]event.Event, error) {
	var found []event.Event
	err := Backwards(ctx, app.Events, record.Agent, func(e event.Event) (more bool, err error) {
		if e.Dream == record.ID {
			found = append(found, e)
		}
		return !e.At.Before(record.At.Add(-time.Minute)), nil // clocks of several processes differ a little
	})
	slices.Reverse(found)
	return found, err
}
