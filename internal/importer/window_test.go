package importer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
)

const threeDays = `Something without a day.

## 2026-09-01, 08:00

Fog lay over the field.

## 2026-09-02, 09:30

The ferry was late.

## 2026-09-02, 20:00

I mended a net.

## 2026-09-03, 07:00

A letter came.
`

func TestALifeIsImportedDayByDay(t *testing.T) {
	t.Parallel()
	agent := someone("a1")
	s := store(t, agent)
	file := text("life.md", threeDays)
	times, report, err := importer.Times(t.Context(), agent, []importer.File{file}, importer.Options{})
	require.NoError(t, err)
	require.Zero(t, report.BadCount)
	first := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	require.Equal(t, []time.Time{
		first, first.Add(25*time.Hour + 30*time.Minute), first.Add(36 * time.Hour), first.Add(47 * time.Hour),
	}, times)

	lived := 0
	for day, want := range []int{1, 2, 1} {
		from := time.Date(2026, 9, 1+day, 0, 0, 0, 0, time.UTC)
		report, err := importer.Import(t.Context(), s, agent, []importer.File{file},
			importer.Options{From: from, To: from.AddDate(0, 0, 1)})
		require.NoError(t, err)
		require.Equal(t, want, report.Episodes)
		lived += want
		all, err := s.Find(t.Context(), memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindEpisode}})
		require.NoError(t, err)
		require.Len(t, all, lived, "nothing of a later day is in the store")
		for _, e := range all {
			require.True(t, e.Header().At.Before(from.AddDate(0, 0, 1)))
		}
	}
}
