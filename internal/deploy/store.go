package deploy

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

	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// store is everything that a deployment stores, in either SQLite or Redis (decision 9).
type store interface {
	memory.Store
	memory.Feeds
	memory.Talks
	memory.EmbedQueue
	memory.Aging
	memory.Responses
	memory.Fleet
	fabric.Log
	presence.Store
	presence.WakeBus
	access.Store
	Rooms() room.Store
	Close() error
}

// foldingLedger is a spend ledger whose rows of the past are summed up, and that returns many balances and totals at once.
type foldingLedger interface {
	spend.Ledger
	spend.Folder
	spend.Balances
	spend.DayTotals
}

// openedStore is an open store with its ledger and the name shown to users.
type openedStore struct {
	store
	ledger foldingLedger
	name   string
}

// openStore opens the configured store: the Redis server of store.url, else the SQLite file.
func openStore(ctx context.Context, c config.Config, path string) (openedStore, error) {
	if c.Store.URL != "" {
		return openRedis(ctx, c)
	}
	found := traces(c.DataDir)
	if len(found) == 0 {
		return openFile(ctx, c, path)
	}
	k, err := openFile(ctx, c, path, sqlitestore.MustExist())
	if errors.Is(err, sqlitestore.ErrAbsent) {
		return k,
			fmt.Errorf(
				"%w, and the data folder %s is that of a deployment (%s is there): restore the file from a copy, correct store.path or "+
					"store.url, or begin without the old memories, ledger and keys: oneiros store new",
				err,
				c.DataDir,
				strings.Join(found, ", "),
			)
	}
	return k, err
}

// openFile opens the SQLite file at a path and marks the data folder as having one.
func openFile(ctx context.Context, c config.Config, path string, options ...sqlitestore.Option) (openedStore, error) {
	if err := folder(filepath.Dir(path)); err != nil {
		return openedStore{}, err
	}
	s, err := sqlitestore.Open(ctx, path, options...)
	if err != nil {
		return openedStore{}, unusable(err)
	}
	err = note(c.DataDir, storeMadeFile, storeMadeText)
	if err != nil {
		slog.Warn("the data folder could not be marked: a store that is lost would not be noticed", "error", err)
	}
	return openedStore{store: s, ledger: s.Ledger(), name: path}, nil
}

// unusable gives the error of a store that cannot be opened its exit code.
func unusable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &exit.Error{Code: exit.Unreachable, Err: err}
}

// storeMadeFile is written to the data folder once a store was made, so that a lost or empty file is noticed.
const storeMadeFile = "store-made"

const storeMadeText = "A store was made for this data folder. When its file is missing or empty, oneiros says so instead of beginning anew.\n" +
	"Do not remove this file. To begin anew: oneiros store new.\n"

// traces lists the files of a data folder that show that a deployment has used it.
func traces(dataDir string) (found []string) {
	for _, name := range []string{storeMadeFile, keysRequiredFile, TemporalFile} {
		if _, err := os.Stat(filepath.Join(dataDir, name)); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// note writes a text file into the data folder, unless it exists.
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

func openRedis(ctx context.Context, c config.Config, options ...redisstore.Option) (openedStore, error) {
	u, err := url.Parse(c.Store.URL)
	if err != nil {
		return openedStore{}, errors.New("store.url cannot be read")
	}
	name := redisName(c, u)
	password, err := c.StorePassword()
	if err != nil {
		return openedStore{}, exit.AsUsage(fmt.Errorf("password of the store %s: %w", name, err))
	}
	if password != "" {
		u.User = url.UserPassword(u.User.Username(), password)
	}
	own, err := redisOptions(c)
	if err != nil {
		return openedStore{}, exit.AsUsage(fmt.Errorf("the store %s: %w", name, err))
	}
	s, err := redisstore.Open(ctx, u.String(), append(options, own...)...)
	if errors.Is(err, redisstore.ErrCredentials) {
		return openedStore{},
			exit.AsUsage(
				fmt.Errorf(
					"%w; store.url names the user, store.password_env or store.password_file where its password is, "+
						"store.sentinel those of Sentinels; docs/redis.md lists the rights that the user needs",
					err))
	}
	if err != nil {
		return openedStore{}, unusable(inKnobs(err))
	}
	return openedStore{store: s, ledger: s.Ledger(), name: name}, nil
}

// redisName is the server's address without its password, and the prefix of the keys where that is an own one.
func redisName(c config.Config, u *url.URL) string {
	if c.Store.KeyPrefix() == config.DefaultPrefix+":" {
		return u.Redacted()
	}
	return u.Redacted() + " (prefix " + c.Store.Prefix + ")"
}

// redisOptions are the settings of a store on Redis beside its address.
func redisOptions(c config.Config) ([]redisstore.Option, error) {
	options := []redisstore.Option{redisstore.Prefix(c.Store.KeyPrefix())}
	if c.Store.TrustServer {
		options = append(options, redisstore.TrustServer())
	}
	certificates, err := c.StoreTLS()
	if err != nil {
		return nil, err
	}
	if certificates != nil {
		options = append(options, redisstore.TLS(certificates))
	}
	password, err := c.SentinelPassword()
	if err != nil {
		return nil, err
	}
	return append(options, redisstore.SentinelCredentials(c.Store.Sentinel.User, password)), nil
}

// knobError is an error whose text names the configuration's knobs.
type knobError struct {
	error
	output string
}

func (k knobError) Error() string { return k.output }
func (k knobError) Unwrap() error { return k.error }

// knobNames are the knobs that stand for options of the library.
var knobNames = strings.NewReplacer(
	"(TrustServer)", "(store.trust_server: true)",
	"(RootCAs)", "(store.tls.ca_file)",
	"(Certificates)", "(store.tls.cert_file and store.tls.key_file)",
	"(ServerName)", "(store.tls.server_name)",
)

// inKnobs names knobs where the library names its options.
func inKnobs(err error) error { return knobError{err, knobNames.Replace(err.Error())} }
