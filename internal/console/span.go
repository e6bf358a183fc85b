package console

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// spanFlag is a duration on a command line, parsed as in the configuration: 90s, 30m, 12h, 7d.
type spanFlag struct {
	app  *App
	into *time.Duration
}

func (s spanFlag) String() string { return "" }
func (s spanFlag) Type() string   { return "duration" }

func (s spanFlag) Set(text string) error {
	parse := time.ParseDuration
	if s.app.Span != nil {
		parse = s.app.Span
	}
	d, err := parse(text)
	if err != nil {
		return fmt.Errorf("%q must be a duration with its unit, such as 90s, 30m, 12h or 7d", text)
	}
	*s.into = d
	return nil
}

// spanVar adds a duration flag.
func (app *App) spanVar(fs *pflag.FlagSet, into *time.Duration, name, usage string) {
	fs.Var(spanFlag{app, into}, name, usage)
}
