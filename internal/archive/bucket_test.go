package archive_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/archive"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(archiverOf); address != "" {
		fmt.Fprintln(os.Stderr, archiveUntilKilled(context.Background(), address))
		os.Exit(1)
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "keeper", "AWS_SECRET_ACCESS_KEY": "of nothing"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// addresses returns a new bucket of every kind.
func addresses(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"Folder":      filepath.Join(t.TempDir(), "archive"),
		"FolderByURL": "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "archive")),
		"S3":          newS3(t, false).address(""), "S3UnderAPrefix": newS3(t, false).address("team/one"),
	}
}

func each(t *testing.T, clause func(t *testing.T, address string)) {
	t.Helper()
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clause(t, address)
		})
	}
}

func opened(t *testing.T, address string) archive.Bucket {
	t.Helper()
	b, err := archive.Open(t.Context(), address)
	require.NoError(t, err)
	return b
}

func TestABucketStoresObjectsAndListsThemInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		b := opened(t, address)
		_, err := b.Read(t.Context(), "events/a/2026-03-12/1.jsonl")
		require.ErrorIs(t, err, archive.ErrMissing)
		names, err := b.Names(t.Context(), "events/a/")
		require.NoError(t, err)
		require.Empty(t, names)
		made := []string{"events/a/2026-03-11/2.jsonl", "events/a/2026-03-12/1.jsonl", "events/a/2026-03-12/3.jsonl"}
		for _, name := range []string{made[2], made[0], made[1], "events/ab/2026-03-12/1.jsonl"} {
			require.NoError(t, b.Create(t.Context(), name, []byte("<"+name+">\n")))
		}
		names, err = b.Names(t.Context(), "events/a/")
		require.NoError(t, err)
		require.Equal(t, made, names)
		body, err := opened(t, address).Read(t.Context(), made[1])
		require.NoError(t, err)
		require.Equal(t, "<"+made[1]+">\n", string(body))
		require.NoError(t, b.Replace(t.Context(), made[1], []byte("new\n")))
		require.NoError(t, b.Replace(t.Context(), "position/a.json", []byte("first\n")))
		body, err = b.Read(t.Context(), made[1])
		require.NoError(t, err)
		require.Equal(t, "new\n", string(body))
	})
}

func TestOneOfManyConcurrentCreatesSucceeds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		const hands = 8
		var made atomic.Int64
		faults := make(chan error, hands)
		for i := range hands {
			b := opened(t, address)
			go func() {
				err := b.Create(t.Context(), "events/a/d/1.jsonl", fmt.Appendf(nil, "%d\n", i))
				if err == nil {
					made.Add(1)
				}
				faults <- err
			}()
		}
		for range hands {
			if err := <-faults; err != nil {
				require.ErrorIs(t, err, archive.ErrExists)
			}
		}
		require.EqualValues(t, 1, made.Load())
	})
}

func TestABucketThatCouldLoseEventsIsRefused(t *testing.T) {
	t.Parallel()
	_, err := archive.Open(t.Context(), newS3(t, true).address(""))
	require.ErrorContains(t, err, "ignores If-None-Match")
}

func TestAnInvalidAddressIsExplained(t *testing.T) {
	t.Parallel()
	for address, why := range map[string]string{
		"ftp://there/x":               "it must be a path, file:// or s3://",
		"file://there/x":              "must be like file:///var/lib/oneiros/archive",
		"s3://":                       "names no bucket",
		"s3://key:secret@bucket":      "contains a key",
		"s3://bucket?profile=me":      `sets "profile"; it may set region and endpoint`,
		"s3://bucket?endpoint=host:1": "must be like https://s3.example.org",
	} {
		_, err := archive.Open(t.Context(), address)
		require.ErrorContains(t, err, why, address)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAFolderIsPrivateAndRemovesDraftsOfKilledProcesses(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "archive")
	b := opened(t, root)
	require.NoError(t, b.Create(t.Context(), "events/a/d/1.jsonl", []byte("x\n")))
	for path, mode := range map[string]os.FileMode{"": 0o700, "events/a": 0o700, "events/a/d/1.jsonl": 0o600} {
		info, err := os.Stat(filepath.Join(root, path))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
	old, fresh := filepath.Join(root, ".drafts", "old"), filepath.Join(root, ".drafts", "fresh")
	for _, path := range []string{old, fresh} {
		require.NoError(t, os.WriteFile(path, []byte("half a li"), 0o600))
	}
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(old, long, long))
	opened(t, root)
	require.NoFileExists(t, old)
	require.FileExists(t, fresh)
}
