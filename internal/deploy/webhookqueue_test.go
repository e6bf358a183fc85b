package deploy

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

func TestWhatWebhooksHaveYetToSendIsCounted(t *testing.T) {
	t.Parallel()
	s, err := openFile(t.Context(), config.Config{DataDir: t.TempDir()}, filepath.Join(t.TempDir(), "rooms.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	rooms := s.Rooms()
	at := time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)
	owner := room.PersonID("mara")
	member := func(who room.Who) room.Member {
		return room.Member{
			Room:   "quay",
			Who:    who,
			Name:   who.ID,
			Role:   room.Owner,
			Trust:  dormancy.Own,
			Joined: at,
		}
	}
	_, err = rooms.Create(t.Context(), room.Room{ID: "quay", By: owner, Created: at}, member(owner))
	require.NoError(t, err)
	_, err = rooms.AddWebhook(t.Context(), room.Webhook{
		Room:    "quay",
		Name:    "log",
		URL:     "https://example.org/log",
		Salt:    "s",
		By:      owner,
		Created: at,
	})
	require.NoError(t, err)
	q, err := webhookQueue(t.Context(), rooms, at)
	require.NoError(t, err)
	require.Zero(t, q, "it begins after the newest event")
	other := member(room.PersonID("jon"))
	other.Joined = at.Add(time.Minute)
	_, err = rooms.Join(t.Context(), other)
	require.NoError(t, err)
	q, err = webhookQueue(t.Context(), rooms, at.Add(3*time.Minute))
	require.NoError(t, err)
	require.Equal(t, telemetry.WebhookQueue{Waiting: 1, Oldest: 2 * time.Minute}, q)
	w, err := rooms.TakeWebhook(t.Context(), "quay", "log", "one", time.Minute, at.Add(2*time.Minute))
	require.NoError(t, err)
	err = rooms.NoteSent(t.Context(), room.SentEvents{
		Room:   "quay",
		Name:   "log",
		Holder: w.Holder,
		After:  w.After,
		Tries:  1,
		Fault:  "away",
		Due:    at.Add(time.Hour),
	})
	require.NoError(t, err)
	q, err = webhookQueue(t.Context(), rooms, at.Add(3*time.Minute))
	require.NoError(t, err)
	require.Equal(t, 1, q.Failing)
}
