package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
)

// engine is what this process runs.
type engine struct {
	house    *house
	client   client.Client
	starter  *starter.Starter
	child    *temporalchild.Child
	record   *temporalchild.Record
	worker   worker.Worker
	places   []console.Place
	asOf     time.Time
	gone     chan error
	stopping chan struct{}
	tending  chan struct{} // closed when the tending is over
}

func newEngine(h *house) *engine {
	return &engine{house: h, gone: make(chan error, 2), stopping: make(chan struct{})}
}

// Nights through this engine.
func (e *engine) Nights() console.Nights { return nights{starter: e.starter, asOf: e.asOf} }

// Places that run.
func (e *engine) Places() []console.Place { return e.places }

// Gone tells what ended by itself.
func (e *engine) Gone() <-chan error { return e.gone }

// Stop ends the worker first, so that deeds reach a token boundary while the server still listens.
func (e *engine) Stop() error {
	close(e.stopping)
	if e.tending != nil {
		<-e.tending
	}
	if e.worker != nil {
		e.worker.Stop()
	}
	if e.client != nil {
		e.client.Close()
	}
	var faults []error
	if e.record != nil {
		faults = append(faults, e.record.Withdraw(e.house.told.DataDir))
	}
	if e.child != nil {
		faults = append(faults, e.child.Stop())
	}
	return errors.Join(faults...)
}

func (e *engine) place(name, where string) {
	e.places = append(e.places, console.Place{Name: name, Where: where})
}

// reach connects as a client only.
func (d *door) reach(ctx context.Context, h *console.House) (console.Engine, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	e := newEngine(own)
	return e, e.dial(ctx)
}

// work runs a worker against whatever is there.
func (d *door) work(ctx context.Context, h *console.House) (console.Engine, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	e := newEngine(own)
	if err := e.dial(ctx); err != nil {
		if errors.Is(err, console.ErrNobody) {
			err = &console.Exit{Code: console.Unreachable, Err: fmt.Errorf("%w; set temporal.address, or run oneiros up, which is server and worker in one", err)}
		}
		return nil, err
	}
	return e, e.hire(ctx)
}

// up runs everything, with a server of our own when no cluster is known.
func (d *door) up(ctx context.Context, h *console.House, tell func(string, ...any)) (console.Engine, error) {
	own, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	e := newEngine(own)
	err = e.dial(ctx)
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
	cluster, err := e.house.told.Cluster()
	if err != nil {
		return &console.Exit{Code: console.Usage, Err: err}
	}
	if cluster.Known {
		e.place("temporal", fmt.Sprintf("%s, namespace %s (from %s)", cluster.Options.HostPort, cluster.Options.Namespace, cluster.Source))
		return e.connect(ctx, cluster.Options)
	}
	record, alive, err := temporalchild.Look(e.house.told.DataDir)
	if err != nil || !alive {
		return errors.Join(console.ErrNobody, err)
	}
	e.place("temporal", fmt.Sprintf("%s, run by process %d", record.Address, record.Owner))
	return e.connect(ctx, client.Options{HostPort: record.Address, Namespace: record.Namespace})
}

// dialWithin bounds how long a cluster may take to answer at all.
const dialWithin = 10 * time.Second

func (e *engine) connect(ctx context.Context, o client.Options) error {
	o.Logger = logger(e.house.told.Log)
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return &console.Exit{Code: console.Unreachable, Err: fmt.Errorf("reach Temporal at %s, namespace %s: %w", o.HostPort, o.Namespace, err)}
	}
	e.client = c
	found, err := workers.Look(ctx, c, o.Namespace)
	if err != nil {
		return &console.Exit{Code: console.Unreachable, Err: fmt.Errorf("Temporal at %s: %w", o.HostPort, err)}
	}
	e.starter = e.house.starter()
	e.starter.Client, e.starter.Options.Searchable = c, found.Searchable
	return nil
}

// spawn starts a server as our child and connects to it.
func (e *engine) spawn(ctx context.Context, d *door, tell func(string, ...any)) error {
	c := e.house.told
	if c.Temporal.Child == "never" {
		return &console.Exit{Code: console.Usage, Err: errors.New("no Temporal cluster is configured, and temporal.child is never; set temporal.address")}
	}
	binary, err := temporalchild.Find(d.getenv("ONEIROS_TEMPORALD"), self(), lookPath)
	if err != nil {
		return err
	}
	if err := folder(c.DataDir); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(c.DataDir, "temporal.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the Temporal server: %w", err)
	}
	tell("Starting the Temporal server %s.", binary.Path)
	db := filepath.Join(c.DataDir, "temporal.db")
	e.child, err = temporalchild.Start(ctx, temporalchild.Options{
		Binary: binary, DB: db, Port: temporalchild.FreePort(7233), UIPort: temporalchild.FreePort(8233), Namespace: config.DefaultNamespace, Log: log,
	})
	if err != nil {
		e.child = nil
		return err
	}
	e.place("temporal", fmt.Sprintf("%s (pid %d, file %s)", e.child.Address, e.child.PID, db))
	if e.child.UI != "" {
		e.place("temporal ui", e.child.UI)
	}
	go func() {
		select {
		case <-e.child.Gone():
			e.gone <- e.child.Said()
		case <-e.stopping:
		}
	}()
	e.record = &temporalchild.Record{Address: e.child.Address, Namespace: config.DefaultNamespace, UI: e.child.UI, PID: e.child.PID, Owner: os.Getpid()}
	if err := e.record.Announce(c.DataDir); err != nil {
		return err
	}
	return e.connect(ctx, client.Options{HostPort: e.child.Address, Namespace: config.DefaultNamespace})
}

// hire starts a worker in this process and tends the agents' lives.
func (e *engine) hire(ctx context.Context) error {
	c := e.house.told
	e.worker = workers.New(e.client, e.house.ports(), starter.Lives{Client: e.client}, e.starter, workers.Options{
		TaskQueue: c.Temporal.TaskQueue, Deeds: c.Worker.Concurrent, StickyCache: c.Worker.Cache, StopTimeout: c.Worker.StopWithin,
	})
	if err := e.worker.Start(); err != nil {
		e.worker = nil
		return &console.Exit{Code: console.Unreachable, Err: fmt.Errorf("start the worker: %w", err)}
	}
	e.place("worker", fmt.Sprintf("task queue %s, %d deeds at once", c.Temporal.TaskQueue, c.Worker.Concurrent))
	e.place("store", c.StorePath())
	e.tending = make(chan struct{})
	go e.tend(context.WithoutCancel(ctx))
	return nil
}

// tendEvery is how often the books of dead dreams are closed and new agents are given their lives.
const tendEvery = time.Minute

// tend closes the books of dreams that died without doing so, and starts the lives of agents that dream by themselves.
func (e *engine) tend(ctx context.Context) {
	defer close(e.tending)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		<-e.stopping
		cancel()
	}()
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	log := logger(e.house.told.Log)
	alive := map[string]bool{}
	for {
		if _, err := workers.Reconcile(ctx, e.house.ports(), starter.Lives{Client: e.client}); err != nil && ctx.Err() == nil {
			log.Warn("the books of ended dreams could not be closed", "error", err)
		}
		agents, err := e.house.store.Agents(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("the agents could not be read", "error", err)
		}
		for _, a := range agents {
			if !a.Auto || alive[a.ID] {
				continue
			}
			if err := e.starter.Live(ctx, a); err != nil && ctx.Err() == nil {
				log.Warn("an agent's life could not be started", "agent", a.Handle, "error", err)
				continue
			}
			alive[a.ID] = true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// self is our own binary; temporald is built beside it.
func self() string {
	path, _ := os.Executable()
	return path
}
