// Command hermes is the terminal client alone, for machines that have no part of the server.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	_ "time/tzdata" // for machines without a time zone database

	_ "golang.org/x/crypto/x509roots/fallback" // for machines without certificates of authorities

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hermes/program"
	"github.com/seed-56a03226/oneiros/internal/hermes/tools"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

func main() {
	if tools.Confine(os.Args) {
		return
	}
	cmd := program.Command(program.ThisProcess("hermes"))
	cmd.Version = built()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(program.FlagError)
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "hermes: "+err.Error())
		os.Exit(exit.CodeOf(err))
	}
}

func built() string {
	info, ok := debug.ReadBuildInfo()
	if ok && version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}
