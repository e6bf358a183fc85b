package temporalchild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Record tells other processes with the same data folder where our server runs.
type Record struct {
	Address   string `json:"address"`
	Namespace string `json:"namespace"`
	UI        string `json:"ui,omitempty"`
	PID       int    `json:"pid"`   // the server
	Owner     int    `json:"owner"` // the process that started it
}

const recordFile = "temporal.json"

// Announce writes the record into the folder atomically.
func (r Record) Announce(dir string) error {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".temporal-*.json")
	if err != nil {
		return fmt.Errorf("announce the Temporal server: %w", err)
	}
	_, err = f.Write(append(body, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, recordFile))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("announce the Temporal server: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// Withdraw removes the record if it is still ours.
func (r Record) Withdraw(dir string) error {
	found, ok, err := ReadRecord(dir)
	if err != nil || !ok || found.PID != r.PID {
		return err
	}
	return os.Remove(filepath.Join(dir, recordFile))
}

// ReadRecord reads the record of a folder. It returns false when there is none, or when the server or the process that
// started it has ended: a server stops when its owner has ended.
func ReadRecord(dir string) (Record, bool, error) {
	body, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	var r Record
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err != nil {
		return r, false, fmt.Errorf("read where the Temporal server runs: %w", err)
	}
	return r, r.Address != "" && alive(r.PID) && alive(r.Owner), nil
}

// AwaitEnd waits until the server of a record has ended, so that another may open its file.
func (r Record) AwaitEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for alive(r.PID) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf(
				"the Temporal server of an earlier run (pid %d) still runs and does not answer; end it, or remove %s if that process is another",
				r.PID, recordFile)
		}
	}
	return nil
}

// alive also returns false for a process that has ended but was not waited for: in a container whose first process
// never waits, a killed owner would otherwise seem to live forever.
func alive(pid int) bool {
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true // there is no /proc here
	}
	_, state, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return !ok || !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
