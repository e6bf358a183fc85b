package program

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-56a03226/oneiros/internal/exit"
)

// ThisProcess is the process that runs, called by the name again.
func ThisProcess(again string) Process {
	p := Process{
		In:     os.Stdin,
		Out:    os.Stdout,
		Err:    os.Stderr,
		Screen: os.Stdout,
		Env:    os.Environ(),
		Now:    time.Now,
		Again:  again,
	}
	if !term.IsTerminal(int(os.Stdout.Fd())) {
		return p
	}
	p.Terminal = term.IsTerminal(int(os.Stdin.Fd()))
	p.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	p.Width = 80
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		p.Width = n
	} else if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		p.Width = w
	}
	return p
}

// FlagError marks what is wrong with a flag as wrong usage.
func FlagError(_ *cobra.Command, err error) error { return exit.AsUsage(err) }
