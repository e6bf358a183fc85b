// Command oneiros is the product: it reads the configuration, builds the deployment and runs one command.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	_ "time/tzdata" // for machines without a time zone database

	"go.temporal.io/sdk/temporal"
	_ "golang.org/x/crypto/x509roots/fallback" // for machines without certificates of authorities
	"golang.org/x/term"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/hermes/tools"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

func init() {
	// what go install built has no stamp; the Go command knows which version it fetched
	info, ok := debug.ReadBuildInfo()
	if ok && version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	deploy.Version = version
}

func main() {
	if tools.Confine(os.Args) {
		return // this process was the starter of a confined command of hermes
	}
	code := run()
	finish()
	os.Exit(code)
}

// finish writes the CPU profile of a build with the tag profile (profile.go).
var finish = func() {}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { // the first signal stops cleanly; a second one ends the process at once
		<-ctx.Done()
		stop()
	}()
	d := deploy.NewProcess(os.Environ())
	d.Args = os.Args
	return console.Run(ctx, app(d), os.Args[1:])
}

// app is the command line on this process's streams, screen and configuration.
func app(d *deploy.Process) *cli.App {
	app := &cli.App{
		In:      os.Stdin,
		Out:     os.Stdout,
		Err:     os.Stderr,
		Now:     time.Now,
		Random:  rand.Reader,
		Version: builtFrom(),
		Zone:    deploy.MachineZone(d.Getenv("TZ")),
		Flags:   d.Flags,
		Backend: d,
	}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		app.Width, app.Colour = screenWidth(d.Getenv("COLUMNS")), d.Getenv("NO_COLOR") == "" &&
			d.Getenv("TERM") != "dumb"
		app.Terminal = d.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdin.Fd()))
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

func builtFrom() cli.Version {
	v := cli.Version{Oneiros: version, Go: runtime.Version(), SDK: "v" + temporal.SDKVersion}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}
