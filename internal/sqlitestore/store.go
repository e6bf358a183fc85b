// Package sqlitestore keeps memory, events, the ledger and who is awake of a deployment in one SQLite file.
package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/fabric"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/spend"
	"github.com/seed-56a03226/oneiros/internal/store/index"
)

// One Store keeps all promises in one file.
var (
	_ memory.Store = (*Store)(nil)
	_ spend.Ledger = Ledger{}
	_ fabric.Log   = (*Store)(nil)

	_ presence.Store   = (*Store)(nil)
	_ presence.WakeBus = (*Store)(nil)
	_ memory.Feeds     = (*Store)(nil)
)

// ErrAbsent is returned by Open with Existing for a file that is missing or has nothing in it.
var ErrAbsent = errors.New("the file is missing or empty")

// ErrClosed is returned by every method of a closed store.
var ErrClosed = errors.New("the store is closed")

// Store is one process's hold on the file: one connection that writes, several that read. It is safe for concurrent
// use; other processes of the same host may hold the same file.
type Store struct {
	name         string
	set          settings
	writeDB      *sql.DB
	readDB       *sql.DB
	writer       lane
	writes       writeQueue // urgent
	ledgerWrites writeQueue // of the ledger
	readers      chan *dbConn
	lines        int          // reading connections
	written      bool         // the writing connection was made
	private      bool         // in memory: nobody else can hold it
	gate         sync.RWMutex // in memory only: the memory file system of SQLite lets no reader in beside a writer
	indexes      index.Cache
	feeds        feedBus
	dispatcher   dispatcher
	fold         folding
	closing      sync.Once
	closed       chan struct{}
}

// Option adjusts Open.
type Option func(*settings)

type settings struct {
	now         func() time.Time
	busy        time.Duration
	network     bool
	indexMemory int64
	readers     int
	existing    bool
}

// Clock sets the clock that dates revisions. The system's by default.
func Clock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// Busy sets how long a write waits for another process's write before it fails. 10 s by default.
func Busy(d time.Duration) Option { return func(s *settings) { s.busy = d } }

// OnNetwork allows a file on a network file system. SQLite's write-ahead log needs shared memory and honest locks,
// which network file systems lack: only for a file that one host alone will ever open, at the caller's risk.
func OnNetwork() Option { return func(s *settings) { s.network = true } }

// Existing refuses a file that is missing, has no bytes or no tables (ErrAbsent), where Open would make a new store.
func Existing() Option { return func(s *settings) { s.existing = true } }

// VectorMemory bounds the bytes of the indexes kept in memory for searches; the agents searched longest ago make room.
// 1 GiB by default. One agent's index is always held whole while it is searched.
func VectorMemory(bytes int64) Option { return func(s *settings) { s.indexMemory = bytes } }

// Open opens the deployment's file, making it (mode 0600, its folder 0700) and its tables when they are missing. The
// path ":memory:" is a private store that ends with Close. A file of a newer schema, of another program or on a network
// file system is refused.
func Open(ctx context.Context, path string, opts ...Option) (*Store, error) {
	set := settings{now: time.Now, busy: 10 * time.Second, indexMemory: 1 << 30, readers: max(4, runtime.GOMAXPROCS(0))}
	for _, opt := range opts {
		opt(&set)
	}
	s := &Store{name: path, set: set, private: path == ":memory:", closed: make(chan struct{})}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if s.set.existing {
		if _, err := os.Stat(s.name); errors.Is(err, fs.ErrNotExist) {
			return ErrAbsent
		}
	}
	if !s.private {
		if err := prepareFile(s.name, s.set.network); err != nil {
			return err
		}
	}
	write, read := addresses(s.name, s.set.busy)
	var err error
	s.writeDB, err = sql.Open("sqlite", write)
	if err != nil {
		return err
	}
	s.readDB, err = sql.Open("sqlite", read)
	if err != nil {
		return err
	}
	l, err := newConn(ctx, s.writeDB)
	if err != nil {
		return err
	}
	s.writer.give(l)
	s.written = true
	if err := s.migrate(ctx); err != nil {
		return err
	}
	s.readers = make(chan *dbConn, s.set.readers)
	for range s.set.readers {
		l, err := newConn(ctx, s.readDB)
		if err != nil {
			return err
		}
		s.readers <- l
		s.lines++
	}
	if !s.private {
		s.dispatcher.path = s.name
		s.feeds.watch, err = newConn(ctx, s.readDB)
		err = errors.Join(err, s.fold.begin(ctx, s))
	}
	return err
}

// Close waits for writes and reads under way, then lets go of the file. Closing twice is harmless.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		shut(s.closed, &s.writes, &s.ledgerWrites)
		err = errors.Join(s.dispatcher.close(), s.fold.close())
		if s.written {
			l, fault := s.writer.take(context.Background(), nil, false)
			if fault == nil {
				fault = l.close()
			}
			err = errors.Join(err, fault)
		}
		for range s.lines {
			err = errors.Join(err, (<-s.readers).close())
		}
		err = errors.Join(err, s.feeds.close())
		for _, db := range []*sql.DB{s.readDB, s.writeDB} {
			if db != nil {
				err = errors.Join(err, db.Close())
			}
		}
	})
	return err
}
