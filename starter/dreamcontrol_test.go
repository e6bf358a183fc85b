package starter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/workflows"
)

// faulted asserts the status and code of a fault and returns it.
func faulted(t *testing.T, err error, status int, code string) *psyche.Fault {
	t.Helper()
	var f *psyche.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, status, f.Status, "%v", err)
	require.Equal(t, code, f.Code)
	return f
}

// paid gives the generator a price, and adds a spend ledger.
func paid(t *testing.T, s *Starter) spend.Ledger {
	t.Helper()
	table := s.Catalog.(inference.Table)
	spec := table[thinker]
	spec.Price = &budget.Price{In: 1_000_000, Out: 1_000_000}
	table[thinker] = spec
	store := s.Memory.(*sqlitestore.Store)
	s.Ledger, s.Presence = store.Ledger(), store
	return s.Ledger
}

func TestAnInvalidRequestIsRefusedByFieldBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	paid(t, s)
	d := s.ForDreams()
	over, below := agent.Caps.Dream+1, budget.Micros(-1)
	for _, c := range []struct {
		request psyche.DreamRequest
		status  int
		code    string
		param   string
		hint    string
	}{
		{psyche.DreamRequest{Agent: "nobody"}, 404, "agent_not_found", "agent", "nobody"},
		{psyche.DreamRequest{Agent: "echo", Tier: "deep"}, 400, "invalid_value", "tier", "core or hardened"},
		{
			psyche.DreamRequest{Agent: "echo", Theme: strings.Repeat("x", 501)},
			400, "invalid_value", "theme",
			"at most 500",
		},
		{psyche.DreamRequest{Agent: "echo", Budget: &below}, 400, "invalid_value", "budget_micros", "negative"},
		{psyche.DreamRequest{Agent: "echo", Budget: &over}, 402, "over_cap", "budget_micros", "$0.50"},
		{
			psyche.DreamRequest{Agent: "echo", Models: map[dream.Role]string{"dreamer": thinker}},
			400, "invalid_value",
			"models", `"dreamer"; roles are generator, observer, replay`,
		},
		{
			psyche.DreamRequest{Agent: "echo", Models: map[dream.Role]string{dream.Observer: "house/none"}},
			400,
			"invalid_value", "model", "house/none",
		},
		{
			psyche.DreamRequest{Agent: "echo", Models: map[dream.Role]string{dream.Observer: embedder}},
			400,
			"invalid_value", "model", "wrong sort",
		},
	} {
		_, err := d.Begin(t.Context(), c.request)
		f := faulted(t, err, c.status, c.code)
		require.Equal(t, c.param, f.Param)
		require.Contains(t, f.Message, c.hint)
		_, err = d.Redream(t.Context(),
			psyche.RedreamRequest{DreamRequest: c.request, Dream: "dream/echo/0001", From: dream.REM})
		faulted(t, err, c.status, c.code)
	}
	_, err := d.Redream(t.Context(),
		psyche.RedreamRequest{DreamRequest: psyche.DreamRequest{Agent: "echo"}, Dream: "dream/echo/0001", From: dream.Onset})
	require.Equal(t, "from", faulted(t, err, 400, "invalid_value").Param)
	require.Empty(t, nights(t, s, agent))
}

func TestModelsOfARequestOverrideThoseOfTheAgent(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	table := s.Catalog.(inference.Table)
	table["house/other"] = inference.Spec{Name: "house/other", Price: &budget.Price{}}
	agent.Models = map[dream.Role]string{dream.Observer: thinker}
	require.NoError(t, s.Memory.PutAgent(t.Context(), agent))
	spec, err := s.Freeze(t.Context(),
		DreamRequest{Agent: "echo", Models: map[dream.Role]string{dream.Observer: "house/other"}})
	require.NoError(t, err)
	require.Equal(t, "house/other", spec.Models[dream.Observer])
	require.Equal(t, thinker, spec.Models[dream.Generator])
}

func TestNoPaidDreamBeginsWhenACapIsUsedUp(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	paid(t, s)
	agent.Caps = dream.Caps{Dream: 0, Day: 0, Month: budget.Dollar}
	require.NoError(t, s.Memory.PutAgent(t.Context(), agent))
	_, err := s.ForDreams().Begin(t.Context(), psyche.DreamRequest{Agent: "echo"})
	f := faulted(t, err, http.StatusTooManyRequests, "cap_reached")
	require.Contains(t, f.Message, "$0.00")
	require.Empty(t, nights(t, s, agent))
}

func TestNoDreamBeginsWhileTheAgentIsHeldAwake(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	paid(t, s)
	_, err := s.Presence.Arrive(t.Context(), presence.Visit{
		Agent:  agent.ID,
		Client: "key_other/somebody",
		Cause:  presence.Connect,
		Now:    tonight,
		For:    time.Minute,
	})
	require.NoError(t, err)
	_, err = s.ForDreams().Begin(t.Context(), psyche.DreamRequest{Agent: "echo"})
	f := faulted(t, err, http.StatusConflict, "agent_awake")
	require.Contains(t, f.Message, tonight.Add(time.Minute).Format(time.RFC3339))
	require.NotContains(t, f.Message, "somebody", "other clients of the agent are not disclosed")
	require.Equal(t, time.Minute, f.Retry)
	require.ErrorIs(t, err, ErrAwake)
	err = s.ForDreams().Resume(t.Context(), "dream/echo/0001")
	faulted(t, err, http.StatusConflict, "agent_awake")
	require.Empty(t, nights(t, s, agent))
}

func TestAClosedDreamCanBeArchived(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	spec, err := s.Freeze(t.Context(), DreamRequest{Agent: "echo"})
	require.NoError(t, err)
	d := s.ForDreams()
	faulted(t, d.Archive(t.Context(), spec.Dream), http.StatusConflict, "dream_not_over")
	change := func(edit func(*dream.Record)) {
		n := nights(t, s, agent)[0]
		edit(n)
		_, err := s.Memory.Commit(t.Context(),
			memory.Write{Agent: agent.ID, Cause: spec.Dream, Change: []dream.Item{n}})
		require.NoError(t, err)
	}
	change(func(n *dream.Record) { n.Outcome, n.Until = dream.Interrupted, tonight.Add(-time.Second) })
	f := faulted(t, d.Archive(t.Context(), spec.Dream), http.StatusConflict, "dream_not_over")
	require.Contains(t, f.Message, "not closed")
	change(func(n *dream.Record) { n.Until = time.Time{} })
	for range 2 {
		require.NoError(t, d.Archive(t.Context(), spec.Dream))
		require.Equal(t, tonight, nights(t, s, agent)[0].Shelved)
	}
	revisions, err := s.Memory.Revisions(t.Context(), agent.ID, spec.Dream)
	require.NoError(t, err)
	require.Equal(t, spec.Dream, revisions[len(revisions)-1].Cause, "so that undoing the dream reverts this as well")
	faulted(t, d.Archive(t.Context(), "dream/nobody/0001"), http.StatusNotFound, "dream_not_found")
}

func TestFailuresBecomeHTTPFaultsWithoutInternals(t *testing.T) {
	t.Parallel()
	d, agent := dreamControl{&Starter{}}, dream.Agent{Handle: "echo"}
	for cause, want := range map[error]struct {
		status int
		code   string
	}{
		ErrDreaming:             {409, "already_dreaming"},
		ErrAwake:                {409, "agent_awake"},
		ErrUnreachable:          {503, "nobody_dreams"},
		memory.ErrAway:          {503, "store_away"},
		memory.ErrUnwritable:    {503, "store_unwritable"},
		activities.ErrSettings:  {500, "not_begun"},
		errors.New("something"): {500, "not_begun"},
	} {
		err := d.beginFault(t.Context(), agent, fmt.Errorf("redis://secret: %w", cause))
		f := faulted(t, err, want.status, want.code)
		require.NotContains(t, f.Message, "secret")
		require.ErrorIs(t, err, cause, "for the log")
	}
	removed, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.beginFault(removed, agent, context.Canceled), context.Canceled)
	require.NoError(t, d.beginFault(t.Context(), agent, nil))
}

func TestPublicIDsOfDreams(t *testing.T) {
	t.Parallel()
	for _, handle := range []string{"iris", "a", "with-dash", "with_0001", "trailing_"} {
		for _, number := range []int64{1, 42, 9999, 10000, 1<<63 - 1} {
			id := workflows.DreamID(handle, number)
			public := psyche.PublicID(id)
			require.NotContains(t, public, "/")
			for _, name := range []string{id, public} {
				found, whose, ok := psyche.DreamID(name)
				require.True(t, ok, name)
				require.Equal(t, id, found)
				require.Equal(t, handle, whose)
			}
		}
	}
	for _, name := range []string{
		"", "dream", "dream_iris", "dream_iris_1", "dream_iris_00x1", "dream//0001",
		"dream/Iris/0001", "dream/iris/0001/onset", "other/iris/0001", "dream__0001",
	} {
		_, _, ok := psyche.DreamID(name)
		require.False(t, ok, name)
	}
}
