package deploy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

func TestCapsAreThoseOfTheAgentsOwnDays(t *testing.T) {
	t.Parallel()
	capped := dream.Caps{Day: 2 * budget.Dollar, Month: budget.Unlimited}
	agents := []dream.Agent{
		{ID: "a", Zone: "Pacific/Auckland", Caps: capped},
		{ID: "b", Zone: "UTC", Caps: dream.Caps{Month: 15 * budget.Dollar}}, // its day has a cap of 0
		{ID: "c", Zone: "no such zone", Caps: capped},
	}
	now := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	caps, scopes := capsOf(agents, 9*budget.Dollar, now)
	require.Equal(t, []string{
		"day:a/2026-12-01", "fleet:2026-12-01", "month:b/2026-11", "fleet:2026-11-30", "day:c/2026-11-30",
	}, scopes)
	require.Len(t, caps, len(scopes))
	require.Equal(t, 15*budget.Dollar, caps[2].limit)
	_, scopes = capsOf(agents[:1], budget.Unlimited, now)
	require.Equal(t, []string{"day:a/2026-12-01"}, scopes)
}

// The deployment has no agents, then one that has spent three quarters of its month.
func TestTheUseOfCapsIsThatOfTheAgentNearestToItsCap(t *testing.T) {
	t.Parallel()
	d := appOf(t, "")
	h, err := d.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	use, err := h.capUse(t.Context())
	require.NoError(t, err)
	require.Zero(t, use)

	for id, spent := range map[string]budget.Micros{"near": 3, "far": 1} {
		agent := dream.Agent{
			ID:      id,
			Handle:  id,
			Zone:    "UTC",
			Tier:    dream.Core,
			Caps:    dream.Caps{Dream: 4, Day: budget.Unlimited, Month: 4},
			Created: time.Now(),
		}
		require.NoError(t, h.Store.PutAgent(t.Context(), agent))
		today := time.Now().UTC().Format(time.DateOnly)
		_, err := h.Ledger.Reserve(t.Context(), spend.Ask{
			Step:     id + "/step",
			Agent:    id,
			Model:    "script",
			Day:      today,
			Amount:   spent,
			Accounts: activities.DayAccounts(agent, today, budget.Unlimited),
			At:       time.Now(),
		})
		require.NoError(t, err)
	}
	use, err = h.capUse(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 0.75, use.AgentMonth, 1e-9)
	require.Zero(t, use.AgentDay)
	require.Zero(t, use.FleetDay)
}
