package dream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

func TestEveryStateOfADreamHasAPublicStatus(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		night dream.Night
		want  dream.Status
	}{
		{dream.Night{}, dream.StatusPending},
		{dream.Night{Run: "r"}, dream.StatusRunning},
		{dream.Night{Run: "r", Outcome: dream.Interrupted, Until: now.Add(time.Second)}, dream.StatusRunning},
		{dream.Night{Run: "r", Outcome: dream.Interrupted, Until: now}, dream.StatusCompleted},
		{dream.Night{Run: "r", Outcome: dream.Interrupted}, dream.StatusCompleted},
		{dream.Night{Run: "r", Outcome: dream.Completed}, dream.StatusCompleted},
		{dream.Night{Run: "r", Outcome: dream.Empty}, dream.StatusCompleted},
		{dream.Night{Run: "r", Outcome: dream.Exhausted}, dream.StatusCompleted},
		{dream.Night{Run: "r", Outcome: dream.Aborted}, dream.StatusFailed},
		{dream.Night{Outcome: dream.Canceled}, dream.StatusCanceled},
	} {
		require.Equal(t, c.want, c.night.Status(now), "%+v", c.night)
		require.Equal(t, c.want == dream.StatusCompleted || c.want == dream.StatusFailed || c.want == dream.StatusCanceled, c.want.Over())
		require.Contains(t, dream.Statuses, c.want)
	}
}
