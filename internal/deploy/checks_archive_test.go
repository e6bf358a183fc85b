package deploy

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/archive"
)

func TestTheDoctorLooksAtTheArchive(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "archive")
	require.Contains(t, appOf(t, "").checkArchive(t.Context()).Found, "archive.url is empty")
	d := appOf(t, "archive:\n  url: "+folder+"\n")
	look := func(state State, says string) {
		t.Helper()
		found := d.checkArchive(t.Context())
		require.Equal(t, state, found.State, found.Found)
		require.Contains(t, found.Found, says)
	}
	look(Well, folder+", every 5m0s: agents 0, events waiting 0")
	require.NoDirExists(t, folder, "the worker makes it, not the doctor")

	h, err := build(t.Context(), d.cfg, d.cfg.StorePath())
	require.NoError(t, err)
	defer func() { require.NoError(t, h.store.Close()) }()
	require.NoError(t, h.store.PutAgent(t.Context(), dream.Agent{
		ID:      "echo",
		Handle:  "echo",
		Zone:    "UTC",
		Tier:    dream.Core,
		Created: time.Now(),
	}))
	announce := func(id string, ago time.Duration) {
		e := event.New(id, "echo", "", time.Now().Add(-ago), event.AgentAsleep{Epoch: 1})
		_, err := h.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: "test", Events: []event.Event{e}})
		require.NoError(t, err)
	}
	announce("new", time.Minute)
	look(Well, "agents 1, events waiting 1")
	announce("next", time.Second)
	a := &archive.Archive{Log: h.store, Now: time.Now}
	a.Bucket, err = archive.Open(t.Context(), folder)
	require.NoError(t, err)
	_, err = a.Once(t.Context())
	require.NoError(t, err)
	look(Well, "events waiting 0")
	announce("old", time.Hour)
	look(Warning, "events wait longer than the 5m0s of archive.every: echo (1 since ")

	require.NoError(t,
		a.Bucket.Replace(t.Context(), "position/echo.json", []byte(`{"seq":2,"event":"of another store"}`)))
	look(Ill, "holds other events than the store of echo")

	require.NoError(t, os.RemoveAll(folder))
	require.NoError(t, os.WriteFile(folder, nil, 0o600))
	look(Ill, "not a directory")
}
