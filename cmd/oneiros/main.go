// Command oneiros is the product: it reads the configuration, builds the deployment and runs one command.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // for machines without a time zone database

	"go.temporal.io/sdk/temporal"
	"golang.org/x/term"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
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

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { // the first signal stops cleanly; a second one ends the process at once
		<-ctx.Done()
		stop()
	}()
	d := newApp(os.Environ())
	d.args = os.Args
	return console.Run(ctx, d.app(), os.Args[1:])
}

// app connects the console's commands with this package's functions.
func (d *app) app() *console.App {
	app := &console.App{
		In:            os.Stdin,
		Out:           os.Stdout,
		Err:           os.Stderr,
		Now:           time.Now,
		Version:       builtFrom(),
		Zone:          machineZone(d.getenv("TZ")),
		Flags:         d.flags,
		Configuration: d.configuration,
		Reference:     config.Reference,
		Span:          config.ParseSpan,
		Open:          d.open,
		Checks:        d.checks,
		Policy:        d.policy,
		Codec:         d.codec(),
		Hooks:         d.hooks(),
		Stores:        d.stores(),
		Llama:         d.llama(),
		Dream: console.DreamCommand{
			ConfirmAbove:  d.confirmAbove,
			Estimate:      d.estimate,
			Reach:         d.reach,
			Work:          d.work,
			Up:            d.up,
			Serve:         d.serve,
			ServeMCP:      d.serveMCP,
			Here:          d.forOneDream,
			Demo:          d.demo,
			Active:        d.active,
			Abandon:       d.abandon,
			Waker:         d.waker,
			Rehearse:      d.rehearse,
			EstimateAgain: d.estimateAgain,
		},
	}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		app.Width, app.Colour = screenWidth(d.getenv("COLUMNS")), d.getenv("NO_COLOR") == "" &&
			d.getenv("TERM") != "dumb"
		app.Terminal = d.getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdin.Fd()))
	}
	return app
}

func screenWidth(columns string) int {
	if n, err := strconv.Atoi(columns); err == nil && n > 0 {
		return n
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// machineZone returns the IANA name of this machine's time zone; UTC when it is not known.
func machineZone(named string) string {
	if named == "" {
		path, _ := filepath.EvalSymlinks("/etc/localtime")
		_, named, _ = strings.Cut(path, "zoneinfo/")
	}
	named = strings.TrimPrefix(named, ":")
	if named == "" || named == "Local" || named == "Etc/UTC" {
		return "UTC"
	}
	if _, err := time.LoadLocation(named); err != nil {
		return "UTC"
	}
	return named
}

func builtFrom() console.Version {
	v := console.Version{Oneiros: version, Go: runtime.Version(), SDK: "v" + temporal.SDKVersion}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}
