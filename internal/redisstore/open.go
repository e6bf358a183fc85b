// Package redisstore keeps the memories, events, spend ledger, presence and API keys of a deployment on one Redis
// server.
package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

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
	_ spend.Ledger      = Ledger{}
	_ fabric.Log        = (*Store)(nil)
	_ presence.Store    = (*Store)(nil)
	_ presence.WakeBus  = (*Store)(nil)
	_ access.Store      = (*Store)(nil)
)

// Lost connections are logged to standard error by go-redis. Every one of them is also an error of a method here.
func init() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// ErrClosed is returned by every method of a closed store.
var ErrClosed = store.ErrClosed

// ErrCredentials is returned by Open when the server refuses the user, the password, or their permissions.
var ErrCredentials = errors.New("the server refuses the credentials")

// refusedCredentials wraps a server's refusal of a user or a password in ErrCredentials.
func refusedCredentials(err error) error {
	for _, text := range []string{"NOAUTH", "WRONGPASS", "NOPERM"} {
		var refusal redis.Error
		if errors.As(err, &refusal) && redis.HasErrorPrefix(refusal, text) {
			return fmt.Errorf("%w: %w", ErrCredentials, err)
		}
	}
	return err
}

// Store is one process's handle on the deployment's keys. It is safe for concurrent use, and processes of any host may
// use the same keys. The server is a single one, with or without replicas: one step uses keys of many names, which
// Redis Cluster refuses. Each embedded type implements one port, or a part of one, on the same connections.
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
	archives
	ledger

	closing sync.Once
}

// server is the connections to the server.
type server struct {
	name   string // host, port and database: never the password
	self   string // id of this process in its own notices
	set    settings
	client *redis.Client
	late   error // the cause of a context that ended by the store's own timeout
	closed chan struct{}
	latest atomic.Pointer[string] // id of the server's run at the newest connection
}

// Option adjusts Open.
type Option func(*settings)

type settings struct {
	prefix  string
	now     func() time.Time
	timeout time.Duration
	trust   bool
	pool    int
	refill  bool
}

// Prefix is the beginning of the name of every key and channel, so that deployments can share a server; "oneiros:" by
// default.
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

// Open connects to the server of a redis:// or rediss:// address (user, password, host, port, database). It refuses a
// server that would lose memories or money (ErrUnsafe), a cluster, and keys of a newer schema. A replica that holds the
// keys of this schema, and a server that refuses writes, are opened to be read.
func Open(ctx context.Context, address string, opts ...Option) (*Store, error) {
	set := settings{prefix: "oneiros:", now: time.Now, timeout: 3 * time.Second, pool: 16 * runtime.GOMAXPROCS(0)}
	for _, opt := range opts {
		opt(&set)
	}
	options, err := dialing(address, set)
	if err != nil {
		return nil, fmt.Errorf("open redis store: %w", err)
	}
	r := &server{
		name:   fmt.Sprintf("%s/%d", options.Addr, options.DB),
		self:   rand.Text(),
		set:    set,
		late:   fmt.Errorf("no answer within %v: %w", set.timeout, context.DeadlineExceeded),
		closed: make(chan struct{}),
	}
	options.OnConnect = r.noteRun
	r.client = redis.NewClient(options)
	s := r.store()
	if err := r.inspect(ctx); err != nil {
		err = fmt.Errorf("open redis store %s: %w", r.name, explainTLS(refusedCredentials(err), options))
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
		archives:  archives{s, bus},
		ledger:    ledger{s},
	}
}

func dialing(address string, set settings) (*redis.Options, error) {
	options, err := redis.ParseURL(address)
	if err != nil {
		var spelled *url.Error // its text repeats the whole address with the password
		if errors.As(err, &spelled) {
			err = spelled.Err
		}
		return nil,
			fmt.Errorf(
				"read the address, which has the form redis://user:password@host:6379/0 or rediss:// for TLS: %w", err)
	}
	if set.timeout <= 0 || set.pool <= 0 {
		return nil, fmt.Errorf("timeout is %v and connections are %d; both must be above zero", set.timeout, set.pool)
	}
	options.Protocol = 2
	options.MaxRetries = -1 // a script whose reply was lost may have run: only exchange knows which may run again
	options.DialerRetries = 1
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = set.timeout, set.timeout, set.timeout
	options.ContextTimeoutEnabled = true
	options.PoolSize, options.PoolTimeout = set.pool, set.timeout
	options.ClientName = "oneiros"
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return options, nil
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
