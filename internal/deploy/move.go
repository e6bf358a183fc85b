package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
	return d.deposit(ctx, false)
}

// StoreToFill opens the configured store to be filled.
func (d *Process) StoreToFill(ctx context.Context) (Deposit, error) {
	return d.deposit(ctx, true)
}

// OtherStore opens another store to be filled.
func (d *Process) OtherStore(ctx context.Context, p StorePlace) (Deposit, error) {
	c, err := d.config()
	if err != nil {
		return Deposit{}, err
	}
	return otherStore(ctx, c, p)
}

// otherStore opens a store to move to. Its errors name the flags that say where it is.
func otherStore(ctx context.Context, c config.Config, p StorePlace) (Deposit, error) {
	c, err := withStore(c, p)
	var to Deposit
	if err == nil {
		to, err = openDeposit(ctx, c, true)
	}
	if err != nil {
		err = knobError{err, moveFlags.Replace(err.Error())}
	}
	return to, err
}

// moveFlags are the flags of oneiros store move that stand for knobs.
var moveFlags = strings.NewReplacer(
	"store.url", "--to",
	"store.prefix", "--prefix",
	"store.trust_server: true", "--trust-server",
	"store.password_env", "--password-env",
	"store.password_file", "--password-file",
	"by password_env and by password_file", "by --password-env and by --password-file",
	"store.tls.ca_file", "--ca-file",
	"store.tls.cert_file", "--cert-file",
	"store.tls.key_file", "--key-file",
	"store.tls.server_name", "--server-name",
	"store.tls has only one of cert_file and key_file", "only one of --cert-file and --key-file is set",
	"store.tls is set", "--ca-file, --cert-file, --key-file or --server-name is set",
	"store.sentinel.user", "--sentinel-user",
	"store.sentinel.password_env", "--sentinel-password-env",
	"store.sentinel is set", "--sentinel-user or --sentinel-password-env is set",
	"store.sentinel those of Sentinels", "--sentinel-user and --sentinel-password-env those of Sentinels",
)

// NewStore creates the configured store where its file is missing or empty.
func (d *Process) NewStore(ctx context.Context) error {
	c, err := d.config()
	if err != nil {
		return err
	}
	s, err := openFile(ctx, c, c.StorePath())
	if err != nil {
		return err
	}
	return s.Close()
}

// deposit opens the configured store to be moved, or to be filled.
func (d *Process) deposit(ctx context.Context, fill bool) (Deposit, error) {
	c, err := d.config()
	if err != nil {
		return Deposit{}, err
	}
	return openDeposit(ctx, c, fill)
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
	c.Store = p.Store
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

// openDeposit opens a store to be moved, or to be filled: then a file may be missing although there was one.
func openDeposit(ctx context.Context, c config.Config, fill bool) (Deposit, error) {
	if c.Store.URL != "" {
		return depositOnRedis(ctx, c, fill)
	}
	open := openStore
	if fill {
		open = func(ctx context.Context, c config.Config, path string) (openedStore, error) {
			return openFile(ctx, c, path)
		}
	}
	path := c.StorePath()
	d := Deposit{
		Name: path, Use: []string{`store.url: ""`, "store.path: " + path},
		Remove: fmt.Sprintf("the files %s, %s-wal and %s-shm", path, path, path),
	}
	made := absentOf(path, filepath.Join(c.DataDir, storeMadeFile), filepath.Dir(path))
	s, err := open(ctx, c, path)
	if err != nil {
		return d, err
	}
	if slices.Contains(made, path) {
		d.Drop = func() {
			if s.Close() == nil {
				for _, one := range append([]string{path + "-wal", path + "-shm"}, made...) {
					_ = os.Remove(one) // a folder that holds something stays
				}
			}
		}
	}
	err = fillDeposit(&d, s)
	return d, err
}

// absentOf are those of these files and folders that do not exist.
func absentOf(paths ...string) (absent []string) {
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, path)
		}
	}
	return absent
}

func depositOnRedis(ctx context.Context, c config.Config, fill bool) (Deposit, error) {
	u, err := url.Parse(c.Store.URL)
	if err != nil {
		return Deposit{}, errors.New("store.url cannot be read")
	}
	d := Deposit{
		Name: redisName(c, u), Use: []string{"store.url: " + u.Redacted()},
		Remove: "the keys that begin with " + c.Store.KeyPrefix() + " on " + u.Redacted(),
	}
	set := c.Store
	for _, knob := range []struct{ name, value string }{
		{"prefix", set.Prefix},
		{"password_env", set.PasswordEnv},
		{"password_file", set.PasswordFile},
		{"tls.ca_file", set.TLS.CAFile},
		{"tls.cert_file", set.TLS.CertFile},
		{"tls.key_file", set.TLS.KeyFile},
		{"tls.server_name", set.TLS.ServerName},
		{"sentinel.user", set.Sentinel.User},
		{"sentinel.password_env", set.Sentinel.PasswordEnv},
		{"sentinel.password_file", set.Sentinel.PasswordFile},
	} {
		if knob.value != "" && knob.value != config.DefaultPrefix {
			d.Use = append(d.Use, "store."+knob.name+": "+knob.value)
		}
	}
	if set.TrustServer {
		d.Use = append(d.Use, "store.trust_server: true")
	}
	var options []redisstore.Option
	if fill {
		options = append(options, redisstore.Refill())
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
