package review_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/quality"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func TestTheNewestDreamsAreMeasured(t *testing.T) {
	onBoth(t, func(l *scene) {
		var items []dream.Item
		head := func(n int, kind dream.Kind, id string) dream.Head {
			at := evening.AddDate(0, 0, n)
			name := fmt.Sprintf("dream/echo/%04d", n)
			h := dream.Head{
				ID:    name + id,
				Agent: "a1",
				Kind:  kind,
				At:    at,
				State: dream.Live,
				Dream: name,
				Taint: dream.FromDream,
			}
			if kind == dream.KindFragment {
				h.Phase = dream.Onset
			}
			return h
		}
		record := func(n int, outcome dream.Outcome) *dream.Record {
			return &dream.Record{
				Head: head(n, dream.KindRecord, ""), Outcome: outcome,
				Phases: []dream.Tally{{
					Phase: dream.Onset,
					State: "ran",
					Calls: 2,
					Made:  2,
					Kept:  1,
				}},
			}
		}
		for n := range quality.Dreams + 3 {
			outcome := dream.Completed
			if n == 1 {
				outcome = dream.Aborted
			}
			items = append(items, record(n, outcome))
			for i, status := range []string{dream.FragmentRaw, dream.FragmentDiscarded} {
				items = append(items, &dream.Fragment{
					Head: head(n, dream.KindFragment, fmt.Sprintf("/onset/%d", i)), Content: "x", Status: status,
					Verdict: dream.Verdict{Novelty: float64(n) / 100, PlaybookEmpty: true},
				})
			}
		}
		_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "test", Add: items})
		require.NoError(l, err)
		measured := func(ending *dream.Record) map[quality.Name]quality.Metric {
			q, err := review.Quality(l.Context(), l.store, "a1", ending)
			require.NoError(l, err)
			require.Equal(l, quality.Dreams, q.Dreams)
			all := map[quality.Name]quality.Metric{}
			for _, m := range q.Metrics {
				all[m.Name] = m
			}
			return all
		}
		all := measured(nil)
		require.Equal(l, quality.Metric{
			Name: quality.FragmentYield, Value: .5, Of: 2 * quality.Dreams, State: quality.Outside,
		}, all[quality.FragmentYield])
		require.InDelta(l, (3+32)/200., all[quality.Novelty].Value, 1e-9, "of the thirty newest dreams")
		require.Equal(l, quality.Alarm, all[quality.Novelty].State)
		ending := measured(record(33, dream.Completed))
		require.Equal(l, 2*(quality.Dreams-1), ending[quality.FragmentYield].Of, "the oldest dream gives way to the one that ends")
	})
}
