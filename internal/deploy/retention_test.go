package deploy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

func TestTheDoctorSaysWhenTheNewestPassWas(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		state memory.SweepState
		says  string
	}{
		{memory.SweepState{}, "nothing was swept yet"},
		{memory.SweepState{Ended: now.Add(-time.Minute)}, "last swept on 2026-11-28T05:59:00Z: nothing was old"},
		{
			memory.SweepState{Ended: now.Add(-time.Minute), Removed: memory.Removed{Attempts: 1200, Events: 3}},
			"1,200 calls folded, 3 events, 0 revisions, 0 fragments and scenarios removed",
		},
		{memory.SweepState{Ended: now.Add(-3 * time.Hour)}, "longer ago than retention.every (1h0m0s)"},
		{
			memory.SweepState{Ended: now, Failure: "the disk is full", Failed: now},
			"the newest pass failed on 2026-11-28T06:00:00Z: the disk is full",
		},
	} {
		require.Contains(t, sweptFinding(c.state, time.Hour, now).Found, c.says)
	}
}
