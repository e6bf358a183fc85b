package stage

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/fabric"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// Store is everything that a deployment's one store promises.
type Store interface {
	memory.Store
	memory.Feeds
	fabric.Log
	presence.Store
	presence.WakeBus
	Ledger() spend.Ledger
}

type embedded struct{ *sqlitestore.Store }

func (s embedded) Ledger() spend.Ledger { return s.Store.Ledger() }

type shared struct{ *redisstore.Store }

func (s shared) Ledger() spend.Ledger { return s.Store.Ledger() }

// store opens the play's: Redis when it names one, else the file.
func (p Play) store(ctx context.Context) (Store, error) {
	if p.Redis != "" {
		store, err := redisstore.Open(ctx, p.Redis, redisstore.Prefix(p.Prefix))
		if err != nil {
			return nil, err
		}
		return shared{store}, nil
	}
	store, err := sqlitestore.Open(ctx, p.Store)
	if err != nil {
		return nil, err
	}
	return embedded{store}, nil
}
