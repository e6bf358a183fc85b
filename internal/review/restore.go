package review

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

// Restorer restores items that dreams have archived, and hypotheses that have lapsed, for a person. It uses no fence.
type Restorer struct {
	Memory memory.DreamStore
	Now    func() time.Time
}

// ErrNotArchived says that an item was not archived by a dream, and why it cannot be restored.
var ErrNotArchived = errors.New("was not archived by a dream")

// restored is the cause of what Restore writes.
const restored = "restore"

// Archived lists the ids of items that dreams archived and did not make, by the time of archiving; of one dream if it
// is named.
func (k Restorer) Archived(ctx context.Context, agent, dreamID string) ([]string, error) {
	q := memory.Query{Agent: agent, States: []dream.State{dream.Archived}, Sort: memory.Oldest}
	items, err := k.Memory.Find(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("find what dreams have archived: %w", err)
	}
	var ids []string
	for _, item := range items {
		h := item.Header()
		if h.Kind == dream.KindRecord || h.Kind == dream.KindProposal {
			continue
		}
		by, err := k.archivedBy(ctx, agent, h.ID)
		if errors.Is(err, ErrNotArchived) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if dreamID == "" || by == dreamID {
			ids = append(ids, h.ID)
		}
	}
	return ids, nil
}

// archivedBy is the dream that archived an item, empty for a hypothesis that lapsed, or ErrNotArchived with the actual
// cause.
func (k Restorer) archivedBy(ctx context.Context, agent, id string) (string, error) {
	history, err := k.Memory.Revisions(ctx, agent, id)
	if err != nil {
		return "", fmt.Errorf("read the revisions of %s: %w", id, err)
	}
	newest := history[len(history)-1]
	if state := newest.Item.Header().State; state != dream.Archived {
		return "", fmt.Errorf("%s %w: it is %s", id, ErrNotArchived, state)
	}
	if len(history) == 1 || history[len(history)-2].Item.Header().State == dream.Proposed {
		return "", fmt.Errorf("%s %w: it never counted", id, ErrNotArchived)
	}
	cause := newest.Cause
	if of, undone := strings.CutPrefix(cause, past.UndoCause); undone { // an undo may repeat an earlier cause
		counting := past.Counting(causesOfRevisions(history))
		if len(counting) == 0 {
			return "", fmt.Errorf("%s %w: it went when %s was undone", id, ErrNotArchived, of)
		}
		cause = history[counting[len(counting)-1]].Cause
	}
	if hypothesis, ok := newest.Item.(*dream.Hypothesis); ok && hypothesis.Status == dream.HypothesisLapsed {
		return "", nil
	}
	if _, err := memory.One[*dream.Record](ctx, k.Memory, agent, cause); err != nil {
		return "", fmt.Errorf("%s %w: %s did it", id, ErrNotArchived, cause)
	}
	return cause, nil
}

// canBeStaged says whether a hypothesis gave way to another one, or lapsed.
func canBeStaged(h *dream.Hypothesis) bool {
	return h.Status == dream.HypothesisRested || h.Status == dream.HypothesisLapsed
}

// causesOfRevisions are the causes of an item's revisions, oldest first, as undo uses them.
func causesOfRevisions(history []memory.Revision) []string {
	causes := make([]string, len(history))
	for i, r := range history {
		causes[i] = r.Cause
	}
	if made := history[0].Item.Header().Dream; made != "" {
		causes[0] = made
	}
	return causes
}

// Restore makes these items live again, all or none, each as a new revision. What replaced an item is archived, so
// that there are no duplicates. memory.ErrNotFound, ErrNotArchived.
func (k Restorer) Restore(ctx context.Context, agent string, ids ...string) ([]dream.Item, error) {
	var items []dream.Item
	err := retryStale(func() (err error) {
		items, err = k.restore(ctx, agent, dream.DistinctIDs(ids))
		return err
	})
	return items, err
}

func (k Restorer) restore(ctx context.Context, agent string, ids []string) ([]dream.Item, error) {
	w := memory.Write{Agent: agent, Cause: restored}
	var items []dream.Item
	var faults []error
	for _, id := range ids {
		by, err := k.archivedBy(ctx, agent, id)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		found, err := k.Memory.Get(ctx, agent, id)
		if err != nil || len(found) == 0 {
			faults = append(faults, errors.Join(err, fmt.Errorf("%s: %w", id, memory.ErrNotFound)))
			continue
		}
		item, h := found[0], found[0].Header()
		newer := h.NewerID
		h.State, h.NewerID = dream.Live, ""
		if hypothesis, ok := item.(*dream.Hypothesis); ok && canBeStaged(hypothesis) {
			hypothesis.Status, hypothesis.Reason = dream.HypothesisStaged, ""
			hypothesis.Restored, hypothesis.Ended = k.Now().UTC(), time.Time{}
		}
		items, w.Change = append(items, item), append(w.Change, item)
		result := event.ItemRestored{Item: id, Kind: h.Kind, By: dream.ByPerson}
		w.Events = append(w.Events,
			event.New(fmt.Sprintf("restore/%s/%d", id, h.Revision), agent, by, k.Now().UTC(), result))
		if stood, err := memory.One[*dream.Gist](ctx, k.Memory, agent, newer); err == nil && stood.State == dream.Live {
			stood.State, stood.NewerID = dream.Archived, id
			w.Change = append(w.Change, stood)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, nil
	}
	if _, err := k.Memory.Commit(ctx, w); err != nil {
		return nil, fmt.Errorf("restore what dreams have archived: %w", err)
	}
	// counts as a use, so that the next dream does not archive it again
	return items, memory.NoteUse(ctx, k.Memory, agent, k.Now(), ids...)
}
