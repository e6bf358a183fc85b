package roomtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
)

var webhooks = []clause{
	{"AWebhookIsKeptUntilItIsRemoved", webhookKept},
	{"OneHolderSendsAtATime", webhookTaken},
}

func webhook(name, url string) room.Webhook {
	w := room.Webhook{
		Room:    hall,
		Name:    name,
		URL:     url,
		Salt:    "salt of " + name,
		By:      ada,
		Created: noon,
	}
	if url == "" {
		w.Sender = ada
	}
	return w
}

func webhookKept(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	out, err := s.AddWebhook(t.Context(), webhook("out", "https://example.org/in"))
	require.NoError(t, err)
	require.EqualValues(t, 2, out.After, "it begins with what comes")
	in, err := s.AddWebhook(t.Context(), webhook("in", ""))
	require.NoError(t, err)
	_, err = s.AddWebhook(t.Context(), webhook("in", ""))
	require.ErrorIs(t, err, room.ErrTaken)
	for _, id := range []string{hall, ""} {
		all, err := s.Webhooks(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, []room.Webhook{in, out}, all)
	}
	none, err := s.Webhooks(t.Context(), "hal")
	require.NoError(t, err)
	require.Empty(t, none)
	removed, err := s.RemoveWebhook(t.Context(), hall, "in")
	require.NoError(t, err)
	require.Equal(t, in, removed)
	_, err = s.RemoveWebhook(t.Context(), hall, "in")
	require.ErrorIs(t, err, room.ErrNotFound)
	for text, wrong := range map[string]room.Webhook{
		"url is not an address": webhook("x", "ftp://example.org"),
		"without a user":        webhook("x", "https://a:b@example.org"),
		`name is "X"`:           webhook("X", ""),
	} {
		_, err := s.AddWebhook(t.Context(), wrong)
		require.ErrorContains(t, err, text)
	}
	absent := webhook("x", "")
	absent.Room = "cellar"
	_, err = s.AddWebhook(t.Context(), absent)
	require.ErrorIs(t, err, room.ErrNotFound)
}

func webhookTaken(t *testing.T, s room.Store) {
	furnish(t, s)
	_, err := s.AddWebhook(t.Context(), webhook("out", "https://example.org/in"))
	require.NoError(t, err)
	for range 2 {
		taken, err := s.TakeWebhook(t.Context(), hall, "out", "one", time.Minute, noon)
		require.NoError(t, err)
		require.Equal(t, after(time.Minute), taken.Until)
	}
	_, err = s.TakeWebhook(t.Context(), hall, "out", "two", time.Minute, after(time.Second))
	require.ErrorIs(t, err, room.ErrFenced)
	sent := room.SentEvents{
		Room:   hall,
		Name:   "out",
		Holder: "one",
		After:  7,
		Tries:  2,
		Due:    after(time.Hour),
		Fault:  "it answered HTTP 500",
	}
	require.NoError(t, s.NoteSent(t.Context(), sent))
	taken, err := s.TakeWebhook(t.Context(), hall, "out", "two", time.Minute, after(time.Minute))
	require.NoError(t, err)
	require.EqualValues(t, 7, taken.After)
	require.Equal(t, 2, taken.Tries)
	require.Equal(t, after(time.Hour), taken.Due)
	require.Equal(t, "it answered HTTP 500", taken.Fault)
	require.ErrorIs(t, s.NoteSent(t.Context(), sent), room.ErrFenced)
	_, err = s.TakeWebhook(t.Context(), hall, "none", "two", time.Minute, noon)
	require.ErrorIs(t, err, room.ErrNotFound)
}
