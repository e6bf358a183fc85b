package cli

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/config"
)

// spanFlag is a duration on a command line, parsed as in the configuration: 90s, 30m, 12h, 7d.
type spanFlag struct{ into *time.Duration }

func (s spanFlag) String() string { return "" }
func (s spanFlag) Type() string   { return "duration" }

func (s spanFlag) Set(text string) error {
	d, err := config.ParseSpan(text)
	if err != nil {
		return fmt.Errorf("%q must be a duration with its unit, such as 90s, 30m, 12h or 7d", text)
	}
	*s.into = d
	return nil
}

// SpanVar adds a duration flag.
func SpanVar(fs *pflag.FlagSet, into *time.Duration, name, usage string) {
	fs.Var(spanFlag{into}, name, usage)
}
