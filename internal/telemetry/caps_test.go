package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

func TestAScrapeTellsTheUseOfCapsAndWhetherTheStoreTakesWrites(t *testing.T) {
	t.Parallel()
	var full error
	requests := 0
	m := setup(t).meter(telemetry.Options{
		Write: func(context.Context) error { return full },
		Caps: func(context.Context) (telemetry.CapUse, error) {
			requests++
			return telemetry.CapUse{AgentDay: .25, AgentMonth: .5, FleetDay: 1}, full
		},
	})
	full = errors.New("no room")
	page := scrape(t, m)
	require.Contains(t, page, "oneiros_store_writable 0\n")
	require.NotContains(t, page, "oneiros_cap_used_ratio")
	full = nil
	page = scrape(t, m)
	for _, line := range []string{
		"oneiros_store_writable 1", `oneiros_cap_used_ratio{cap="agent_day"} 0.25`,
		`oneiros_cap_used_ratio{cap="agent_month"} 0.5`, `oneiros_cap_used_ratio{cap="fleet_day"} 1`,
	} {
		require.Contains(t, page, line+"\n")
	}
	scrape(t, m)
	require.Equal(t, 2, requests, "the caps are read twice a minute at most, and again after a failure")
}
