package testdeploy

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// Store is everything that a deployment's one store promises.
type Store interface {
	memory.Store
	memory.Feeds
	fabric.Log
	presence.Store
	presence.WakeBus
	Rooms() room.Store
	Ledger() spend.Ledger
}

type sqliteStore struct{ *sqlitestore.Store }

func (s sqliteStore) Ledger() spend.Ledger { return s.Store.Ledger() }

type redisStore struct{ *redisstore.Store }

func (s redisStore) Ledger() spend.Ledger { return s.Store.Ledger() }

// openStore opens the store: Redis when the configuration has its URL, else the file.
func (c Config) openStore(ctx context.Context) (Store, error) {
	if c.Redis != "" {
		store, err := redisstore.Open(ctx, c.Redis, redisstore.Prefix(c.Prefix))
		if err != nil {
			return nil, err
		}
		return redisStore{store}, nil
	}
	store, err := sqlitestore.Open(ctx, c.Store)
	if err != nil {
		return nil, err
	}
	return sqliteStore{store}, nil
}
