package main

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

// keysRequiredFile stands in the data folder once the deployment has had a key, so that a store that was lost, replaced
// or emptied lets nobody in.
const keysRequiredFile = "keys-required"

const keysRequiredText = "This deployment has had a key, so that every request to its server needs one, also when the store is lost.\n" +
	"Do not remove this file: oneiros keys open does, when requests of this machine shall need no key again.\n"

// markedKeys are the keys of the store beside the mark of the data folder: keys are required when either says so.
type markedKeys struct {
	access.Store
	path   string // of the mark
	log    *slog.Logger
	marked atomic.Bool // this process has seen the mark, or made it
}

func marked(store access.Store, dataDir string, log *slog.Logger) *markedKeys {
	return &markedKeys{Store: store, path: filepath.Join(dataDir, keysRequiredFile), log: log}
}

// PutKey puts the key, and leaves the mark.
func (m *markedKeys) PutKey(ctx context.Context, k access.Key) error {
	if err := m.Store.PutKey(ctx, k); err != nil {
		return err
	}
	m.marked.Store(false)
	m.mark()
	return nil
}

// KeysRequired says whether the store or the data folder requires keys. What the store says first is marked in the
// folder.
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

// mark leaves the mark once in each process. A folder that cannot be written is warned of: the store has its own mark.
func (m *markedKeys) mark() {
	if m.marked.Swap(true) {
		return
	}
	err := note(filepath.Dir(m.path), keysRequiredFile, keysRequiredText)
	if err != nil {
		m.log.Warn("the data folder could not be marked: only the store knows that keys are required", "error", err)
	}
}
