package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/matrix"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
)

// engine is what this process runs: a Temporal client, and possibly a server, a worker and listeners.
type engine struct {
	deployment   *Deployment
	client       client.Client
	namespace    string
	converters   client.Options // how the client reads and writes payloads
	starter      *starter.Starter
	child        *temporalchild.Child
	record       *temporalchild.Record
	beside       int  // process id of the `oneiros up` whose server this one uses; 0 for none
	defaultPorts bool // the child listens at the default ports, with its user interface
	listens      bool // it takes pushed readings of feeds
	counts       bool // it serves metrics.listen, and counts what Temporal's SDK does
	worker       *workers.Worker
	attendant    *psyche.Service // answers for agents in rooms when Temporal asks this process to
	attending    *rooms.Service
	meter        *telemetry.Meter              // nil when metrics are off
	sdk          telemetry.Instruments         // of Temporal's SDK; empty where nothing shows them
	api          *apiServer                    // nil when clients are not served
	bridge       *bridging                     // nil when Matrix is not bridged
	bridges      atomic.Pointer[matrix.Bridge] // the same, for what is asked while it starts
	places       []Place
	log          tlog.Logger
	plainLog     *slog.Logger // the same log, for parts without Temporal
	files        []io.Closer
	ended        chan error
	stopping     chan struct{}
	maintained   chan struct{} // closed when maintain or maintainServer has returned

	unserved     string // why no client is served here; empty when they are, or should not be
	marks        bool   // this process marks the store (watchStore)
	currentBuild bool   // this build is the current version of its Worker Deployment
	unsearchable string // why dreams cannot be searched on this cluster; empty when they can
}

func newEngine(h *Deployment) *engine {
	e := &engine{deployment: h, ended: make(chan error, 2), stopping: make(chan struct{})}
	e.writeLog(os.Stderr)
	return e
}

// newEngine makes the engine of a process that must be able to call every configured model. Where this program cannot
// run one, it hands over.
func (d *Process) newEngine(h *Deployment) (*engine, error) {
	if err := d.handOverIfNeeded(h.config); err != nil {
		return nil, err
	}
	return newEngine(h), exit.AsUsage(h.wants)
}

func (e *engine) writeLog(to io.Writer) {
	e.plainLog = plainLogger(e.deployment.config.Log, to)
	e.log = tlog.NewStructuredLogger(e.plainLog)
}

// Workflows returns the client of the workflows.
func (e *engine) Workflows() Workflows { return Reached{e.starter, e.starter.ForFeeds()} }

// Places lists what runs and where it listens.
func (e *engine) Places() []Place { return e.places }

// Ended sends the error of the part that ended by itself.
func (e *engine) Ended() <-chan error { return e.ended }

// Stop ends the API server first and then the worker, so that activities reach a token boundary while the Temporal
// server still listens.
func (e *engine) Stop() error {
	faults := []error{e.bridge.end(e.deployment.config.Serve.Grace)}
	if e.api != nil {
		faults = append(faults, e.api.stop())
	}
	close(e.stopping)
	if e.maintained != nil {
		<-e.maintained
	}
	if e.worker != nil {
		e.worker.Stop()
	}
	faults = append(faults, stopAttending(e))
	if e.marks {
		e.deployment.keepPurchases()
	}
	if e.starter != nil {
		e.starter.Close() // notices that were not delivered stay noted in the store
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

// logFile opens a log file in the data folder, and starts it anew when it has grown large.
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
	e.places = append(e.places, Place{Name: name, Where: where})
}

// Reach connects as a client only.
func (d *Process) Reach(ctx context.Context, h *Deployment) (Engine, error) {
	e := newEngine(h)
	return e, e.dial(ctx)
}

// Work runs a worker against the configured cluster, or against the server of a running `oneiros up`.
func (d *Process) Work(ctx context.Context, h *Deployment) (Engine, error) {
	e, err := d.newEngine(h)
	if err != nil {
		return nil, err
	}
	e.listens, e.counts = true, true
	if err := requireWrites(ctx, e); err != nil {
		return nil, err
	}
	if err := e.dial(ctx); err != nil {
		if errors.Is(err, ErrNoServer) {
			err = exit.Errorf(exit.Unreachable, "%w, with a worker; a worker alone needs temporal.address", err)
		}
		return nil, err
	}
	return e, e.startWorker(ctx)
}

// Up runs a worker, the API server and the listeners, with a Temporal server of its own when no cluster is
// configured.
func (d *Process) Up(ctx context.Context, h *Deployment, tell func(string, ...any)) (Engine, error) {
	e, err := d.newEngine(h)
	if err != nil {
		return nil, err
	}
	e.defaultPorts, e.listens, e.counts = true, true, true
	if loose := exposed(h.config); loose != "" {
		tell("Warning: %s.", loose)
	}
	if err := e.requireKeys(ctx, tell); err != nil {
		return nil, err
	}
	up, err := connectAndWork(ctx, d, e, tell)
	if err == nil {
		err = e.startServer(ctx, tell)
		// When another `oneiros up` of this data folder runs, that one answers clients.
		if err == nil && e.unserved != "" && e.beside == 0 {
			err = exit.Errorf(exit.Unreachable, "%s: stop what listens there, or set serve.listen to another "+
				"address, as in --set serve.listen=127.0.0.1:7681; empty, and no client is answered", e.unserved)
		}
		if err == nil && e.beside == 0 {
			err = e.startBridge(ctx, e.attending)
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

// ForOneDream runs a worker for a single dream. The SDK logs to a file, because the terminal shows the dream.
func (d *Process) ForOneDream(ctx context.Context, h *Deployment, tell func(string, ...any)) (Engine, error) {
	e, err := d.newEngine(h)
	if err != nil {
		return nil, err
	}
	log, err := e.logFile("oneiros.log")
	if err != nil {
		return nil, err
	}
	e.writeLog(log)
	return connectAndWork(ctx, d, e, tell)
}

// connectAndWork connects to a server, or starts one, and starts a worker.
func connectAndWork(ctx context.Context, d *Process, e *engine, tell func(string, ...any)) (Engine, error) {
	err := requireWrites(ctx, e)
	if err == nil {
		err = e.dial(ctx)
	}
	if errors.Is(err, ErrNoServer) {
		err = e.spawn(ctx, d, tell)
	}
	if err == nil {
		err = e.startWorker(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// dial connects to the configured cluster, else to the server of another process on this data folder.
func (e *engine) dial(ctx context.Context) error {
	o, err := e.options()
	if err != nil {
		return err
	}
	return e.connect(ctx, o)
}

// options are the client options for that cluster or server. The error is ErrNoServer when there is neither.
func (e *engine) options() (client.Options, error) {
	cluster, err := e.deployment.config.Cluster()
	if err != nil {
		return client.Options{}, exit.AsUsage(err)
	}
	if cluster.Configured {
		e.place("temporal",
			fmt.Sprintf("%s, namespace %s (from %s)", cluster.Options.HostPort, cluster.Options.Namespace,
				cluster.Source))
		return cluster.Options, nil
	}
	record, alive, err := temporalchild.ReadRecord(e.deployment.config.DataDir)
	if err != nil || !alive {
		if err == nil {
			err = ErrNoServer
		}
		return client.Options{}, err
	}
	e.beside = record.Owner
	e.place("temporal", fmt.Sprintf("%s, run by process %d", record.Address, record.Owner))
	return client.Options{HostPort: record.Address, Namespace: record.Namespace}, nil
}

// dialWithin bounds how long a cluster may take for its first answer.
const dialWithin = 10 * time.Second

func (e *engine) connect(ctx context.Context, o client.Options) error {
	if err := e.prepare(&o); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		err = fmt.Errorf("reach Temporal at %s, namespace %s: %w%s%s", o.HostPort, o.Namespace, err,
			unresolved(ctx, o.HostPort), refused(ctx, o))
		return &exit.Error{Code: exit.Unreachable, Err: err}
	}
	e.client, e.namespace, e.converters = c, o.Namespace, o
	found, err := workers.Look(ctx, c, o.Namespace)
	if err != nil {
		return exit.Errorf(exit.Unreachable, "query Temporal at %s: %w", o.HostPort, err)
	}
	e.starter = e.deployment.starter()
	e.starter.Client, e.starter.Options.Searchable, e.starter.Options.Cluster = c, found.Searchable, found.ID
	e.starter.Options.Interruptions = found.Interruptions
	e.unsearchable = found.Unsearchable()
	return nil
}

// prepare sets the options that all our Temporal clients share.
func (e *engine) prepare(o *client.Options) error {
	o.Logger = e.log
	if err := traceTemporal(o, e.deployment.tracing); err != nil {
		return err
	}
	if e.counts {
		var err error
		e.sdk, err = countTemporal(o, e.plainLog)
		if err != nil {
			return err
		}
	}
	if host, _, err := net.SplitHostPort(o.HostPort); err == nil && net.ParseIP(host).IsLoopback() {
		// Compression costs CPU and saves nothing on a local connection.
		o.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	return seal(o, e.deployment.config)
}

// createClient makes a client that connects at its first use.
func (e *engine) createClient(o client.Options) error {
	if err := e.prepare(&o); err != nil {
		return err
	}
	c, err := client.NewLazyClient(o)
	if err != nil {
		return exit.Usagef("a client of Temporal at %s: %w", o.HostPort, err)
	}
	e.client, e.namespace, e.starter = c, o.Namespace, e.deployment.starter()
	e.starter.Client = c
	return nil
}
