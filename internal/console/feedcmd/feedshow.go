package feedcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func feedList(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List every feed", RunE: app.InStore(func(ctx context.Context, _ []string) error {
		all, err := app.Feeds.Feeds(ctx)
		if err != nil {
			return err
		}
		list := []publicFeed{}
		t := cli.NewTable("FEED", "SOURCE,flex", "FOLLOWED BY,drop=1", "RULES,flex,least=60,under,drop=2")
		for _, f := range all {
			l, err := lineOf(ctx, app, f)
			if err != nil {
				return err
			}
			list = append(list, l.public())
			t.Add(l.Name, l.source(), cli.OrDash(strings.Join(l.Followers, ", ")),
				cli.OrDash(strings.Join(l.rules(), "; ")))
		}
		return app.Rows(list, t, "No feeds yet. Add one: oneiros feed add NAME --rule price")
	})}
}

func (l feedLine) rules() []string {
	texts := make([]string, len(l.Rules))
	for i, r := range l.Rules {
		texts[i] = view.RuleText(r, true)
	}
	return texts
}

func feedShow(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a feed, its rules and where its probe stands", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeFeeds(app),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := feedOf(cmd.Context(), app, args[0])
			if err != nil {
				return err
			}
			l, err := lineOf(cmd.Context(), app, f)
			if err != nil {
				return err
			}
			why := ""
			err = withWorkflows(cmd.Context(), app, func(w deploy.Workflows) error {
				ctx, cancel := context.WithTimeout(cmd.Context(), deploy.AgentStateWithin)
				defer cancel()
				state, err := w.FeedState(ctx, f.Name)
				if err == nil {
					l.State = &state
				}
				return err
			})
			if err != nil {
				why = "does not answer"
				if errors.Is(err, deploy.ErrNoServer) {
					why = "no Temporal server runs"
				}
			}
			l.Warning = l.warning()
			if app.Json {
				return app.Answer(l.public())
			}
			showFeed(app, l, why)
			return cmd.Context().Err()
		},
	}
}

func showFeed(app *cli.App, l feedLine, why string) {
	pairs := []string{
		"feed", l.Name, "source", l.source(), "path", l.Path, "rules", cli.OrDash(strings.Join(ruleStates(app, l), "; ")),
		"followed by", cli.OrDash(strings.Join(l.Followers, ", ")), "probe", why,
	}
	if s := l.State; s != nil {
		failures := ""
		if s.Failures > 0 {
			failures = fmt.Sprintf("%d, %d in a row; the last at %s: %s", s.Failures, s.InARow,
				view.Stamp(app, s.Failed), s.Failure)
		}
		last := ""
		if s.Last != nil {
			last = fmt.Sprintf("%s at %s, which reached %s", s.Last.What, view.Stamp(app, s.Last.At),
				cli.Count(s.Last.Agents, "agent"))
		}
		pairs = append(
			pairs,
			"received",
			fmt.Sprintf("%s, the last at %s", cli.Count(s.Readings, "reading"),
				view.Stamp(app, s.LastReading)),
			"values",
			values(app, s),
			"no rule takes",
			untakenText(app, s.Unused),
			"refused",
			refused(app, s),
			"last request",
			view.Stamp(app, s.RequestedAt),
			"alarms",
			fmt.Sprint(s.Alarms),
			"last alarm",
			last,
			"failures",
			failures,
			"warning",
			l.Warning,
		)
	}
	app.Fields(app.Out, pairs...)
}

func feedOf(ctx context.Context, app *cli.App, name string) (dream.Feed, error) {
	err := app.Within(ctx)
	if err != nil {
		return dream.Feed{}, err
	}
	f, err := app.Feeds.Feed(ctx, name)
	if errors.Is(err, memory.ErrNotFound) {
		err = exit.NotFoundf("there is no feed %q; oneiros feed list names them all", name)
	}
	return f, err
}

func completeFeeds(app *cli.App) cobra.CompletionFunc {
	return cli.FirstArgument(view.With(app, view.FeedNames))
}
