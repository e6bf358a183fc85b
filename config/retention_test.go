package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
)

func TestHistoryIsKeptForAMonth(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", "", nil, nil)
	require.NoError(t, err)
	const month = 30 * 24 * time.Hour
	require.Equal(t, config.Retention{
		Ledger:    month,
		Events:    month,
		Undo:      month,
		Dreams:    month,
		Responses: month,
		Every:     time.Hour,
	}, c.Retention)
}

func TestWhatCanBeUndoneIsKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		undo, dreams string
		right        bool
	}{
		{"30d", "30d", true},
		{"7d", "90d", true},
		{"0s", "0s", true},
		{"never", "never", true},
		{"7d", "0s", true},
		{"30d", "29d", false},
		{"never", "30d", false},
	} {
		_, err := load(t, "", "", nil,
			[]string{"--set", "retention.undo=" + c.undo, "--set", "retention.dreams=" + c.dreams})
		if c.right {
			require.NoError(t, err, "%+v", c)
			continue
		}
		require.ErrorContains(t, err, "retention.dreams is "+c.dreams)
		require.ErrorContains(t, err, "retention.undo "+c.undo)
	}
}

func TestTodayIsAlwaysKept(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ledger", "events", "undo", "dreams", "responses"} {
		_, err := load(t, "", "", nil, []string{"--set", "retention." + key + "=23h"})
		require.ErrorContains(t, err, "retention."+key+" is 23h; it must be 1d or longer, or never")
	}
}
