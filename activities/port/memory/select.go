package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Validate refuses an unknown sort order; empty is Newest.
func (o SortOrder) Validate() error {
	switch o {
	case "", Newest, Oldest, MostSalient, HighestScore, SoonestDue:
		return nil
	}
	return fmt.Errorf("unknown sort order %q", string(o))
}

// SortItems sorts items in an order of Query.
func SortItems(items []dream.Item, by SortOrder) {
	type sorted struct {
		dream.Item
		at    time.Time
		marks dream.Marks
		text  string
	}
	all := make([]sorted, len(items))
	for i, item := range items {
		all[i] = sorted{item, item.Header().At, item.Marks(), item.Text()}
	}
	slices.SortFunc(all, func(a, b sorted) int {
		first, newer := 0, b.at.Compare(a.at)
		switch by {
		case Oldest:
			newer = -newer
		case MostSalient:
			first = cmp.Compare(b.marks.Salience, a.marks.Salience)
		case HighestScore:
			first = cmp.Compare(b.marks.Score, a.marks.Score)
		case SoonestDue:
			first, newer = a.marks.Due.Compare(b.marks.Due), 0
		case Newest:
		}
		return cmp.Or(first, newer, cmp.Compare(a.text, b.text), cmp.Compare(a.Header().ID, b.Header().ID))
	})
	for i := range all {
		items[i] = all[i].Item
	}
}

// Matches reports whether a query selects an item of its agent, for a store that has no index to ask.
func (q Query) Matches(item dream.Item) bool {
	h, m := item.Header(), item.Marks()
	states := q.States
	if len(states) == 0 {
		states = []dream.State{dream.Live}
	}
	due := q.Sort == SoonestDue || !q.DueBefore.IsZero()
	return slices.Contains(states, h.State) &&
		anyOf(q.Kinds, h.Kind) && anyOf(q.Statuses, m.Status) && anyOf(q.Owners, m.Owner) &&
		(q.Dream == "" || h.Dream == q.Dream) &&
		(q.Session == "" || m.Session == q.Session) &&
		(q.SalientFrom == 0 || m.Salience >= q.SalientFrom) &&
		(q.ScoreFrom == 0 || m.Score >= q.ScoreFrom) &&
		(q.Since.IsZero() || !h.At.Before(q.Since)) &&
		(q.Until.IsZero() || h.At.Before(q.Until)) &&
		(!due || !m.Due.IsZero()) &&
		(q.DueBefore.IsZero() || m.Due.Before(q.DueBefore))
}

// anyOf reports whether one of the values is v, or there are none.
func anyOf[T comparable](values []T, v T) bool { return len(values) == 0 || slices.Contains(values, v) }

// CountEpisodes counts all episodes of an agent that still exist, in any state.
func CountEpisodes(ctx context.Context, store DreamStore, agent string) (int, error) {
	n, err := store.Count(ctx, Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindEpisode},
		States: []dream.State{dream.Live, dream.Superseded, dream.Archived},
	})
	if err != nil {
		return 0, fmt.Errorf("count the episodes of %s: %w", agent, err)
	}
	return n, nil
}
