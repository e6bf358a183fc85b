package retention_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/internal/retention"
)

// made lists what the recorded night made, and what of it was made from a memory, directly or through what a sweep
// removes: by the night itself, which no sweep has changed.
func (w *world) made(memory string) (all []string, from map[string]bool) {
	w.Helper()
	var texts []past.Text
	for _, kept := range w.night.Items {
		if dream.Kind(kept.Kind) == dream.KindRecord {
			continue
		}
		item, err := dream.Decode(dream.Kind(kept.Kind), kept.Body)
		require.NoError(w, err)
		origins, err := past.Origins(item)
		require.NoError(w, err)
		texts = append(texts, past.Text{ID: item.Header().ID, Dream: w.night.Dream, Origins: origins})
		all = append(all, item.Header().ID)
	}
	return all, past.Descend(texts, memory)
}

// forgets forgets a memory of the first agent with all that was made from it, and checks that nothing of that is left
// and everything else is. It comes last.
func (w *world) forgets() error {
	w.Helper()
	ctx, agent := w.Context(), agentID(0)
	secret := w.dreamtOf()
	all, from := w.made(secret)
	dreams := []string{farsighted, proven, w.changing}
	if !w.noneWaits {
		dreams = append(dreams, waiting)
	}
	for today := range w.days {
		for n := range w.nights {
			dreams = append(dreams, w.dreamID(agent, today, n))
		}
	}
	before := map[string]bool{} // what no sweep has removed
	for _, id := range dreams {
		err := w.leftOf(ctx, id, all, func(recorded, id string) error {
			before[id] = from[recorded]
			return nil
		})
		if err != nil {
			return err
		}
	}
	plan, err := memory.PlanErasure(ctx, w.store, agent, memory.Selection{IDs: []string{secret}, Derived: true})
	if err != nil {
		return err
	}
	if _, err := memory.ForgetAll(ctx, w.store, agent, plan); err != nil {
		return err
	}
	if items, err := w.store.Get(ctx, agent, secret); err != nil || len(items) > 0 {
		return fmt.Errorf("%s is there after it was forgotten (%w)", secret, err)
	}
	stays := 0
	for _, id := range dreams {
		err := w.leftOf(ctx, id, all, func(_, id string) error {
			if before[id] {
				return fmt.Errorf("%s was made from %s, and is there after that was forgotten", id, secret)
			}
			stays++
			return nil
		})
		if err != nil {
			return err
		}
	}
	erased := 0
	for _, made := range before {
		if made {
			erased++
		}
	}
	w.Logf("forgetting %s took %d of %d that %d dreams made", secret, erased, len(before), len(dreams))
	if stays != len(before)-erased || erased == 0 {
		return fmt.Errorf("%d were made from %s, and %d of the %d others are left", erased, secret, stays,
			len(before)-erased)
	}
	return nil
}

// dreamtOf is a memory that only a fragment of the recorded night names, from which an entry of its journal was made.
func (w *world) dreamtOf() string {
	w.Helper()
	named := map[string][]dream.Kind{}
	var fragments []*dream.Fragment
	for _, kept := range w.night.Items {
		item, err := dream.Decode(dream.Kind(kept.Kind), kept.Body)
		require.NoError(w, err)
		origins, err := past.Origins(item)
		require.NoError(w, err)
		for _, id := range origins {
			named[id] = append(named[id], item.Header().Kind)
		}
		if f, ok := item.(*dream.Fragment); ok {
			fragments = append(fragments, f)
		}
	}
	for _, f := range fragments {
		for _, id := range f.Sources {
			if len(w.journals(f.ID)) > 0 && !slices.Contains(named[id], dream.KindJournal) {
				return id
			}
		}
	}
	require.FailNow(w, "every memory is named by the journal")
	return ""
}

// leftOf calls a function with each item that a dream made and that is there, and with its id in the recorded night.
func (w *world) leftOf(ctx context.Context, dreamID string, all []string, do func(recorded, id string) error) error {
	recorded := map[string]string{}
	var ids []string
	for _, id := range all {
		own := string(w.renamed([]byte(id), agentID(0), dreamID))
		recorded[own] = id
		ids = append(ids, own)
	}
	items, err := w.store.Get(ctx, agentID(0), ids...)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := do(recorded[item.Header().ID], item.Header().ID); err != nil {
			return err
		}
	}
	return nil
}

// forgetful keeps nothing of the origins of what it removes.
type forgetful struct{ retention.Store }

func (s forgetful) Commit(ctx context.Context, write memory.Write) (memory.Receipt, error) {
	if write.Cause == retention.Cause {
		return memory.Receipt{}, nil
	}
	return s.Store.Commit(ctx, write)
}

// A sweep that does not name the origins of what goes is found: forgetting leaves what was made from it.
func TestASweepThatLosesOriginsIsFound(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		w, err := yearOf(t, kind, weeks(1), func(w *world) {
			w.noneWaits = true
			w.sweeps.Store = forgetful{w.store}
		})
		require.ErrorContains(t, err, "forgetting finds what was made from a memory")
		require.ErrorContains(t, w.forgets(), "is there after that was forgotten")
	})
}
