package dream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestEveryStateOfADreamHasAPublicStatus(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		record dream.Record
		want   dream.Status
	}{
		{dream.Record{}, dream.StatusPending},
		{dream.Record{Run: "r"}, dream.StatusRunning},
		{dream.Record{Run: "r", Outcome: dream.Interrupted, Until: now.Add(time.Second)}, dream.StatusRunning},
		{dream.Record{Run: "r", Outcome: dream.Interrupted, Until: now}, dream.StatusCompleted},
		{dream.Record{Run: "r", Outcome: dream.Interrupted}, dream.StatusCompleted},
		{dream.Record{Run: "r", Outcome: dream.Completed}, dream.StatusCompleted},
		{dream.Record{Run: "r", Outcome: dream.Empty}, dream.StatusCompleted},
		{dream.Record{Run: "r", Outcome: dream.Exhausted}, dream.StatusCompleted},
		{dream.Record{Run: "r", Outcome: dream.Aborted}, dream.StatusFailed},
		{dream.Record{Outcome: dream.Canceled}, dream.StatusCanceled},
	} {
		require.Equal(t, c.want, c.record.Status(now), "%+v", c.record)
		require.Equal(t,
			c.want == dream.StatusCompleted || c.want == dream.StatusFailed || c.want == dream.StatusCanceled,
			c.want.Over())
		require.Contains(t, dream.Statuses, c.want)
	}
}
