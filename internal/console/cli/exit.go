package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/starter"
)

// ExitCodes is a help topic.
func ExitCodes() *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", Short: "What each exit code means",
		Long: `Exit codes, which scripts may rely on:

  0  it worked
  1  something went wrong
  2  the command line or the configuration is wrong
  3  there is no such agent, memory, dream, room or post, or no such file to
     read
  4  a cap, a missing consent, somebody who holds the agent awake, a dream
     under way, a verdict that stands, the policy, the review or a role in
     a room forbids it
  5  Temporal, a provider or the store does not answer, or the store takes no
     writes or cannot be opened
  6  the dream ended empty, exhausted, aborted, canceled or interrupted
  7  oneiros health found something wrong

With --json an error is one JSON object on standard error:

  {"code": 3, "error": "..."}`,
	}
}

// Code returns the exit code of an error.
func Code(err error) int {
	var own *exit.Error
	var network *net.OpError // not net.Error, which every errno is
	switch {
	case err == nil:
		return exit.OK
	case errors.As(err, &own):
		return own.Code
	case errors.Is(err, memory.ErrNotFound),
		errors.Is(err, review.ErrNotWaiting),
		errors.Is(err, starter.ErrNothing):
		return exit.NotFound
	case errors.Is(err, starter.ErrAwake), errors.Is(err, starter.ErrDreaming), refusedByReview(err):
		return exit.Refused
	case errors.Is(err, deploy.ErrNoServer), errors.Is(err, memory.ErrAway), errors.Is(err, memory.ErrUnwritable),
		errors.Is(err, starter.ErrUnreachable):
		return exit.Unreachable
	case errors.Is(err, context.Canceled):
		return exit.Failure
	case errors.Is(err, context.DeadlineExceeded): // every deadline here is that of a call to another process
		return exit.Unreachable
	}
	if _, over := spend.AsOverCap(err); over {
		return exit.Refused
	}
	if f, ok := inference.AsFailure(err); ok {
		switch f.Kind {
		case inference.NoMoney, inference.Unpriced:
			return exit.Refused
		case inference.Unavailable:
			return exit.Unreachable
		}
		return exit.Failure
	}
	if errors.As(err, &network) || temporalAway(err) {
		return exit.Unreachable
	}
	return exit.Failure
}

// WhereWorkersRun adds to the error that no worker answered which commands run one.
func WhereWorkersRun(err error) error {
	if errors.Is(err, starter.ErrUnreachable) {
		return fmt.Errorf("%w (oneiros worker or oneiros up runs one)", err)
	}
	return err
}

// temporalAway reports whether a call to Temporal failed because no server answered.
func temporalAway(err error) bool {
	var notFound *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	return errors.As(err, &notFound) || errors.As(err, &late)
}

// ReportError prints an error to standard error: one sentence, or one JSON object.
func (app *App) ReportError(cmd *cobra.Command, err error) {
	if app.Json {
		body, _ := json.Marshal(map[string]any{"error": strings.TrimSpace(err.Error()), "code": Code(err)})
		fmt.Fprintf(app.Err, "%s\n", body)
		return
	}
	fmt.Fprint(app.Err, app.errorText(err))
	switch {
	case errors.Is(err, exit.ErrConfiguration):
		fmt.Fprintln(app.Err, "docs/configuration.md says what each knob takes.")
	case Code(err) == exit.Usage:
		fmt.Fprintf(app.Err, "See %s --help.\n", cmd.CommandPath())
	}
}

// unknown is the error for an unknown command, with a suggestion.
func unknown(c *cobra.Command, name string) error {
	hint := ""
	if near := c.SuggestionsFor(name); len(near) > 0 {
		hint = "; did you mean " + near[0] + "?"
	}
	return exit.Usagef("%s knows no command %q%s", c.CommandPath(), name, hint)
}

// CheckHelp makes help about an unknown command a usage error.
func (app *App) CheckHelp(root *cobra.Command) {
	root.SetUsageFunc(func(c *cobra.Command) error { app.usageOf(c); return nil })
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
			app.Misled = unknown(c, words[0])
			return
		}
		app.helpOf(c)
	})
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if found == nil || err != nil {
				return unknown(root, args[0])
			}
			if len(rest) > 0 && found.HasSubCommands() {
				return unknown(found, rest[0])
			}
			return found.Help()
		}
		c.Args = cobra.ArbitraryArgs
	}
}

// CheckArguments makes a wrong number of arguments, or an unknown command, a usage error.
func CheckArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		CheckArguments(sub)
	}
	check := cmd.Args
	if !cmd.Runnable() && !cmd.HasSubCommands() {
		return // a help topic
	}
	if !cmd.Runnable() {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknown(c, args[0])
		}
		check = cobra.ArbitraryArgs
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(c *cobra.Command, args []string) error {
		if check == nil {
			check = cobra.NoArgs
		}
		if check(c, args) != nil {
			return argumentError(c, args)
		}
		return nil
	}
}
