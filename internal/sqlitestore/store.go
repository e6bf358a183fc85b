// Package sqlitestore keeps the memories, events, spend ledger, presence and API keys of a deployment in one SQLite
// file.
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

// Store implements all ports on one file.
var (
	_ memory.Store = (*Store)(nil)
	_ spend.Ledger = Ledger{}
	_ fabric.Log   = (*Store)(nil)

	_ presence.Store   = (*Store)(nil)
	_ presence.WakeBus = (*Store)(nil)
	_ memory.Feeds     = (*Store)(nil)
)

// ErrAbsent is returned by Open with Existing for a file that is missing or empty.
var ErrAbsent = errors.New("the file is missing or empty")

// ErrClosed is returned by every method of a closed store.
var ErrClosed = errors.New("the store is closed")

// Store is one process's handle on the file, with one writing connection and several reading ones. It is safe for
// concurrent use, and several processes of one host may open the same file.
type Store struct {
	name         string
	set          settings
	writeDB      *sql.DB
	readDB       *sql.DB
	writer       priorityLock
	writes       writeQueue // urgent writes
	ledgerWrites writeQueue // writes of the spend ledger
	readers      chan *dbConn
	readerCount  int          // number of reading connections
	written      bool         // the writing connection exists
	private      bool         // in memory: no other process can open it
	gate         sync.RWMutex // for a store in memory: SQLite's memory file system blocks readers during a write
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

// Clock sets the clock that dates revisions; the system's by default.
func Clock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// Busy sets how long a write waits for another process's write before it fails; 10 s by default.
func Busy(d time.Duration) Option { return func(s *settings) { s.busy = d } }

// OnNetwork allows a file on a network file system. SQLite's write-ahead log needs shared memory and reliable locks,
// which network file systems lack. It is safe only when one host alone ever opens the file, at the caller's risk.
func OnNetwork() Option { return func(s *settings) { s.network = true } }

// Existing makes Open refuse a file that is missing, empty or without tables (ErrAbsent) instead of creating a store.
func Existing() Option { return func(s *settings) { s.existing = true } }

// VectorMemory bounds the bytes of the search indexes kept in memory; the agents searched least recently are evicted.
// 1 GiB by default. An agent's index is always held whole while it is searched.
func VectorMemory(bytes int64) Option { return func(s *settings) { s.indexMemory = bytes } }

// Open opens the deployment's file. It creates the file (mode 0600, its folder 0700) and its tables when they are
// missing. The path ":memory:" is a private store that ends with Close. A file of a newer schema, of another program or
// on a network file system is refused.
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
	s.writer.release(l)
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
		s.readerCount++
	}
	if !s.private {
		s.dispatcher.path = s.name
		s.feeds.watch, err = newConn(ctx, s.readDB)
		err = errors.Join(err, s.fold.begin(ctx, s))
	}
	return err
}

// Close waits for running reads and writes, then closes the file. A second Close does nothing.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		closeQueues(s.closed, &s.writes, &s.ledgerWrites)
		err = errors.Join(s.dispatcher.close(), s.fold.close())
		if s.written {
			l, fault := s.writer.take(context.Background(), nil, false)
			if fault == nil {
				fault = l.close()
			}
			err = errors.Join(err, fault)
		}
		for range s.readerCount {
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
