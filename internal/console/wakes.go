package console

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/fabric"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// interruption is one wake out of a dream, from its event.
type interruption struct {
	Dream string    `json:"dream"`
	At    time.Time `json:"at"`
	event.DreamInterrupted
}

func interruptionOf(e event.Event) (*interruption, error) {
	i := &interruption{Dream: e.Dream, At: e.At}
	if err := json.Unmarshal(e.Data, &i.DreamInterrupted); err != nil {
		return i, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return i, nil
}

// text is the four phases of the wake on one line.
func (i *interruption) text() string {
	text := fmt.Sprintf("receipt %s, stop %s (%s), preserve %s, switch %s; together %s", screen.Millis(i.Receipt),
		screen.Millis(i.Stop),
		screen.SleepName(i.Light), screen.Millis(i.Preserve), screen.Millis(i.Switch), screen.Millis(i.total()))
	if i.Forced {
		text += "; a call did not stop in time and was left behind"
	}
	return text
}

func (i *interruption) total() float64 { return i.Receipt + i.Stop + i.Preserve + i.Switch }

// lookBack bounds how many of an agent's newest events are searched for its wakes: some hundred dreams.
const lookBack = 10_000

// wakesOf finds an agent's newest wakes out of dreams, newest first: up to limit of those wanted.
func wakesOf(ctx context.Context, h *Deployment, a dream.Agent, wanted func(*interruption) bool,
	limit int,
) ([]*interruption, error) {
	var found []*interruption
	err := backwards(ctx, h.Events, a.ID, func(e event.Event) (more bool, err error) {
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

// backwards reads an agent's newest events, newest first, until each returns false.
func backwards(ctx context.Context, log fabric.Log, agent string, each func(event.Event) (more bool, err error)) error {
	newest, err := newestOf(ctx, log, agent)
	if err != nil {
		return err
	}
	for end := newest; end > 0 && newest-end < lookBack; end -= page {
		after := max(end-page, 0)
		events, err := log.Events(ctx, agent, after, int(end-after))
		if err != nil {
			return fmt.Errorf("read the events of %s: %w", agent, err)
		}
		for _, e := range slices.Backward(events) {
			if more, err := each(e); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// newestOf finds the number of an agent's newest event. Numbers have no gaps, so it doubles until there is none and
// then bisects.
func newestOf(ctx context.Context, log fabric.Log, agent string) (int64, error) {
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

// eventsOf reads the events of one dream in order, from its first stretch to the end of its last.
func eventsOf(ctx context.Context, h *Deployment, record *dream.Record) ([]event.Event, error) {
	var found []event.Event
	err := backwards(ctx, h.Events, record.Agent, func(e event.Event) (more bool, err error) {
		if e.Dream == record.ID {
			found = append(found, e)
		}
		return !e.At.Before(record.At.Add(-time.Minute)), nil // clocks of several processes differ a little
	})
	slices.Reverse(found)
	return found, err
}
