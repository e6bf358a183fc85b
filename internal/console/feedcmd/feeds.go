// Package feedcmd has the commands on feeds and triggers.
package feedcmd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/feedhttp"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Feed builds the command oneiros feed.
func Feed(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "feed", Aliases: []string{"feeds"}, Short: "Feeds of readings, and the alarms over them", GroupID: cli.DreamGroup,
		Long: `A feed is something outside: numbers and states, pulled from a URL or pushed. Its rules raise alarms, which
wake every agent that follows it (oneiros agents edit HANDLE --feed NAME).`,
	}
	cmd.AddCommand(feedAdd(app), feedList(app), feedShow(app), feedRemove(app), feedPush(app))
	return cmd
}

// feedLine is a feed as shown. Of its URL, which may hold a secret, only the host is shown.
type feedLine struct {
	Name      string               `json:"name"`
	Host      string               `json:"host,omitempty"` // empty: readings are only pushed
	Path      string               `json:"path,omitempty"`
	Every     time.Duration        `json:"every,omitempty"`
	Rules     []dream.Rule         `json:"rules"`
	Followers []string             `json:"followers"`
	State     *workflows.FeedState `json:"state,omitempty"`
	Warning   string               `json:"warning,omitempty"` // no rule can use what the feed sends
}

// lineOf describes a feed with the agents that follow it.
func lineOf(ctx context.Context, app *cli.App, f dream.Feed) (feedLine, error) {
	l := feedLine{Name: f.Name, Path: f.Path, Rules: cli.OrEmpty(f.Rules), Followers: []string{}}
	if f.URL != "" {
		l.Host, l.Every = "a URL that cannot be read", f.Every
		if u, err := url.Parse(f.URL); err == nil {
			l.Host = u.Host
		}
	}
	agents, err := app.Store.Agents(ctx)
	for _, a := range agents {
		if a.Feed == f.Name {
			l.Followers = append(l.Followers, a.Handle)
		}
	}
	return l, err
}

func (l feedLine) source() string {
	if l.Host == "" {
		return "pushed"
	}
	return l.Host + ", every " + l.Every.String()
}

func feedAdd(app *cli.App) *cobra.Command {
	f := dream.Feed{}
	rules := []string{}
	quiet := []string{}
	replace := false
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a feed and its rules", Args: cobra.ExactArgs(1),
		Long: `Add keeps a feed and starts its probe. With --url a JSON document is fetched from it; without, readings are
pushed: oneiros feed push, or HTTP.

A rule is a preset, or a kind with a metric of the feed ("-" for a feed that has one only) and its numbers:

` + presetHelp() + `
  change METRIC NUMBER WINDOW            moved by so much within the window, up or down
  relative_change METRIC SHARE WINDOW    likewise, as a share: 0.05 or 5%
  relative_drop METRIC SHARE WINDOW      likewise, downwards only
  above METRIC NUMBER [rearm NUMBER]     and fires again only after it was back at the second number
  below METRIC NUMBER [rearm NUMBER]
  state METRIC WORD                      the feed says this word
  stale METRIC WINDOW                    nothing was heard for so long

A name may stand before it: --rule "crash=relative_drop price 20% 1h". A --quiet-rule is written in the same way and
wakes nobody: it only resolves the predictions that watch it (oneiros predictions watch).

A JSON object gives each of its numbers and words the metric of its member's name; {"metric":"price","value":5}
names itself. A bare value has no metric, unless all rules name one and the same: then it is of that one.
oneiros feed show NAME tells what no rule takes.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			f.Name = args[0]
			var faults []error
			for i, text := range append(rules, quiet...) {
				rule, err := view.ParseRule(text)
				rule.Quiet = i >= len(rules)
				if err != nil {
					err = fmt.Errorf("%s %w", map[bool]string{false: "--rule", true: "--quiet-rule"}[rule.Quiet], err)
				}
				f.Rules, faults = append(f.Rules, rule), append(faults, err)
			}
			if err := errors.Join(faults...); err != nil {
				return exit.AsUsage(err)
			}
			if err := alarm.ValidateFeed(f); err != nil {
				return exit.AsUsage(err)
			}
			err := app.Within(ctx)
			if err != nil {
				return err
			}
			if _, err := app.Feeds.Feed(ctx, f.Name); err == nil && !replace {
				return exit.Usagef("there is a feed %q already; --replace puts this one in its place", f.Name)
			} else if err != nil && !errors.Is(err, memory.ErrNotFound) {
				return err
			}
			return putFeed(ctx, app, f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.URL, "url", "", "where to ask for a JSON document (`address`); kept in the store, never shown")
	fs.StringVar(&f.Path, "path", "", "where in the document the readings are, such as $.data[0].price")
	cli.SpanVar(fs, &f.Every, "every", "how often it is read, as in 30s or 10m, at most 1d (`duration`)")
	fs.StringArrayVar(&rules, "rule", nil, "an `alarm` over it, as above (repeat for more)")
	fs.StringArrayVar(&quiet, "quiet-rule", nil, "a `rule` that wakes nobody, as above (repeat for more)")
	fs.BoolVar(&replace, "replace", false, "put it in the place of the feed of that name")
	return cmd
}

func presetHelp() string {
	var lines []string
	for _, r := range alarm.Presets() {
		lines = append(lines, fmt.Sprintf("  %-38s %s", r.Name+" [METRIC]", view.RuleText(r, false)))
	}
	return strings.Join(lines, "\n")
}

func putFeed(ctx context.Context, app *cli.App, f dream.Feed) error {
	err := withWorkflows(ctx, app, func(w deploy.Workflows) error {
		if err := feedhttp.Check(f); err != nil {
			return exit.AsUsage(err)
		}
		return w.PutFeed(ctx, f)
	})
	if errors.Is(err, deploy.ErrNoServer) {
		err = app.Feeds.PutFeed(ctx, f)
		if err == nil {
			app.Note("No Temporal server runs: its probe begins with the next worker (oneiros up%s).", app.Option())
		}
	}
	if err != nil {
		return err
	}
	l, err := lineOf(ctx, app, f)
	switch {
	case err != nil:
		return err
	case app.Json:
		return app.Answer(l.public())
	}
	app.Say("Feed %s is kept: %s, %s.", f.Name, l.source(), cli.Count(len(f.Rules), "rule"))
	if len(l.Followers) == 0 {
		app.Note("No agent follows it yet: oneiros agents edit HANDLE --feed %s%s", f.Name, app.Option())
	}
	return nil
}

// withWorkflows runs do with a connection to Temporal.
func withWorkflows(ctx context.Context, app *cli.App, do func(deploy.Workflows) error) error {
	engine, err := app.Backend.Reach(ctx, app.Deployment)
	if err != nil {
		return err
	}
	return errors.Join(do(engine.Workflows()), engine.Stop())
}

func feedRemove(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a feed; agents that follow it follow nothing", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeFeeds(app),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			f, err := feedOf(ctx, app, args[0])
			if err != nil {
				return err
			}
			l, err := lineOf(ctx, app, f)
			if err != nil {
				return err
			}
			err = withWorkflows(ctx, app, func(w deploy.Workflows) error { return w.DropFeed(ctx, f.Name) })
			if errors.Is(err, deploy.ErrNoServer) {
				err = app.Feeds.DropFeed(ctx, f.Name) // its probe notices at its next run, and ends
			}
			switch {
			case err != nil:
				return err
			case app.Json:
				return app.Answer(l.public())
			}
			app.Say("Feed %s is removed.", f.Name)
			if len(l.Followers) > 0 {
				app.Note("It was followed by %s.", strings.Join(l.Followers, ", "))
			}
			return nil
		},
	}
}

func feedPush(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "push NAME [METRIC=]VALUE...", Short: "Give a feed readings by hand", Args: cobra.MinimumNArgs(2),
		ValidArgsFunction: completeFeeds(app),
		Long: `Push gives a feed readings of now: numbers, or words, which are states. A value without a metric is of the one that
all rules of the feed name, if they do. Where no rule takes a reading, a warning says so; it is given all the same, and
the exit code is 0.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var readings []dream.Reading
			var faults []error
			for _, text := range args[1:] {
				r, err := view.ParseReading(text)
				readings, faults = append(readings, r), append(faults, err)
			}
			if err := errors.Join(faults...); err != nil {
				return exit.AsUsage(err)
			}
			f, err := feedOf(ctx, app, args[0])
			if err != nil {
				return err
			}
			if err := withWorkflows(ctx, app, func(w deploy.Workflows) error { return w.Push(ctx, f.Name, readings) }); err != nil {
				return err
			}
			values := map[string]any{"feed": f.Name, "readings": len(readings)}
			unheard := alarm.DescribeUnused(f.Rules, alarm.Unused(f.Rules, readings))
			if unheard != "" {
				values["warning"] = unheard
			}
			if app.Json {
				return app.Answer(values)
			}
			app.Say("Feed %s was given %s.", f.Name, cli.Count(len(readings), "reading"))
			if unheard != "" {
				app.Note("Warning: %s.", unheard)
			}
			return nil
		},
	}
}
