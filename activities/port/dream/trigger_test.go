package dream_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestATriggerHasExactlyTheFieldsOfItsKind(t *testing.T) {
	t.Parallel()
	for _, good := range []dream.Trigger{
		dream.IdleTrigger,
		{Name: "night", Kind: dream.OnSchedule, Schedule: "03:30"},
		{Name: "full", Kind: dream.OnEpisodes, Episodes: 50},
		{Name: "wrong", Kind: dream.OnEvent, Event: "PredictionResolved", Residual: .5},
		{Name: "price", Kind: dream.OnEvent, Feed: "harbour", Rule: "quay-price"},
	} {
		require.NoError(t, good.Validate(), good.Name)
	}
	for _, c := range []struct {
		bad  dream.Trigger
		says string
	}{
		{dream.Trigger{Name: "No", Kind: dream.OnIdle}, `name "No" must be 1 to 32`},
		{
			dream.Trigger{Name: "idle", Kind: dream.OnEpisodes, Episodes: 5},
			"is taken by a trigger that every agent may have",
		},
		{dream.Trigger{Name: "manual", Kind: dream.OnRequest}, "needs no trigger"},
		{dream.Trigger{Name: "night", Kind: dream.OnSchedule}, "schedule is empty"},
		{dream.Trigger{Name: "full", Kind: dream.OnEpisodes}, "episodes is 0; it must lie between 1 and 100000"},
		{dream.Trigger{Name: "x", Kind: dream.OnEvent}, "name the type of an event, or a feed and a rule over it"},
		{dream.Trigger{
			Name:  "x",
			Kind:  dream.OnEvent,
			Event: "AlarmRaised",
			Feed:  "f",
			Rule:  "r",
		}, "name the type of an event, or"},
		{
			dream.Trigger{Name: "x", Kind: dream.OnEvent, Event: "PredictionResolved", Residual: 2},
			"residual is 2; it must lie between 0 and 1",
		},
		{
			dream.Trigger{Name: "x", Kind: dream.OnEpisodes, Episodes: 5, Schedule: "03:00"},
			"names what belongs to another kind",
		},
		{dream.Trigger{Name: "x", Kind: "moon"}, `kind "moon" must be one of [idle schedule episodes event]`},
	} {
		require.ErrorContains(t, c.bad.Validate(), c.says)
	}
}

func TestNilTriggersMeanIdleAndAnEmptyListMeansNone(t *testing.T) {
	t.Parallel()
	require.Equal(t, []dream.Trigger{dream.IdleTrigger}, dream.Agent{}.Triggered())
	for _, c := range []struct {
		triggers []dream.Trigger
		left     int
	}{{nil, 1}, {[]dream.Trigger{}, 0}} {
		body, err := json.Marshal(dream.Agent{Triggers: c.triggers})
		require.NoError(t, err)
		var back dream.Agent
		require.NoError(t, json.Unmarshal(body, &back))
		require.Len(t, back.Triggered(), c.left, "nil and empty differ in the store")
	}
	twice := dream.Agent{
		ID:       "e",
		Handle:   "echo",
		Tier:     dream.Core,
		Zone:     "UTC",
		Triggers: []dream.Trigger{dream.IdleTrigger, dream.IdleTrigger},
	}
	require.ErrorContains(t, twice.Validate(), "trigger idle is there twice")
}
