package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) feedList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List every feed", RunE: func(cmd *cobra.Command, _ []string) error {
		h, err := app.within(cmd.Context())
		if err != nil {
			return err
		}
		all, err := h.Feeds.Feeds(cmd.Context())
		if err != nil {
			return err
		}
		list := []publicFeed{}
		t := &table{columns: []column{{title: "FEED"}, {title: "SOURCE", flex: true}, {title: "FOLLOWED BY", drop: 1}, {
			title: "RULES",
			flex:  true,
			least: 60,
			under: true,
			drop:  2,
		}}}
		for _, f := range all {
			l, err := lineOf(cmd.Context(), h, f)
			if err != nil {
				return err
			}
			list = append(list, l.public())
			t.add(l.Name, l.source(), orDash(strings.Join(l.Followers, ", ")), orDash(strings.Join(l.rules(), "; ")))
		}
		return app.rows(list, t, "No feeds yet. Add one: oneiros feed add NAME --rule price")
	}}
}

func (l feedLine) rules() []string {
	texts := make([]string, len(l.Rules))
	for i, r := range l.Rules {
		texts[i] = ruleText(r, true)
	}
	return texts
}

func (app *App) feedShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a feed, its rules and where its probe stands", Args: cobra.ExactArgs(1),
		ValidArgsFunction: app.completeFeeds,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, f, err := app.feedOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			l, err := lineOf(cmd.Context(), h, f)
			if err != nil {
				return err
			}
			why := ""
			err = app.withFeeds(cmd.Context(), h, func(feeds Feeds) error {
				ctx, cancel := context.WithTimeout(cmd.Context(), agentStateWithin)
				defer cancel()
				state, err := feeds.State(ctx, f.Name)
				if err == nil {
					l.State = &state
				}
				return err
			})
			if err != nil {
				why = "does not answer"
				if errors.Is(err, ErrNoServer) {
					why = "no Temporal server runs"
				}
			}
			l.Warning = l.warning()
			if app.json {
				return app.answer(l.public())
			}
			app.showFeed(l, why)
			return cmd.Context().Err()
		},
	}
}

func (app *App) showFeed(l feedLine, why string) {
	pairs := []string{
		"feed", l.Name, "source", l.source(), "path", l.Path, "rules", orDash(strings.Join(app.ruleStates(l), "; ")),
		"followed by", orDash(strings.Join(l.Followers, ", ")), "probe", why,
	}
	if s := l.State; s != nil {
		failures := ""
		if s.Failures > 0 {
			failures = fmt.Sprintf("%d, %d in a row; the last at %s: %s", s.Failures, s.InARow, app.stamp(s.Failed),
				s.Failure)
		}
		last := ""
		if s.Last != nil {
			last = fmt.Sprintf("%s at %s, which reached %s", s.Last.What, app.stamp(s.Last.At),
				plural(s.Last.Agents, "agent", "agents"))
		}
		pairs = append(pairs, "heard",
			fmt.Sprintf("%s, the last at %s", plural(s.Readings, "reading", "readings"), app.stamp(s.LastReading)),
			"values", app.values(s), "no rule takes", app.untakenText(s.Unused), "refused", app.refused(s),
			"asked", app.stamp(s.RequestedAt), "alarms", fmt.Sprint(s.Alarms), "last alarm", last, "failures",
			failures, "warning", l.Warning)
	}
	app.fields(app.Out, pairs...)
}

func (app *App) stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock(t, app.Now(), app.Zone)
}

func (app *App) feedOf(ctx context.Context, name string) (*Deployment, dream.Feed, error) {
	h, err := app.within(ctx)
	if err != nil {
		return nil, dream.Feed{}, err
	}
	f, err := h.Feeds.Feed(ctx, name)
	if errors.Is(err, memory.ErrNotFound) {
		err = exit(NotFound, "there is no feed %q; oneiros feed list names them all", name)
	}
	return h, f, err
}

func (app *App) completeFeeds(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return app.feedNames(cmd), cobra.ShellCompDirectiveNoFileComp
}

// feedNames completes feeds; nothing when the store cannot be opened.
func (app *App) feedNames(cmd *cobra.Command) []string {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	h, err := app.within(ctx)
	if err != nil {
		return nil
	}
	all, err := h.Feeds.Feeds(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	return names
}
