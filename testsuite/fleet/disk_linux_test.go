package fleet_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A deployment on one machine, whose disk gets full while agents dream and people talk: the SQLite file of the store
// and the folders of all processes lie on it. It is larger than the 100 MB below which doctor calls a disk full.
func TestOneMachineGoesOnAfterItsDiskWasFull(t *testing.T) {
	t.Parallel()
	skipShort(t)
	if !full {
		t.Skip("runs in full with PROVE=full")
	}
	disk := t.TempDir()
	err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256m")
	if err != nil {
		t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	r := openTrialOn(t, site{file: filepath.Join(disk, "memory.db"), dir: disk, commands: []string{"up"}}, 6, 2)
	r.calm()
	began := time.Now()
	r.through(trouble{"the disk is full", func() { r.fillDisk(filepath.Join(disk, "filler")) }})
	t.Logf("the disk of one machine is full: sound after %s; %d exchanges, %d dreams",
		time.Since(began).Round(100*time.Millisecond), len(r.crowd.exchanges()), len(r.requested))
	require.Zero(t, r.figures.lost)
	require.NoError(t, r.fleet.Panics())
}

// fillDisk leaves no space for anything more, and makes room again.
func (t *trial) fillDisk(filler string) {
	f, err := os.Create(filler)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	full := func() bool { // the log of earlier writes is used again until it is full
		for size := 1 << 20; size > 0; size /= 2 {
			for err = nil; err == nil; {
				_, err = f.Write(bytes.Repeat([]byte{1}, size))
			}
		}
		return t.readiness(0) == http.StatusServiceUnavailable
	}
	require.Eventually(t, full, settledWithin, 50*time.Millisecond, "a full store is ready")
	t.requireRefused()
	t.requireNamed("doctor", "store")
	t.requireNamed("doctor", "disk")
	t.wait(5 * time.Second)
	require.NoError(t, os.Truncate(filler, 0))
	require.Eventually(t, func() bool { return t.readiness(0) == http.StatusOK }, settledWithin, 50*time.Millisecond,
		"a store that has space again is not ready")
	t.beginDreams(2)
}
