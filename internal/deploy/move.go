package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// StoreToRead opens the configured store to be read.
func (d *Process) StoreToRead(ctx context.Context) (Deposit, error) {
	return d.openDeposit(ctx, openStore)
}

// StoreToFill opens the configured store to be filled.
func (d *Process) StoreToFill(ctx context.Context) (Deposit, error) {
	return d.openDeposit(ctx, openAnyFile, redisstore.Refill())
}

// OtherStore opens another store to be filled.
func (d *Process) OtherStore(ctx context.Context, p StorePlace) (Deposit, error) {
	c, err := d.config()
	if err == nil {
		c, err = withStore(c, p)
	}
	if err != nil {
		return Deposit{}, err
	}
	return openDeposit(ctx, c, openAnyFile, redisstore.Refill())
}

// NewStore creates the configured store where its file is missing or empty.
func (d *Process) NewStore(ctx context.Context) error {
	c, err := d.config()
	if err != nil {
		return err
	}
	s, err := openAnyFile(ctx, c, c.StorePath())
	if err != nil {
		return err
	}
	return s.Close()
}

// openFunc opens the store of a configuration.
type openFunc func(ctx context.Context, c config.Config, path string) (openedStore, error)

// openAnyFile opens the SQLite file even when an earlier one was lost, for commands that fill it or begin anew.
func openAnyFile(ctx context.Context, c config.Config, path string) (openedStore, error) {
	return openFile(ctx, c, path)
}

// openDeposit opens the configured store to be moved or filled.
func (d *Process) openDeposit(ctx context.Context, open openFunc, options ...redisstore.Option) (Deposit, error) {
	c, err := d.config()
	if err != nil {
		return Deposit{}, err
	}
	return openDeposit(ctx, c, open, options...)
}

// StoreAbsent returns the path of the configured file, and whether it is missing or empty.
func (d *Process) StoreAbsent(ctx context.Context) (path string, absent bool, err error) {
	c, err := d.config()
	if err != nil {
		return "", false, err
	}
	path = c.StorePath()
	if c.Store.URL != "" {
		return path, false, exit.AsUsage(errors.New("store.url names a Redis server; only a file is made anew"))
	}
	s, err := sqlitestore.Open(ctx, path, sqlitestore.MustExist())
	if errors.Is(err, sqlitestore.ErrAbsent) {
		return path, true, nil
	}
	if err != nil {
		return path, false, err
	}
	return path, false, s.Close()
}

// withStore returns the configuration with another store in place of the configured one.
func withStore(c config.Config, p StorePlace) (config.Config, error) {
	c.Store = config.Store{PasswordEnv: p.PasswordEnv, TrustServer: p.Trust}
	if strings.Contains(p.To, "://") {
		c.Store.URL = p.To
	} else {
		path, err := filepath.Abs(p.To)
		if err != nil {
			return c, exit.AsUsage(err)
		}
		c.Store.Path = path
	}
	if err := c.Validate(); err != nil {
		return c, exit.AsUsage(fmt.Errorf("the store to move to: %w", err))
	}
	return c, nil
}

// openDeposit opens a store to be moved or filled.
func openDeposit(ctx context.Context, c config.Config, open openFunc,
	options ...redisstore.Option,
) (Deposit, error) {
	if c.Store.URL != "" {
		return depositOnRedis(ctx, c, options...)
	}
	path := c.StorePath()
	d := Deposit{
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
	err = fillDeposit(&d, s)
	return d, err
}

func depositOnRedis(ctx context.Context, c config.Config, options ...redisstore.Option) (Deposit, error) {
	u, err := url.Parse(c.Store.URL)
	if err != nil {
		return Deposit{}, errors.New("store.url cannot be read")
	}
	d := Deposit{
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
	err = fillDeposit(&d, s)
	return d, err
}

// fillDeposit puts an open store into a deposit.
func fillDeposit(d *Deposit, s openedStore) error {
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
