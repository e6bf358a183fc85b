package presencetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var slots = []clause{
	{"NoDreamBeginsWhileTheAgentIsHeldAwake", noDreamWhileAwake},
	{"ASlotHasTheEpochItWasTakenAt", slotHasEpoch},
	{"HoldersAreComparedByDreamAndRunNotByEpoch", oneHolder},
	{"AStretchDoesNotFreeTheSlotOfALaterOne", laterStretch},
}

func noDreamWhileAwake(t *testing.T, s Store) {
	v := visit("web", 0)
	v.For = time.Second
	raise(t, s, v)
	for _, since := range []time.Duration{0, time.Second - 1, time.Second, lock - 1} {
		_, err := s.TakeSlot(t.Context(), echo, slot("echo/0001", since), memory.Fence{})
		require.ErrorIs(t, err, memory.ErrAwake, since)
	}
	held, err := s.Slots(t.Context())
	require.NoError(t, err)
	require.Empty(t, held)
	f := sleep(t, s, "echo/0001", lock)
	v.Now, v.Cause = at(lock), "alarm"
	raise(t, s, v)
	got, err := s.TakeSlot(t.Context(), echo, slot("echo/0001", lock), memory.Fence{})
	require.NoError(t, err, "a held slot is confirmed even while the agent is awake")
	require.Equal(t, f, got.Fence)
	got, err = s.TakeSlot(t.Context(), echo, slot("echo/0002", lock), memory.Fence{})
	require.ErrorIs(t, err, memory.ErrTaken)
	require.Equal(t, f, got.Fence, "the holder is returned even while the agent is awake")
	_, err = s.TakeSlot(t.Context(), echo, slot("echo/0002", lock), f)
	require.ErrorIs(t, err, memory.ErrAwake)
	got, err = s.TakeSlot(t.Context(), echo, slot("echo/0002", 2*lock), f)
	require.NoError(t, err)
	require.EqualValues(t, 2, got.Epoch)
}

func slotHasEpoch(t *testing.T, s Store) {
	request := slot("echo/0001", 0)
	request.Epoch = 77
	got, err := s.TakeSlot(t.Context(), echo, request, memory.Fence{})
	require.NoError(t, err)
	require.Zero(t, got.Epoch, "the requested epoch is ignored")
	raise(t, s, visit("web", 0))
	got, err = s.TakeSlot(t.Context(), echo, request, memory.Fence{})
	require.NoError(t, err)
	require.Zero(t, got.Epoch, "confirming does not change the epoch")
	require.NoError(t, s.FreeSlot(t.Context(), echo, got.Fence))
	got, err = s.TakeSlot(t.Context(), echo, slot("echo/0001", hold), memory.Fence{})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Epoch)
	held, err := s.Slots(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]memory.Slot{echo: got}, held)
}

func laterStretch(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	first := sleep(t, s, "echo/0001", 2*hold)
	require.NoError(t, s.FreeSlot(t.Context(), echo, first))
	raise(t, s, visit("web", 3*hold))
	second := sleep(t, s, "echo/0001", 6*hold)
	require.Greater(t, second.Epoch, first.Epoch)
	holds := func(want bool) {
		held, err := s.Slots(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, len(held) == 1, held)
	}
	require.NoError(t, s.FreeSlot(t.Context(), echo, first))
	holds(true)
	require.NoError(t, s.FreeSlot(t.Context(), echo, second))
	holds(false)
	require.Equal(t, second, sleep(t, s, "echo/0001", 6*hold))
	second.Epoch = 0
	require.NoError(t, s.FreeSlot(t.Context(), echo, second), "a fence without an epoch frees the slot of any stretch")
	holds(false)
}

func oneHolder(t *testing.T, s Store) {
	first := slot("echo/0001", 0)
	first.Epoch = 5
	got, err := s.TakeSlot(t.Context(), echo, first, memory.Fence{})
	require.NoError(t, err)
	elder := got.Fence
	elder.Epoch = 41
	second := slot("echo/0002", 0)
	second, err = s.TakeSlot(t.Context(), echo, second, elder)
	require.NoError(t, err, "stealing compares dream and run, not the epoch")
	younger := second.Fence
	younger.Epoch = 42
	require.NoError(t, s.FreeSlot(t.Context(), echo, younger))
	held, err := s.Slots(t.Context())
	require.NoError(t, err)
	require.Empty(t, held)
	_, err = s.TakeSlot(t.Context(), echo, first, memory.Fence{Epoch: 9}) // the slot is free, so nothing is stolen
	require.NoError(t, err)
	_, err = s.TakeSlot(t.Context(), echo, slot("echo/0003", 0), memory.Fence{Epoch: 9})
	require.ErrorIs(t, err, memory.ErrTaken)
}
