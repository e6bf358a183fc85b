package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
)

// keysRequiredFile is written to the data folder once the deployment has had a key, so that a store that was lost,
// replaced or emptied does not open the server to everybody.
const keysRequiredFile = "keys-required"

const keysRequiredText = "This deployment has had a key, so that every request to its server needs one, also when the store is lost.\n" +
	"Do not remove this file: oneiros keys open does, when requests of this machine shall need no key again.\n"

// markedKeys combines the keys in the store with the mark in the data folder: keys are required when either says so.
type markedKeys struct {
	access.Store
	path   string // of the mark
	log    *slog.Logger
	marked atomic.Bool // this process has seen or made the mark
}

func marked(store access.Store, dataDir string, log *slog.Logger) *markedKeys {
	return &markedKeys{Store: store, path: filepath.Join(dataDir, keysRequiredFile), log: log}
}

// PutKey stores the key and writes the mark.
func (m *markedKeys) PutKey(ctx context.Context, k access.Key) error {
	if err := m.Store.PutKey(ctx, k); err != nil {
		return err
	}
	m.marked.Store(false)
	m.mark()
	return nil
}

// KeysRequired reports whether the store or the data folder requires keys. When only the store does, the mark is
// written.
func (m *markedKeys) KeysRequired(ctx context.Context) (bool, error) {
	required, err := m.Store.KeysRequired(ctx)
	if err != nil {
		return false, err
	}
	if required {
		m.mark()
		return true, nil
	}
	_, err = os.Stat(m.path)
	if err == nil {
		return true, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return false, fmt.Errorf("look for the mark that keys are required: %w", err)
}

// AllowKeyless removes the mark of the store, then that of the folder.
func (m *markedKeys) AllowKeyless(ctx context.Context, now time.Time) error {
	if err := m.Store.AllowKeyless(ctx, now); err != nil {
		return err
	}
	err := os.Remove(m.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("remove the mark that keys are required: %w", err)
}

// mark writes the mark once in each process. A failure is only logged, since the store has a mark of its own.
func (m *markedKeys) mark() {
	if m.marked.Swap(true) {
		return
	}
	err := note(filepath.Dir(m.path), keysRequiredFile, keysRequiredText)
	if err != nil {
		m.log.Warn("the data folder could not be marked: only the store records that keys are required", "error", err)
	}
}
