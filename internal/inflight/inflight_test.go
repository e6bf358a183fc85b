package inflight_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// clockwork is a store of epochs that counts its reads and can fail.
type clockwork struct {
	presence.Store
	epoch int64
	fail  error
	reads chan struct{}
}

func (c *clockwork) Epoch(context.Context, string) (int64, error) {
	if c.reads != nil {
		c.reads <- struct{}{}
	}
	return c.epoch, c.fail
}

func registered(t *testing.T, r *inflight.Registry, epoch int64) context.Context {
	t.Helper()
	ctx, release := r.Register(context.Background(), "a", epoch)
	t.Cleanup(release)
	return ctx
}

func inflightRegistry(t *testing.T, epochs presence.Store) *inflight.Registry {
	t.Helper()
	r := inflight.NewRegistry(epochs)
	t.Cleanup(r.Close)
	return r
}

func TestANoticeStopsOnlyActivitiesOfItsAgentUnderOlderEpochs(t *testing.T) {
	t.Parallel()
	r := inflightRegistry(t, &clockwork{})
	older, newer := registered(t, r, 1), registered(t, r, 2)
	other, release := r.Register(context.Background(), "b", 0)
	defer release()
	require.Equal(t, 3, r.Running())
	r.OnNotice(presence.WakeNotice{Agent: "a", Epoch: 2, Local: true})
	w, woken := inflight.WokenBy(older)
	require.True(t, woken)
	require.Equal(t, int64(2), w.Notice.Epoch)
	require.NoError(t, newer.Err())
	require.NoError(t, other.Err())
}

func TestAnActivityOfAStretchWokenBeforeItBeganIsStopped(t *testing.T) {
	t.Parallel()
	r := inflightRegistry(t, &clockwork{epoch: 3})
	_, woken := inflight.WokenBy(registered(t, r, 2))
	require.True(t, woken)
	require.NoError(t, registered(t, r, 3).Err())
}

func TestAnUnreadableEpochStopsNoActivity(t *testing.T) {
	t.Parallel()
	r := inflightRegistry(t, &clockwork{epoch: 9, fail: errors.New("away")})
	require.NoError(t, registered(t, r, 0).Err())
}

// A notice of another process may be forged: the store decides, and is read only if an activity would be stopped.
func TestANoticeOfAnotherProcessIsVerified(t *testing.T) {
	t.Parallel()
	epochs := &clockwork{epoch: 5, reads: make(chan struct{}, 16)}
	r := inflightRegistry(t, epochs)
	activity := registered(t, r, 5)
	<-epochs.reads
	r.OnNotice(presence.WakeNotice{Agent: "a", Epoch: 99})
	<-epochs.reads
	late := registered(t, r, 4) // stopped by reading the epoch
	<-epochs.reads
	require.Error(t, late.Err())
	r.OnNotice(presence.WakeNotice{Agent: "nobody", Epoch: 99})
	r.OnNotice(presence.WakeNotice{Agent: "a", Epoch: 5})
	require.NoError(t, activity.Err(), "a forged epoch stops nothing")
	require.LessOrEqual(t, len(epochs.reads), 1)
}

func TestAReleasedActivityIsForgotten(t *testing.T) {
	t.Parallel()
	r := inflightRegistry(t, &clockwork{})
	ctx, release := r.Register(context.Background(), "a", 0)
	release()
	require.Zero(t, r.Running())
	require.Error(t, ctx.Err())
	_, woken := inflight.WokenBy(ctx)
	require.False(t, woken)
	r.OnNotice(presence.WakeNotice{Agent: "a", Epoch: 1, Local: true, At: time.Now()})
}
