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

	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Store implements all ports on one file.
var (
	_ memory.Store      = (*Store)(nil)
	_ memory.Feeds      = (*Store)(nil)
	_ memory.Talks      = (*Store)(nil)
	_ memory.EmbedQueue = (*Store)(nil)
	_ memory.Movable    = (*Store)(nil)
	_ memory.Verifier   = (*Store)(nil)
	_ memory.Aging      = (*Store)(nil)
	_ memory.Fleet      = (*Store)(nil)
	_ spend.Ledger      = Ledger{}
	_ spend.Balances    = Ledger{}
	_ fabric.Log        = (*Store)(nil)
	_ presence.Store    = (*Store)(nil)
	_ presence.WakeBus  = (*Store)(nil)
	_ access.Store      = (*Store)(nil)
)

// ErrAbsent is returned by Open with MustExist for a file that is missing or empty.
var ErrAbsent = errors.New("the file is missing or empty")

// ErrClosed is returned by every method of a closed store.
var ErrClosed = store.ErrClosed

// Store is one process's handle on the file. It is safe for concurrent use, and several processes of one host may open
// the same file. Each embedded type implements one port, or a part of one, on the same connections.
type Store struct {
	*file
	*eventLog
	*dispatcher
	store.Searcher
	agents
	items
	vectors
	eraser
	slots
	notes
	feeds
	talks
	embedJobs
	visits
	apiKeys
	responses
	archives
	aging
	fleet
	ledger

	closing sync.Once
}

// file is the connections to the file: one that writes and several that read.
type file struct {
	name         string
	set          settings
	writeDB      *sql.DB
	readDB       *sql.DB
	writer       priorityLock
	writes       writeQueue // urgent writes
	ledgerWrites writeQueue // writes of the spend ledger
	roomWrites   writeQueue // writes of rooms
	readers      chan *dbConn
	readerCount  int          // number of reading connections
	written      bool         // the writing connection exists
	private      bool         // in memory: no other process can open it
	asItIs       error        // why the file is only read; nil where it is written
	gate         sync.RWMutex // for a store in memory: SQLite's memory file system blocks readers during a write
	fold         folding
	closed       chan struct{}
}

// Option adjusts Open.
type Option func(*settings)

type settings struct {
	now      func() time.Time
	busy     time.Duration
	readers  int
	existing bool
}

// Clock sets the clock that dates revisions; the system's by default.
func Clock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// BusyTimeout sets how long a write waits for another process's write before it fails; 10 s by default.
func BusyTimeout(d time.Duration) Option { return func(s *settings) { s.busy = d } }

// MustExist makes Open refuse a file that is missing, empty or without tables (ErrAbsent) instead of creating a store.
func MustExist() Option { return func(s *settings) { s.existing = true } }

// Open opens the deployment's file. It creates the file (mode 0600, its folder 0700) and its tables when they are
// missing. The path ":memory:" is a private store that ends with Close. A file of a newer schema, of another program or
// on a network file system is refused.
func Open(ctx context.Context, path string, opts ...Option) (*Store, error) {
	set := settings{now: time.Now, busy: 10 * time.Second, readers: max(4, runtime.GOMAXPROCS(0))}
	for _, opt := range opts {
		opt(&set)
	}
	f := &file{name: path, set: set, private: path == ":memory:", closed: make(chan struct{})}
	log := &eventLog{file: f}
	s := &Store{
		file:       f,
		eventLog:   log,
		dispatcher: &dispatcher{},
		Searcher:   store.Searcher{Limit: store.IndexMemory, CatchUp: vectors{f}.catchUp},
		agents:     agents{f},
		items:      items{f, log},
		vectors:    vectors{f},
		eraser:     eraser{f},
		slots:      slots{f},
		notes:      notes{f},
		feeds:      feeds{f},
		talks:      talks{f},
		embedJobs:  embedJobs{f},
		visits:     visits{f},
		apiKeys:    apiKeys{f},
		responses:  responses{f},
		archives:   archives{f},
		aging:      aging{f},
		fleet:      fleet{f},
		ledger:     ledger{f},
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := s.file.open(ctx); err != nil || s.private {
		return err
	}
	if s.asItIs != nil {
		return nil
	}
	s.dispatcher.path = s.name
	watch, err := newConn(ctx, s.readDB)
	s.eventLog.watch = watch
	return errors.Join(err, s.fold.begin(ctx, s.file))
}

func (s *file) open(ctx context.Context) error {
	if s.set.existing {
		if _, err := os.Stat(s.name); errors.Is(err, fs.ErrNotExist) {
			return ErrAbsent
		}
	}
	if !s.private {
		if err := prepareFile(s.name); err != nil {
			return err
		}
	}
	err := s.connect(ctx)
	if err == nil {
		return nil
	}
	err = s.whyNotOpened(err)
	if _, ok := whyUnwritable(err); ok {
		err = s.openAsItIs(ctx, err)
	}
	return err
}

// disconnect closes what connect opened.
func (s *file) disconnect() error {
	var err error
	if s.written {
		s.written = false
		l, fault := s.writer.take(context.Background(), nil, false)
		if fault == nil {
			fault = l.close()
		}
		err = fault
	}
	for ; s.readerCount > 0; s.readerCount-- {
		err = errors.Join(err, (<-s.readers).close())
	}
	for _, db := range []*sql.DB{s.readDB, s.writeDB} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	s.readDB, s.writeDB = nil, nil
	return err
}

func (s *file) connect(ctx context.Context) error {
	write, read := addresses(s.name, s.set.busy)
	if s.asItIs != nil {
		write, read = lastingly(write), lastingly(read)
	}
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
	return nil
}

// Close waits for running reads and writes, then closes the file. A second Close does nothing.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		closeQueues(s.file.closed, &s.writes, &s.ledgerWrites, &s.roomWrites)
		err = errors.Join(s.dispatcher.close(), s.fold.close())
		err = errors.Join(err, s.eventLog.close(), s.disconnect())
	})
	return err
}

// stamp is the time of a revision written now.
func (s *file) stamp() int64 { return s.set.now().UnixNano() }
