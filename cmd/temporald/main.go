// Command temporald is a real Temporal server and its UI in one process, kept in one SQLite file or in memory.
//
// It is the server that `oneiros up` and the tests start when no cluster is configured. It serves one machine; a
// fleet belongs on a Temporal cluster of its own. When it is ready it prints one line of JSON on stdout and nothing
// else there; all other output goes to stderr.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/headers"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

func init() {
	// what go install built has no stamp; the Go command knows which version it fetched
	info, ok := debug.ReadBuildInfo()
	if ok && version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
}

// stopWithin is how long a clean stop may take before the process exits anyway. The file is safe either way: every
// commit is in the write-ahead log and on disk before it is acknowledged.
const stopWithin = 15 * time.Second

// options are the parsed flags.
type options struct {
	db          string
	memory      bool
	listen      string
	port        int
	uiPort      int
	namespaces  list
	retention   time.Duration
	logLevel    string
	allowRemote bool
	timeSkip    bool
	noSearch    bool // no search attributes, as on an ordinary cluster
	noCommands  bool
	noVersions  bool // no Worker Deployments, as on an older cluster
	suggest     int  // suggest continue-as-new after so many events; 0: Temporal's default
	parent      int
}

// ready is the one line of JSON on stdout.
type ready struct {
	Ready   bool   `json:"ready"`
	Address string `json:"address"`
	UI      string `json:"ui,omitempty"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Server  string `json:"server"`
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "temporald:", err)
		os.Exit(2)
	}
	if err := run(o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "temporald:", err)
		os.Exit(1)
	}
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	var showVersion bool
	f := flag.NewFlagSet("temporald", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.db, "db", "", "SQLite `file` that keeps the workflows; empty keeps them in memory")
	f.BoolVar(&o.memory, "memory", false, "keep everything in memory, said explicitly; excludes --db")
	f.StringVar(&o.listen, "listen", "127.0.0.1", "`address` to listen on; other than loopback needs --allow-remote")
	f.IntVar(&o.port, "port", 0, "gRPC `port`; 0 takes a free one")
	f.IntVar(&o.uiPort, "ui-port", 0, "UI `port`; 0 takes a free one, -1 serves no UI")
	f.Var(&o.namespaces, "namespace",
		"`name` of a namespace to keep ready; may be repeated or comma-separated (default \"default\")")
	f.DurationVar(&o.retention, "retention", 7*24*time.Hour, "how long a new namespace keeps closed workflows")
	f.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error; the log goes to stderr")
	f.BoolVar(&o.allowRemote, "allow-remote", false,
		"let --listen name an address other machines can reach; there is no login")
	f.BoolVar(&o.timeSkip, "time-skipping", false, "let a test ask the server to skip idle time")
	f.BoolVar(&o.noSearch, "without-search-attributes", false,
		"register none of ours in a new namespace, as on a cluster that nobody prepared")
	f.BoolVar(&o.noCommands, "without-worker-commands", false,
		"leave worker commands off, as Temporal does unless told")
	f.BoolVar(&o.noVersions, "without-worker-deployments", false,
		"switch Worker Deployments off, as on an older cluster")
	f.IntVar(&o.suggest, "suggest-continue-after", 0,
		"suggest continue-as-new to workflows after so many `events`; 0 leaves it to Temporal (4096)")
	f.IntVar(&o.parent, "parent-pid", 0, "stop when the process with this `pid` is gone")
	f.BoolVar(&showVersion, "version", false, "print the version and leave")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("read the flags: %w", err)
	}
	if showVersion {
		fmt.Fprintf(os.Stdout, "temporald %s (Temporal server %s)\n", version, headers.ServerVersion)
		return o, flag.ErrHelp
	}
	if len(o.namespaces) == 0 {
		o.namespaces = list{"default"}
	}
	return o, o.check(f.Args())
}

// check joins every error in the flags, so that one attempt shows them all.
func (o *options) check(rest []string) error {
	var faults []error
	if len(rest) > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q: temporald takes flags only", rest[0]))
	}
	if o.memory && o.db != "" {
		faults = append(faults, fmt.Errorf("--memory and --db %s exclude each other", o.db))
	}
	if o.listen == "localhost" {
		o.listen = "127.0.0.1"
	}
	ip := net.ParseIP(o.listen)
	switch {
	case ip == nil:
		faults = append(faults, fmt.Errorf("--listen %q is not an IP address, such as 127.0.0.1", o.listen))
	case !ip.IsLoopback() && !o.allowRemote:
		faults = append(faults, fmt.Errorf("--listen %s can be reached by other machines and temporald has no login: "+
			"listen on 127.0.0.1, or add --allow-remote if a firewall or proxy guards it", o.listen))
	}
	if o.port < 0 || o.port > 65535 {
		faults = append(faults, fmt.Errorf("--port %d is outside 0 to 65535", o.port))
	}
	if o.uiPort < -1 || o.uiPort > 65535 {
		faults = append(faults, fmt.Errorf("--ui-port %d is outside -1 to 65535", o.uiPort))
	}
	if o.retention < 24*time.Hour {
		faults = append(faults,
			fmt.Errorf("--retention %s is shorter than the 24h that Temporal allows at least", o.retention))
	}
	if o.suggest < 0 {
		faults = append(faults, fmt.Errorf("--suggest-continue-after %d must not be negative", o.suggest))
	}
	switch o.logLevel {
	case "debug", "info", "warn", "error":
	default:
		faults = append(faults, fmt.Errorf("--log-level %q is none of debug, info, warn, error", o.logLevel))
	}
	return errors.Join(faults...)
}

// run serves until a signal comes or the parent process has ended.
func run(o options, out io.Writer) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// Before the ready line: a parent killed right after it was read would no longer be known as the direct parent.
	orphan := orphaned(o.parent)

	s, err := start(o)
	if err != nil {
		return err
	}
	line := ready{
		Ready:   true,
		Address: s.address,
		UI:      s.ui.url(),
		PID:     os.Getpid(),
		Version: version,
		Server:  headers.ServerVersion,
	}
	if err := json.NewEncoder(out).Encode(line); err != nil {
		return errors.Join(fmt.Errorf("print the ready line: %w", err), s.stop())
	}

	select {
	case <-signals:
	case <-orphan:
	case err := <-s.ui.failed:
		return errors.Join(fmt.Errorf("serve the UI: %w", err), s.stop())
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	select {
	case err := <-stopped:
		return err
	case <-signals:
		return errors.New("left at the second signal, before the stop was clean")
	case <-time.After(stopWithin):
		return fmt.Errorf("left after %s, before the stop was clean", stopWithin)
	}
}

// orphaned returns a channel that closes when process pid has ended. A direct parent is recognized by getppid, which
// also notices a dead parent that was not reaped yet; any other process is probed with signal 0. For pid 0 the
// channel is nil.
func orphaned(pid int) <-chan struct{} {
	if pid <= 0 {
		return nil
	}
	direct := os.Getppid() == pid
	ended := func() bool {
		if direct {
			return os.Getppid() != pid
		}
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(250 * time.Millisecond); !ended(); <-tick.C {
		}
	}()
	return done
}

// list is a flag that may be repeated or comma-separated.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			return errors.New("a namespace needs a name")
		}
		*l = append(*l, name)
	}
	return nil
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
