package roomtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

var checkIns = []clause{
	{"ACheckInIsKeptUntilItIsCancelled", checkInKept},
	{"ACheckInIsMovedOnce", checkInMoved},
	{"CheckInsAreBounded", checkInsBounded},
}

func checkIn(name string) room.CheckIn {
	return room.CheckIn{
		Agent:   echo.ID,
		Name:    name,
		Room:    hall,
		Message: &room.Text{Body: "look", Name: "Ada", Taint: dream.FromHuman},
		From:    ada,
		Every:   "6h",
		First:   after(6 * time.Hour),
		Next:    after(6 * time.Hour),
		Created: noon,
	}
}

func listed(t *testing.T, s room.Store) []room.CheckIn {
	t.Helper()
	all, err := s.CheckIns(t.Context(), echo.ID)
	require.NoError(t, err)
	return all
}

func checkInKept(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	for range 2 {
		kept, err := s.SetCheckIn(t.Context(), checkIn("morning"))
		require.NoError(t, err)
		require.Equal(t, checkIn("morning"), kept)
	}
	other := checkIn("morning")
	other.Every = "7h"
	_, err := s.SetCheckIn(t.Context(), other)
	require.ErrorIs(t, err, room.ErrTaken)
	evening := checkIn("evening")
	evening.Room = ""
	_, err = s.SetCheckIn(t.Context(), evening)
	require.NoError(t, err)
	require.Equal(t, []room.CheckIn{evening, checkIn("morning")}, listed(t, s))
	agents, err := s.Expecting(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{echo.ID}, agents)
	wrong := checkIn("Morning")
	_, err = s.SetCheckIn(t.Context(), wrong)
	require.ErrorContains(t, err, `name is "Morning"`)
	absent := checkIn("absent")
	absent.Agent = iris.ID
	_, err = s.SetCheckIn(t.Context(), absent)
	require.ErrorIs(t, err, room.ErrNotMember)

	require.NoError(t, s.Leave(t.Context(), hall, echo, after(time.Minute)))
	require.Equal(t, []room.CheckIn{evening}, listed(t, s), "one of a room ends when the agent leaves it")
	removed, err := s.CancelCheckIn(t.Context(), echo.ID, "evening")
	require.NoError(t, err)
	require.Equal(t, evening, removed)
	_, err = s.CancelCheckIn(t.Context(), echo.ID, "evening")
	require.ErrorIs(t, err, room.ErrNotFound)
	agents, err = s.Expecting(t.Context())
	require.NoError(t, err)
	require.Empty(t, agents)
}

func checkInMoved(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	c, err := s.SetCheckIn(t.Context(), checkIn("morning"))
	require.NoError(t, err)
	next := c.Next.Add(6 * time.Hour)
	require.NoError(t, s.MoveCheckIn(t.Context(), echo.ID, "morning", c.Next, next))
	require.ErrorIs(t, s.MoveCheckIn(t.Context(), echo.ID, "morning", c.Next, next), room.ErrStale)
	require.Equal(t, next, listed(t, s)[0].Next)
	again, err := s.SetCheckIn(t.Context(), checkIn("morning"))
	require.NoError(t, err)
	require.Equal(t, next, again.Next, "the same one again moves nothing")
	require.NoError(t, s.MoveCheckIn(t.Context(), echo.ID, "morning", next, time.Time{}))
	require.Empty(t, listed(t, s))
	require.ErrorIs(t, s.MoveCheckIn(t.Context(), echo.ID, "morning", next, time.Time{}), room.ErrStale)
}

func checkInsBounded(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	for n := range room.MaxCheckIns {
		_, err := s.SetCheckIn(t.Context(), checkIn(fmt.Sprint("c", n)))
		require.NoError(t, err)
	}
	_, err := s.SetCheckIn(t.Context(), checkIn("one-too-many"))
	require.ErrorIs(t, err, room.ErrTooMany)
}
