package console_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// removed is the JSON of a removal.
type removed struct {
	Agent  string             `json:"agent"`
	Items  map[dream.Kind]int `json:"items"`
	Events int                `json:"events"`
	Ended  []string           `json:"ended"`
	Kept   struct {
		Attempts int   `json:"attempts"`
		Spent    int64 `json:"spent_micros"`
	} `json:"kept"`
	Keys  []string `json:"keys"`
	Notes []string `json:"notes"`
}

func TestARemovalReportsWhatItRemovedAndKept(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().guarded(&porter{})
	key, _ := access.New("laptop", access.Client, []string{"echo"}, now)
	require.NoError(t, d.store.PutKey(t.Context(), key))
	before, err := d.store.Find(t.Context(), memory.Query{Agent: "echo", States: dream.States})
	require.NoError(t, err)
	events, err := d.store.Events(t.Context(), "echo", 0, 0)
	require.NoError(t, err)
	require.NotEmpty(t, events)
	require.Equal(t, exit.OK, d.run(0, "agents", "remove", "@echo", "--yes", "--json"), d.err.String())
	var got removed
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &got))
	sum := 0
	for kind, n := range got.Items {
		require.Positive(t, n, kind)
		sum += n
	}
	require.Len(t, before, sum)
	require.Positive(t, got.Items[dream.KindEpisode])
	require.Positive(t, got.Items[dream.KindJournal])
	require.Len(t, events, got.Events)
	require.Equal(t, []string{"agent/echo"}, got.Ended)
	require.Positive(t, got.Kept.Attempts)
	require.Positive(t, got.Kept.Spent)
	require.Equal(t, []string{key.ID}, got.Keys)
	require.Len(t, got.Notes, 1)
	require.Equal(t, exit.OK, d.run(0, "agents", "list", "--json"))
	require.NotContains(t, d.out.String(), `"echo"`)
	require.Equal(t, exit.NotFound, d.run(0, "agents", "remove", "echo", "--yes"))
	require.Contains(t, d.err.String(), `there is no agent "echo"; oneiros agents list names them all`)
	require.Equal(t, exit.OK, d.run(0, "spend", "-a", "echo", "--json"), d.err.String())
	require.Contains(t, d.out.String(), `"agent": "echo"`, "what it has spent is told")
	require.Equal(t, exit.NotFound, d.run(0, "spend", "-a", "nobody"))
	require.Equal(t, exit.OK, d.run(0, "agents", "add", "echo"), d.err.String())
	require.Equal(t, exit.OK, d.run(0, "memory", "list", "-a", "echo", "--json"))
	require.JSONEq(t, "[]", d.out.String())
}

func TestARemovalIsReportedInWords(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().guarded(&porter{unended: "no Temporal server runs"})
	d.terminal, d.in = true, "yes\n"
	require.Equal(t, exit.OK, d.run(80, "agents", "remove", "echo"), d.err.String())
	d.golden("agents-remove-80")
}

func TestARemovalNeedsTheRightNameAndConsent(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().guarded(&porter{})
	require.Equal(t, exit.NotFound, d.run(0, "agents", "remove", "nobody", "--yes"))
	require.Equal(t, exit.Usage, d.run(0, "agents", "remove"))
	require.Equal(t, exit.Refused, d.run(0, "agents", "remove", "echo"))
	require.Contains(t, d.err.String(), "add --yes")
	d.terminal, d.in = true, "n\n"
	require.Equal(t, exit.Refused, d.run(80, "agents", "remove", "echo"))
	_, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
}

func TestAnAgentThatDreamsOrIsHeldAwakeIsNotRemoved(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().guarded(&porter{})
	d.hall.now.Leases = []presence.Lease{{Client: "mara", Cause: presence.Connect, Until: now.Add(time.Hour)}}
	require.Equal(t, exit.Refused, d.run(0, "agents", "remove", "echo", "--yes"))
	require.Contains(t, d.err.String(), "agent echo is held awake by mara (connect) until ")
	require.Contains(t, d.err.String(), "oneiros sleep -a echo --force")
	d.hall.now.Leases = nil
	f := memory.Fence{Dream: "dream/echo/0007", Run: "r"}
	_, err := d.store.TakeSlot(t.Context(), "echo", memory.Slot{Fence: f, Workflow: f.Dream, Since: now},
		memory.Fence{})
	require.NoError(t, err)
	require.Equal(t, exit.Refused, d.run(0, "agents", "remove", "echo", "--yes"))
	require.Contains(t, d.err.String(), "agent echo is dreaming dream/echo/0007")
	require.Contains(t, d.err.String(), "oneiros dreams cancel dream/echo/0007")
	_, err = d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
}

func TestWhatAnEarlierRemovalLeftToTemporalIsEnded(t *testing.T) {
	t.Parallel()
	p := &porter{left: true}
	d := newFixture(t).furnish().guarded(p)
	_, err := d.store.DropAgent(t.Context(), "echo", now)
	require.NoError(t, err)
	require.Equal(t, exit.OK, d.run(0, "agents", "remove", "echo"), d.err.String())
	require.Contains(
		t,
		d.out.String(),
		"Agent echo was removed before; its workflow, which was left, is ended now.",
	)
	p.left = false
	require.Equal(t, exit.NotFound, d.run(0, "agents", "remove", "echo"))
}

func TestAgentsToRemoveAreCompleted(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(0, "__complete", "agents", "remove", ""))
	require.Contains(t, d.out.String(), "echo\n")
}
