package event_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

func TestAnEventOfAnEarlierBuildHasTheNamesOfToday(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, was, is string }{
		{"HypothesisChanged", `{"status":"staged"}`, `{"status":"staged"}`},
		{
			"DreamInterrupted",
			`{"cause":"knock","epoch":1,"sitting":2,"journal":"\"sitting\":"}`,
			`{"cause":"connect","epoch":1,"stretch":2,"journal":"\"sitting\":"}`,
		},
		{"DreamInterrupted", `{"cause":"alarm","stretch":2}`, `{"cause":"alarm","stretch":2}`},
		{"DreamResumed", `{"sitting":2,"phase":"rem"}`, `{"stretch":2,"phase":"rem"}`},
		{"AgentAwake", `{"epoch":3,"cause":"knock"}`, `{"epoch":3,"cause":"connect"}`},
		{"DreamUndone", `{"asked":200,"before":9}`, `{"checked":200,"before":9}`},
		{"EmptyDreamsRepeated", `{"nights":3}`, `{"dreams":3}`},
		{"ObserverDrifted", `{"bias":1,"asked":0.5}`, `{"bias":1,"requested":0.5}`},
		{"DreamEnded", `{"asked":"knock","sitting":1}`, `{"asked":"knock","sitting":1}`},
	} {
		e := event.Event{Type: c.kind, Data: json.RawMessage(c.was)}
		require.Equal(t, c.is, string(event.Current(e).Data), c.kind)
		require.Equal(t, c.was, string(e.Data), "what the store holds is left as it is")
		require.Equal(t, event.Current(e), event.Current(event.Current(e)))
	}
}

func TestAnEventTypeOfAnEarlierBuildHasTheNameOfToday(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ was, is, data, current string }{
		{"NightUndone", "DreamUndone", `{"asked":200,"before":9}`, `{"checked":200,"before":9}`},
		{"NothingAgain", "EmptyDreamsRepeated", `{"nights":3}`, `{"dreams":3}`},
		{"ReviewAsked", "ReviewRequested", `{"item_id":"h-1"}`, `{"item_id":"h-1"}`},
		{"HookSilent", "HookTimedOut", `{"hook":"audit"}`, `{"hook":"audit"}`},
		{"HypothesisMoved", "HypothesisChanged", `{"status":"staged"}`, `{"status":"staged"}`},
		{"SomethingElse", "SomethingElse", `{"asked":1}`, `{"asked":1}`},
	} {
		e := event.Current(event.Event{Type: c.was, Data: json.RawMessage(c.data)})
		require.Equal(t, c.is, e.Type)
		require.Equal(t, c.current, string(e.Data), c.was)
		require.Equal(t, c.is, event.CurrentType(c.was))
		require.NotContains(t, event.Types(), "HookSilent")
	}
}
