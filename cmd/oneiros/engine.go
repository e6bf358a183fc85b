package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
)

// engine is what this process runs.
type engine struct {
	deployment *deployment
	client     client.Client
	namespace  string
	converters client.Options // how the client reads and writes payloads
	starter    *starter.Starter
	child      *temporalchild.Child
	record     *temporalchild.Record
	beside     int  // the process whose server this one uses; 0 when there is none
	known      bool // the child listens where Temporal's tools look first, with its user interface
	listens    bool // it takes in readings that are pushed
	worker     *workers.Worker
	meter      *telemetry.Meter // nil where nothing is measured
	api        *apiServer       // nil where clients are not answered
	places     []console.Place
	asOf       time.Time
	log        tlog.Logger
	plainLog   *slog.Logger // the same for parts that are not Temporal's
	files      []io.Closer
	gone       chan error
	stopping   chan struct{}
	tending    chan struct{} // closed when the tending is over

	unserved     string // why no client is answered here; empty when they are, or nobody wanted it
	unsearchable string // why dreams cannot be searched on this cluster; empty when they can
}

func newEngine(h *deployment) *engine {
	e := &engine{deployment: h, gone: make(chan error, 2), stopping: make(chan struct{})}
	e.writeLog(os.Stderr)
	return e
}

func (e *engine) writeLog(to io.Writer) {
	e.plainLog = plainLogger(e.deployment.config.Log, to)
	e.log = tlog.NewStructuredLogger(e.plainLog)
}

// Nights through this engine.
func (e *engine) Nights() console.Dreams { return nights{starter: e.starter, asOf: e.asOf} }

// Places that run.
func (e *engine) Places() []console.Place { return e.places }

// Gone tells what ended by itself.
func (e *engine) Gone() <-chan error { return e.gone }

// Stop lets clients go first, and then the worker, so that deeds reach a token boundary while the server still listens.
func (e *engine) Stop() error {
	var faults []error
	if e.api != nil {
		faults = append(faults, e.api.stop())
	}
	close(e.stopping)
	if e.tending != nil {
		<-e.tending
	}
	if e.worker != nil {
		e.worker.Stop()
	}
	if e.starter != nil {
		e.starter.Close() // what is not told yet stays noted in the store
	}
	if e.client != nil {
		e.client.Close()
	}
	if e.record != nil {
		faults = append(faults, e.record.Withdraw(e.deployment.config.DataDir))
	}
	if e.child != nil {
		faults = append(faults, e.child.Stop())
	}
	for _, f := range e.files {
		faults = append(faults, f.Close())
	}
	return errors.Join(faults...)
}

// logFile opens a log in the data folder, beginning anew when it has grown large.
func (e *engine) logFile(name string) (*os.File, error) {
	const large = 16 << 20
	dir := e.deployment.config.DataDir
	if err := folder(dir); err != nil {
		return nil, err
	}
	path, mode := filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > large {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, mode, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	e.files = append(e.files, f)
	return f, nil
}

func (e *engine) place(name, where string) {
	e.places = append(e.places, console.Place{Name: name, Where: where})
}

// reach connects as a client only.
func (d *app) reach(ctx context.Context, h *console.Deployment) (console.Engine, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	e := newEngine(own)
	return e, e.dial(ctx)
}

// work runs a worker against whatever is there.
func (d *app) work(ctx context.Context, h *console.Deployment) (console.Engine, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	if err := d.lend(own.config); err != nil {
		return nil, err
	}
	if own.wants != nil { // a worker must be able to call every model
		return nil, &console.Exit{Code: console.Usage, Err: own.wants}
	}
	e := newEngine(own)
	e.listens = true
	if err := e.dial(ctx); err != nil {
		if errors.Is(err, console.ErrNobody) {
			err = &console.Exit{
				Code: console.Unreachable,
				Err:  fmt.Errorf("%w, with a worker; a worker alone needs temporal.address", err),
			}
		}
		return nil, err
	}
	return e, e.hire(ctx)
}

// up runs everything, with a server of our own when no cluster is known.
func (d *app) up(ctx context.Context, h *console.Deployment, tell func(string, ...any)) (console.Engine, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	if err := d.lend(own.config); err != nil {
		return nil, err
	}
	if own.wants != nil { // a worker must be able to call every model
		return nil, &console.Exit{Code: console.Usage, Err: own.wants}
	}
	e := newEngine(own)
	e.known, e.listens = true, true
	if loose := exposed(own.config); loose != "" {
		tell("Warning: %s.", loose)
	}
	if err := e.locked(ctx, tell); err != nil {
		return nil, err
	}
	up, err := d.raise(ctx, e, tell)
	if err == nil {
		err = e.welcome(ctx, tell)
		// beside another up of this data folder, that one answers clients
		if err == nil && e.unserved != "" && e.beside == 0 {
			err = &console.Exit{
				Code: console.Unreachable,
				Err: fmt.Errorf("%s: stop what listens there, or set serve.listen to another "+
					"address, as in --set serve.listen=127.0.0.1:7681; empty, and no client is answered", e.unserved),
			}
		}
		if err != nil {
			return nil, errors.Join(err, e.Stop())
		}
	}
	if err == nil && e.beside > 0 {
		tell(
			"Process %d runs the Temporal server of this data_dir already: this one is only another worker beside it.",
			e.beside)
	}
	return up, err
}

// here is up for a single dream. The screen is the dream's, so what the SDK says goes to a file.
func (d *app) here(ctx context.Context, h *console.Deployment, tell func(string, ...any)) (console.Engine, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	if err := d.lend(own.config); err != nil {
		return nil, err
	}
	if own.wants != nil { // a worker must be able to call every model
		return nil, &console.Exit{Code: console.Usage, Err: own.wants}
	}
	e := newEngine(own)
	log, err := e.logFile("oneiros.log")
	if err != nil {
		return nil, err
	}
	e.writeLog(log)
	return d.raise(ctx, e, tell)
}

// raise finds a server or starts one, and a worker.
func (d *app) raise(ctx context.Context, e *engine, tell func(string, ...any)) (console.Engine, error) {
	err := e.dial(ctx)
	if errors.Is(err, console.ErrNobody) {
		err = e.spawn(ctx, d, tell)
	}
	if err == nil {
		err = e.hire(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// dial connects to the configured cluster, else to the server another process of this data folder runs.
func (e *engine) dial(ctx context.Context) error {
	o, err := e.options()
	if err != nil {
		return err
	}
	return e.connect(ctx, o)
}

// options say how to reach that cluster or server. console.ErrNobody when there is none.
func (e *engine) options() (client.Options, error) {
	cluster, err := e.deployment.config.Cluster()
	if err != nil {
		return client.Options{}, &console.Exit{Code: console.Usage, Err: err}
	}
	if cluster.Known {
		e.place("temporal",
			fmt.Sprintf("%s, namespace %s (from %s)", cluster.Options.HostPort, cluster.Options.Namespace,
				cluster.Source))
		return cluster.Options, nil
	}
	record, alive, err := temporalchild.Look(e.deployment.config.DataDir)
	if err != nil || !alive {
		if err == nil {
			err = console.ErrNobody
		}
		return client.Options{}, err
	}
	e.beside = record.Owner
	e.place("temporal", fmt.Sprintf("%s, run by process %d", record.Address, record.Owner))
	return client.Options{HostPort: record.Address, Namespace: record.Namespace}, nil
}

// dialWithin bounds how long a cluster may take to answer at all.
const dialWithin = 10 * time.Second

func (e *engine) connect(ctx context.Context, o client.Options) error {
	if err := e.prepare(&o); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		err = fmt.Errorf("reach Temporal at %s, namespace %s: %w%s", o.HostPort, o.Namespace, err, refused(ctx, o))
		return &console.Exit{Code: console.Unreachable, Err: err}
	}
	e.client, e.namespace, e.converters = c, o.Namespace, o
	found, err := workers.Look(ctx, c, o.Namespace)
	if err != nil {
		return &console.Exit{Code: console.Unreachable, Err: fmt.Errorf("ask Temporal at %s: %w", o.HostPort, err)}
	}
	e.starter = e.deployment.starter()
	e.starter.Client, e.starter.Options.Searchable, e.starter.Options.Cluster = c, found.Searchable, found.ID
	e.unsearchable = found.Unsearchable()
	return nil
}

// prepare is what every client of ours has in common.
func (e *engine) prepare(o *client.Options) error {
	o.Logger = e.log
	if err := traceTemporal(o, e.deployment.tracing); err != nil {
		return err
	}
	if host, _, err := net.SplitHostPort(o.HostPort); err == nil && net.ParseIP(host).IsLoopback() {
		o.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{} // it costs CPU and saves no wire
	}
	return seal(o, e.deployment.config)
}

// hold makes a client that connects when it is first used.
func (e *engine) hold(o client.Options) error {
	if err := e.prepare(&o); err != nil {
		return err
	}
	c, err := client.NewLazyClient(o)
	if err != nil {
		return &console.Exit{Code: console.Usage, Err: fmt.Errorf("a client of Temporal at %s: %w", o.HostPort, err)}
	}
	e.client, e.namespace, e.starter = c, o.Namespace, e.deployment.starter()
	e.starter.Client = c
	return nil
}
