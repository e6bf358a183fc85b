package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// stores returns the functions behind the commands that export, import and move a store.
func (d *app) stores() console.StoreCommand {
	return console.StoreCommand{
		Here: d.deposit(openStore), Fill: d.deposit(openAnyFile, redisstore.Refill()),
		There: func(ctx context.Context, p console.StorePlace) (console.Deposit, error) {
			c, err := d.config()
			if err == nil {
				c, err = elsewhere(c, p)
			}
			if err != nil {
				return console.Deposit{}, err
			}
			return deposit(ctx, c, openAnyFile, redisstore.Refill())
		},
		Absent: d.storeAbsent,
		Begin: func(ctx context.Context) error {
			c, err := d.config()
			if err != nil {
				return err
			}
			s, err := openAnyFile(ctx, c, c.StorePath())
			if err != nil {
				return err
			}
			return s.Close()
		},
	}
}

// openFunc opens the store of a configuration.
type openFunc func(ctx context.Context, c config.Config, path string) (openedStore, error)

// openAnyFile opens the SQLite file even when an earlier one was lost, for commands that fill it or begin anew.
func openAnyFile(ctx context.Context, c config.Config, path string) (openedStore, error) {
	return openFile(ctx, c, path)
}

// deposit returns how the configured store is opened to be moved or filled.
func (d *app) deposit(open openFunc, options ...redisstore.Option) func(ctx context.Context) (console.Deposit, error) {
	return func(ctx context.Context) (console.Deposit, error) {
		c, err := d.config()
		if err != nil {
			return console.Deposit{}, err
		}
		return deposit(ctx, c, open, options...)
	}
}

// storeAbsent returns the path of the configured file, and whether it is missing or empty.
func (d *app) storeAbsent(ctx context.Context) (path string, absent bool, err error) {
	c, err := d.config()
	if err != nil {
		return "", false, err
	}
	path = c.StorePath()
	if c.Store.URL != "" {
		return path, false, asUsage(errors.New("store.url names a Redis server; only a file is made anew"))
	}
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Existing())
	if errors.Is(err, sqlitestore.ErrAbsent) {
		return path, true, nil
	}
	if err != nil {
		return path, false, err
	}
	return path, false, s.Close()
}

// elsewhere returns the configuration with another store in place of the configured one.
func elsewhere(c config.Config, p console.StorePlace) (config.Config, error) {
	c.Store = config.Store{PasswordEnv: p.PasswordEnv, TrustServer: p.Trust}
	if strings.Contains(p.To, "://") {
		c.Store.URL = p.To
	} else {
		path, err := filepath.Abs(p.To)
		if err != nil {
			return c, asUsage(err)
		}
		c.Store.Path = path
	}
	if err := c.Validate(); err != nil {
		return c, asUsage(fmt.Errorf("the store to move to: %w", err))
	}
	return c, nil
}

// deposit opens a store to be moved or filled.
func deposit(ctx context.Context, c config.Config, open openFunc,
	options ...redisstore.Option,
) (console.Deposit, error) {
	if c.Store.URL != "" {
		return depositOnRedis(ctx, c, options...)
	}
	path := c.StorePath()
	d := console.Deposit{
		Name: path, Use: []string{`store.url: ""`, "store.path: " + path},
		Remove: fmt.Sprintf("the files %s, %s-wal and %s-shm", path, path, path),
	}
	_, absent := os.Stat(path)
	s, err := open(ctx, c, path)
	if err != nil {
		return d, err
	}
	if errors.Is(absent, fs.ErrNotExist) {
		d.Drop = func() {
			if s.Close() == nil {
				for _, suffix := range []string{"", "-wal", "-shm"} {
					_ = os.Remove(path + suffix)
				}
			}
		}
	}
	err = hold(&d, s)
	return d, err
}

func depositOnRedis(ctx context.Context, c config.Config, options ...redisstore.Option) (console.Deposit, error) {
	u, err := url.Parse(c.Store.URL)
	if err != nil {
		return console.Deposit{}, errors.New("store.url cannot be read")
	}
	d := console.Deposit{
		Name: u.Redacted(), Use: []string{"store.url: " + u.Redacted()},
		Remove: "the keys that begin with oneiros: on " + u.Redacted(),
	}
	if c.Store.PasswordEnv != "" {
		d.Use = append(d.Use, "store.password_env: "+c.Store.PasswordEnv)
	}
	if c.Store.TrustServer {
		d.Use = append(d.Use, "store.trust_server: true")
	}
	s, err := openRedis(ctx, c, options...)
	if err != nil {
		return d, err
	}
	err = hold(&d, s)
	return d, err
}

// hold puts an open store into a deposit.
func hold(d *console.Deposit, s openedStore) error {
	store, ok := s.store.(interface {
		memory.Store
		memory.Movable
		presence.Store
	})
	if !ok {
		return errors.Join(fmt.Errorf("%s cannot be moved", s.name), s.Close())
	}
	d.Store = store
	return nil
}
