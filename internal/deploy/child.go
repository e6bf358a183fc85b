package deploy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
)

// The ports at which Temporal's tools look by default. Where one is taken, a free port is used.
const (
	usualPort   = 7233
	usualUIPort = 8233
)

// TemporalFile is the database of the child server, in the data folder.
const TemporalFile = "temporal.db"

// spawn starts a Temporal server as a child process and connects to it.
func (e *engine) spawn(ctx context.Context, d *Process, tell func(string, ...any)) error {
	c := e.deployment.config
	if c.Temporal.Child == "never" {
		return exit.Usagef("no Temporal cluster is configured, and temporal.child is never; set temporal.address")
	}
	binary, err := temporalchild.Find(d.Getenv("ONEIROS_TEMPORALD"), self(), lookPath)
	if err != nil {
		return err
	}
	log, err := e.logFile("temporal.log")
	if err != nil {
		return err
	}
	if earlier, _, err := temporalchild.ReadRecord(c.DataDir); err == nil {
		if err := earlier.AwaitEnd(ctx); err != nil {
			return err
		}
	}
	tell("Starting the Temporal server %s.", binary.Path)
	db := filepath.Join(c.DataDir, TemporalFile)
	o := temporalchild.Options{
		Binary:    binary,
		DB:        db,
		UIPort:    -1,
		Namespace: config.DefaultNamespace,
		Log:       log,
	}
	if e.defaultPorts {
		o.Port, o.UIPort = temporalchild.FreePort(usualPort), temporalchild.FreePort(usualUIPort)
	}
	e.child, err = temporalchild.Start(ctx, o)
	if err != nil && o.Port+o.UIPort > 0 && ctx.Err() == nil {
		o.Port, o.UIPort = 0, 0 // another process took the port meanwhile
		e.child, err = temporalchild.Start(ctx, o)
	}
	if err != nil && ctx.Err() == nil && waitForExit(ctx, db+".lock") {
		e.child, err = temporalchild.Start(ctx, o)
	}
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
		case <-e.child.Done():
			e.ended <- e.child.Err()
		case <-e.stopping:
		}
	}()
	e.record = &temporalchild.Record{
		Address:   e.child.Address,
		Namespace: config.DefaultNamespace,
		UI:        e.child.UI,
		PID:       e.child.PID,
		Owner:     os.Getpid(),
	}
	if err := e.record.Announce(c.DataDir); err != nil {
		return err
	}
	return e.connect(ctx, client.Options{HostPort: e.child.Address, Namespace: config.DefaultNamespace})
}

// waitForExit waits for a server to exit whose owner was killed before it could record the server's address. The lock
// file holds the server's process id.
func waitForExit(ctx context.Context, lock string) bool {
	text, err := os.ReadFile(lock)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 0 && temporalchild.Record{PID: pid}.AwaitEnd(ctx) == nil
}

// self is the path of this program; temporald is built beside it.
func self() string {
	path, _ := os.Executable()
	return path
}
