// Package redisstore keeps the memories, events, spend ledger, presence and API keys of a deployment on one Redis
// server.
package redisstore

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Store implements all ports on one server (decision 9).
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
	_ memory.Responses  = (*Store)(nil)
)

// Lost connections are logged to standard error by go-redis. Every one of them is also an error of a method here.
func init() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// ErrClosed is returned by every method of a closed store.
var ErrClosed = store.ErrClosed

// ErrCredentials is returned by Open when the server refuses the user, the password, or their permissions.
var ErrCredentials = errors.New("the server refuses the credentials")

// refusedCredentials wraps a server's refusal of a user, a password or a command in ErrCredentials.
func refusedCredentials(err error) error {
	var forbidden *memory.UnwritableError
	if errors.As(err, &forbidden) && forbidden.Why == memory.Forbidden {
		return fmt.Errorf("%w: %w", ErrCredentials, forbidden.Err)
	}
	for _, text := range []string{"NOAUTH", "WRONGPASS"} {
		var refusal redis.Error
		if errors.As(err, &refusal) && redis.HasErrorPrefix(refusal, text) {
			return fmt.Errorf("%w: %w", ErrCredentials, err)
		}
	}
	return err
}

// Store is one process's handle on the deployment's keys. It is safe for concurrent use, and processes of any host may
// use the same keys. The server is a single one, with or without replicas and Sentinels: one step uses keys of many
// names, which Redis Cluster refuses (decision 51). Each embedded type implements one port, or a part of one, on the
// same connections.
type Store struct {
	*server
	*eventLog
	*wakeBus
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

// server is the connections to the server.
type server struct {
	name   string // host, port and database: never the password
	self   string // id of this process in its own notices
	set    settings
	db     int
	client *redis.Client
	late   error // the cause of a context that ended by the store's own timeout
	closed chan struct{}
	latest atomic.Pointer[string] // id of the server's run at the newest connection

	limited atomic.Bool // the user was found to lack a right

	acknowledged acknowledgements
}

// Option adjusts Open.
type Option func(*settings)

type settings struct {
	prefix   string
	now      func() time.Time
	timeout  time.Duration
	trust    bool
	pool     int
	refill   bool
	tls      *tls.Config
	sentinel credentials
}

type credentials struct{ user, password string }

// Prefix is the beginning of the name of every key and channel, so that deployments can share a server; "oneiros:" by
// default. No prefix may begin with another one of the same database.
func Prefix(p string) Option { return func(s *settings) { s.prefix = p } }

// Clock sets the clock that dates revisions; the system's by default.
func Clock(now func() time.Time) Option { return func(s *settings) { s.now = now } }

// Timeout bounds every operation, including retries to reach the server; 3 s by default.
func Timeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// TrustServer accepts a server that may lose acknowledged writes, or whose configuration cannot be read, at the
// caller's risk.
func TrustServer() Option { return func(s *settings) { s.trust = true } }

// Connections bounds the connections of this process, without the one of the wake bus; 16 for each processor by
// default.
func Connections(n int) Option { return func(s *settings) { s.pool = n } }

// TLS sets the authorities to trust, the client's certificate and the name to expect in the server's; a rediss://
// address alone trusts the authorities of the system, and expects the name in the address.
func TLS(c *tls.Config) Option { return func(s *settings) { s.tls = c } }

// SentinelCredentials are what the Sentinels want, which have users of their own.
func SentinelCredentials(user, password string) Option {
	return func(s *settings) { s.sentinel = credentials{user, password} }
}

// Open connects to the server of a redis:// or rediss:// address (user, password, host, port, database). With
// master_name in its query, the host is a Sentinel that knows where that server is, as is each addr of the query. Open
// refuses a server that would lose memories or money (ErrUnsafe), a cluster, and keys of a newer schema. A replica that
// holds the keys of this schema, a server that refuses writes, and one whose user lacks a right, are opened to be read.
func Open(ctx context.Context, address string, opts ...Option) (*Store, error) {
	set := settings{prefix: "oneiros:", now: time.Now, timeout: 3 * time.Second, pool: 16 * runtime.GOMAXPROCS(0)}
	for _, opt := range opts {
		opt(&set)
	}
	where, err := locate(address, set)
	if err != nil {
		return nil, fmt.Errorf("open redis store: %w", err)
	}
	r := &server{
		name:   where.name(),
		self:   rand.Text(),
		set:    set,
		db:     where.options.DB,
		late:   fmt.Errorf("no answer within %v: %w", set.timeout, context.DeadlineExceeded),
		closed: make(chan struct{}),
	}
	where.options.OnConnect = r.noteRun
	r.client = where.client()
	s := r.store()
	if err := r.inspect(ctx); err != nil {
		err = fmt.Errorf("open redis store %s: %w", r.name, explainTLS(refusedCredentials(err), where.options))
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *server) store() *Store {
	log, bus := &eventLog{server: s}, &wakeBus{server: s}
	vectors := vectors{server: s, indexed: &sync.Map{}}
	items := items{vectors, log}
	return &Store{
		server:    s,
		eventLog:  log,
		wakeBus:   bus,
		Searcher:  store.Searcher{Limit: store.IndexMemory, CatchUp: vectors.catchUp},
		agents:    agents{s},
		items:     items,
		vectors:   vectors,
		eraser:    eraser{items},
		slots:     slots{s},
		notes:     notes{s},
		feeds:     feeds{s},
		talks:     talks{s},
		embedJobs: embedJobs{s},
		visits:    visits{s, bus, new(visitQueue)},
		apiKeys:   apiKeys{s},
		responses: responses{s},
		archives:  archives{s, bus},
		aging:     aging{items},
		fleet:     fleet{s},
		ledger:    ledger{s},
	}
}

// Close closes the connections. A second Close does nothing.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		s.stop()
		err = s.client.Close()
	})
	return err
}
