package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/fabric"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/purse"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// store is everything that a deployment keeps, whichever of the two keeps it (decision 12).
type store interface {
	memory.Store
	memory.Feeds
	memory.Talks
	fabric.Log
	presence.Store
	presence.Bell
	access.Store
	Close() error
}

// kept is an open store, with its ledger and the name that people know it by.
type kept struct {
	store
	ledger purse.Ledger
	name   string
}

// keep opens the store that is configured: a Redis server when store.url names one, else the SQLite file.
func keep(ctx context.Context, c config.Config, path string) (kept, error) {
	if c.Store.URL != "" {
		return keepOnRedis(ctx, c)
	}
	if err := folder(filepath.Dir(path)); err != nil {
		return kept{}, err
	}
	s, err := sqlitestore.Open(ctx, path)
	if err != nil {
		return kept{}, err
	}
	return kept{store: s, ledger: s.Ledger(), name: path}, nil
}

func keepOnRedis(ctx context.Context, c config.Config, options ...redisstore.Option) (kept, error) {
	u, err := url.Parse(c.Store.URL)
	if err != nil {
		return kept{}, errors.New("store.url cannot be read")
	}
	name := u.Redacted()
	password, err := c.StorePassword()
	if err != nil {
		return kept{}, asUsage(fmt.Errorf("password of the store %s: %w", name, err))
	}
	if password != "" {
		u.User = url.UserPassword(u.User.Username(), password)
	}
	if c.Store.TrustServer {
		options = append(options, redisstore.TrustServer())
	}
	s, err := redisstore.Open(ctx, u.String(), options...)
	if err != nil {
		return kept{}, inKnobs(err)
	}
	return kept{store: s, ledger: s.Ledger(), name: name}, nil
}

// knobbed is an error in words of the configuration.
type knobbed struct {
	error
	said string
}

func (k knobbed) Error() string { return k.said }
func (k knobbed) Unwrap() error { return k.error }

// inKnobs names the knob that trusts a server where the library names its option.
func inKnobs(err error) error {
	return knobbed{err, strings.ReplaceAll(err.Error(), "(TrustServer)", "(store.trust_server: true)")}
}
