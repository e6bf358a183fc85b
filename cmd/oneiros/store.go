package main

import (
	"context"
	"path/filepath"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/fabric"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/purse"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// store is everything that a deployment keeps, whichever of the two keeps it (decision 12).
type store interface {
	memory.Store
	memory.Feeds
	fabric.Log
	presence.Store
	Close() error
}

// kept is an open store, with its ledger and the name that people know it by.
type kept struct {
	store
	ledger purse.Ledger
	bell   presence.Bell
	name   string
}

// keep opens the store that is configured: a Redis server when store.url names one, else the SQLite file.
func keep(ctx context.Context, c config.Config, path string) (kept, error) {
	if err := folder(filepath.Dir(path)); err != nil {
		return kept{}, err
	}
	s, err := sqlitestore.Open(ctx, path)
	if err != nil {
		return kept{}, err
	}
	return kept{store: s, ledger: s.Ledger(), name: path}, nil
}
