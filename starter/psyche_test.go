package starter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// unreachable is an unreachable store of leases whose error names its address.
type unreachable struct{ presence.Store }

func (unreachable) Arrive(context.Context, presence.Visit) (presence.Arrival, error) {
	return presence.Arrival{}, errors.New("dial tcp 10.0.0.7:6379: connection refused")
}

// cracked is a wake bus that reaches no other process.
type cracked struct{}

func (cracked) Publish(context.Context, presence.WakeNotice) error {
	return errors.New("dial unix /srv/bell: no such file")
}
func (cracked) Listen(func(presence.WakeNotice)) (func(), error) { return func() {}, nil }

func TestAnIncompleteWakeIsReportedWithoutAddresses(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	s.Presence, s.WakeBus = s.Memory.(presence.Store), cracked{}
	nights, ctx := s.ForPsyche(), context.Background()
	woken, err := nights.Wake(ctx, agent.ID, "talk/guest", time.Minute)
	require.NoError(t, err)
	require.True(t, woken.Raised)
	require.Equal(t, int64(1), woken.Epoch)
	require.NotContains(t, woken.Degraded, "srv")
	status, err := nights.Status(ctx, agent.ID)
	require.NoError(t, err)
	require.Len(t, status.Leases, 1)
	require.NoError(t, nights.Leave(ctx, agent.ID, "talk/guest"))

	s.Presence = unreachable{s.Presence}
	woken, err = nights.Wake(ctx, agent.ID, "talk/guest", time.Minute)
	require.NoError(t, err)
	require.Equal(t, noStore, woken.Degraded)
	require.Zero(t, woken.Epoch)
}

func TestAnEndedLeaseIsAnnounced(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	bus := &presence.LocalBus{}
	s.Presence, s.WakeBus = s.Memory.(presence.Store), bus
	nights, ctx := s.ForPsyche(), context.Background()
	_, err := nights.Wake(ctx, agent.ID, "talk/guest", time.Minute)
	require.NoError(t, err)
	var notices []presence.WakeNotice
	_, err = bus.Listen(func(r presence.WakeNotice) { notices = append(notices, r) })
	require.NoError(t, err)

	require.NoError(t, nights.Leave(ctx, agent.ID, "talk/guest"))
	require.Len(t, notices, 1)
	require.Equal(t, agent.ID, notices[0].Agent)
	require.Equal(t, int64(1), notices[0].Epoch, "it stops nothing of the present epoch")
	require.NoError(t, s.Sleep(ctx, agent.Handle))
	require.Len(t, notices, 2)
}
