package sqlitestore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// smallDisk mounts a file system of four megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m")
	if err != nil {
		t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fillUp writes a file until the disk is full.
func fillUp(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(bytes.Repeat([]byte{1}, size))
		}
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
}

// holding opens a store with one memory.
func holding(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d1", Add: []dream.Item{episode("e1", "a boat")}})
	require.NoError(t, err)
	return s
}

// requireReadable fails unless a store refuses writes for one reason, and can be read and exported.
func requireReadable(t *testing.T, s *sqlitestore.Store, why memory.Unwritability) {
	t.Helper()
	refuses := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, memory.ErrUnwritable)
		found, _ := memory.WhyUnwritable(err)
		require.Equal(t, why, found, err)
	}
	words := string(bytes.Repeat([]byte("a harbour and a boat, "), 5000))
	refuses(s.Allow(t.Context(), echo, "2026-03-01", "d2", 0, 0))
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d2", Add: []dream.Item{episode("e2", words)}})
	refuses(err)
	refuses(s.PutAgent(t.Context(), dream.Agent{ID: "other", Handle: "other", Persona: words}))
	n, err := s.Count(t.Context(), memory.Query{Agent: echo})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, err := range s.Export(t.Context()) {
		require.NoError(t, err)
	}
	found, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Faults)
}

func TestOnAFullDiskAStoreIsReadAndRefusesWrites(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := filepath.Join(dir, "oneiros.db")
	s := holding(t, path)
	fillUp(t, dir)
	requireReadable(t, s, memory.Full)
	again := open(t, path)
	requireReadable(t, again, memory.Full)
	require.NoError(t, os.Remove(filepath.Join(dir, "filler")))
	_, err := s.NextDream(t.Context(), echo)
	require.NoError(t, err, "with room again it writes again")
	require.NoError(t, s.Close())
}

func TestAClosedStoreOnAFullDiskIsOpenedAndRead(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := filepath.Join(dir, "oneiros.db")
	require.NoError(t, holding(t, path).Close())
	fillUp(t, dir)
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.MustExist())
	require.NoError(t, err)
	requireReadable(t, s, memory.Full)
	require.NoError(t, s.Close())
}

func TestAStoreOnAReadOnlyDiskIsOpenedAndRead(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := filepath.Join(dir, "oneiros.db")
	require.NoError(t, holding(t, path).Close())
	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.MustExist())
	require.NoError(t, err)
	requireReadable(t, s, memory.ReadOnly)
	require.NoError(t, s.Close())
	_, err = sqlitestore.Open(t.Context(), filepath.Join(dir, "another.db"))
	require.ErrorContains(t, err, "read-only")
}
