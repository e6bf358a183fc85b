package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/fabric"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// store is everything that a deployment keeps, whichever of the two keeps it (decision 9).
type store interface {
	memory.Store
	memory.Feeds
	memory.Talks
	memory.EmbedQueue
	fabric.Log
	presence.Store
	presence.WakeBus
	access.Store
	Close() error
}

// kept is an open store, with its ledger and the name that people know it by.
type kept struct {
	store
	ledger spend.Ledger
	name   string
}

// keep opens the store that is configured: a Redis server when store.url names one, else the SQLite file.
func keep(ctx context.Context, c config.Config, path string) (kept, error) {
	if c.Store.URL != "" {
		return keepOnRedis(ctx, c)
	}
	found := traces(c.DataDir)
	if len(found) == 0 {
		return keepFile(ctx, c, path)
	}
	k, err := keepFile(ctx, c, path, sqlitestore.Existing())
	if errors.Is(err, sqlitestore.ErrAbsent) {
		return k,
			fmt.Errorf(
				"%w, and the data folder %s is that of a deployment (%s is there): restore the file from a copy, correct store.path or "+
					"store.url, or begin without the old memories, ledger and keys: oneiros store new", err, c.DataDir,
				strings.Join(found, ", "))
	}
	return k, err
}

// keepFile opens the SQLite file at a path, and notes in the data folder that there is one.
func keepFile(ctx context.Context, c config.Config, path string, options ...sqlitestore.Option) (kept, error) {
	if err := folder(filepath.Dir(path)); err != nil {
		return kept{}, err
	}
	s, err := sqlitestore.Open(ctx, path, options...)
	if err != nil {
		return kept{}, err
	}
	err = note(c.DataDir, storeMadeFile, storeMadeText)
	if err != nil {
		slog.Warn("the data folder could not be marked: a store that is lost would not be noticed", "error", err)
	}
	return kept{store: s, ledger: s.Ledger(), name: path}, nil
}

// storeMadeFile stands in the data folder once a store was made, so that a file that is lost or empty is noticed.
const storeMadeFile = "store-made"

const storeMadeText = "A store was made for this data folder. When its file is missing or empty, oneiros says so instead of beginning anew.\n" +
	"Do not remove this file. To begin anew: oneiros store new.\n"

// traces are the files of a data folder that say that a deployment has been at work in it.
func traces(dataDir string) (found []string) {
	for _, name := range []string{storeMadeFile, keysRequiredFile, temporalFile} {
		if _, err := os.Stat(filepath.Join(dataDir, name)); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// note puts a file with a text into the data folder, unless it is there.
func note(dataDir, name, text string) error {
	if err := folder(dataDir); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dataDir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
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
	if errors.Is(err, redisstore.ErrCredentials) {
		return kept{},
			asUsage(
				fmt.Errorf(
					"%w; store.url names the user, store.password_env or store.password_file where its password lies",
					err))
	}
	if err != nil {
		return kept{}, inKnobs(err)
	}
	return kept{store: s, ledger: s.Ledger(), name: name}, nil
}

// knobbed is an error in words of the configuration.
type knobbed struct {
	error
	output string
}

func (k knobbed) Error() string { return k.output }
func (k knobbed) Unwrap() error { return k.error }

// inKnobs names the knob that trusts a server where the library names its option.
func inKnobs(err error) error {
	return knobbed{err, strings.ReplaceAll(err.Error(), "(TrustServer)", "(store.trust_server: true)")}
}
