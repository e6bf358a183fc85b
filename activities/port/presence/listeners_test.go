package presence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/presence/presencetest"
)

func TestTheLocalBusKeepsTheContract(t *testing.T) {
	t.Parallel()
	presencetest.RunWakeBus(t, func(*testing.T) (here, there presence.WakeBus) { return &presence.LocalBus{}, nil })
}

func TestAClearedBusCallsNobody(t *testing.T) {
	t.Parallel()
	var bus presence.LocalBus
	called := 0
	_, err := bus.Listen(func(presence.WakeNotice) { called++ })
	require.NoError(t, err)
	bus.Deliver(presence.WakeNotice{Agent: "a", Epoch: 1})
	bus.Clear()
	bus.Deliver(presence.WakeNotice{Agent: "a", Epoch: 2})
	require.Equal(t, 1, called)
}
