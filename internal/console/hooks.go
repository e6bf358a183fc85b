package console

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// HooksCommand holds the functions behind the hooks commands.
type HooksCommand struct {
	Rules func() (rules []activities.HookRule, urls map[string]string, err error)
	Fit   func(name string) (activities.Hook, activities.HookRule, error)
}

func (app *App) hooks() *cobra.Command {
	cmd := &cobra.Command{
		Use: "hooks", Short: "Programs that are asked before, during and after each dream", GroupID: deployment,
		Long: `Hooks are services of yours that are asked at the borders of every dream: before the onset, which they may veto, when
fragments were captured, which they may hold for review, and when the dream is over. They are configured under hooks.<name>;
docs/hooks.md says what they are shown and how their questions are signed.`,
	}
	cmd.AddCommand(app.hooksList(), app.hooksTest())
	return cmd
}

// hookRow is one hook as the list prints it.
type hookRow struct {
	Name    string              `json:"name"`
	URL     string              `json:"url"`
	At      []activities.Border `json:"at"`
	Timeout float64             `json:"timeout_ms"`
	Silent  string              `json:"silent"`
	Text    bool                `json:"text"`
}

func (app *App) hooksList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the configured hooks", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rules, urls, err := app.Hooks.Rules()
			if err != nil {
				return err
			}
			rows := []hookRow{}
			t := table{
				columns: []column{
					{title: "HOOK"},
					{title: "ASKED AT"},
					{title: "TIMEOUT"},
					{title: "WHEN SILENT"},
					{title: "SEES TEXT", drop: 1},
					{title: "ADDRESS", flex: true},
				},
			}
			for _, r := range rules {
				at := whereAsked(urls[r.Name])
				rows = append(rows, hookRow{
					Name:    r.Name,
					URL:     at,
					At:      r.At,
					Timeout: millis(r.Timeout),
					Silent:  r.Silent,
					Text:    r.Text,
				})
				t.add(r.Name, borders(r.At), r.Timeout.String(), r.Silent, yesNo(r.Text), at)
			}
			return app.rows(rows, &t, "No hooks are configured; docs/hooks.md shows how.")
		},
	}
}

// whereAsked is the address of a hook without parts that may be secret: the host, and a mark that there is more.
func whereAsked(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	at := u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		at += "/..."
	}
	return at
}

func borders(at []activities.Border) string {
	words := make([]string, len(at))
	for i, b := range at {
		words[i] = string(b)
	}
	return strings.Join(words, ", ")
}

// hookResult is the result of one test call.
type hookResult struct {
	Border   activities.Border    `json:"border"`
	Took     float64              `json:"took_ms"`
	Veto     string               `json:"veto,omitempty"`
	Concerns []activities.Concern `json:"concerns,omitempty"`
	Fault    string               `json:"fault,omitempty"`
}

func (app *App) hooksTest() *cobra.Command {
	return &cobra.Command{
		Use: "test HOOK", Short: "Ask a hook about a made-up dream, and print what it says", Args: cobra.ExactArgs(1),
		Long:              "Test asks a hook each of its questions, signed as a dream would, about a made-up dream. Exit code 1 when it gave no answer.",
		ValidArgsFunction: app.completeHooks,
		RunE: func(cmd *cobra.Command, args []string) error {
			hook, rule, err := app.Hooks.Fit(args[0])
			if err != nil {
				return err
			}
			var tried []hookResult
			for _, at := range rule.At {
				tried = append(tried, tryHook(cmd.Context(), hook, rule, at, app.Now()))
			}
			silent := 0
			for _, one := range tried {
				if one.Fault != "" {
					silent++
				}
			}
			if err := app.printTried(tried); err != nil {
				return err
			}
			if silent > 0 {
				return fmt.Errorf("%s gave no answer at %d of %d borders; a dream would take that as %q", rule.Name,
					silent, len(tried), rule.Silent)
			}
			return nil
		},
	}
}

func (app *App) printTried(tried []hookResult) error {
	t := table{columns: []column{{title: "BORDER"}, {title: "TOOK", right: true}, {title: "ANSWER", flex: true}}}
	for _, one := range tried {
		text := "no objection"
		switch {
		case one.Fault != "":
			text = "no answer: " + one.Fault
		case one.Veto != "":
			text = "veto: " + one.Veto
		case len(one.Concerns) > 0:
			text = fmt.Sprintf("holds %d: %s", len(one.Concerns), one.Concerns[0].Reason)
		case one.Border == activities.AtExit:
			text = "heard"
		}
		t.add(string(one.Border), fmt.Sprintf("%.0fms", one.Took), text)
	}
	return app.rows(tried, &t, "it is asked at no border")
}

// tryHook makes one call about a dream that does not exist.
func tryHook(ctx context.Context, hook activities.Hook, rule activities.HookRule, at activities.Border,
	now time.Time,
) hookResult {
	ctx, cancel := context.WithTimeout(ctx, rule.Timeout)
	defer cancel()
	began := time.Now()
	tried := hookResult{Border: at}
	var err error
	const never = "dream/nobody/0000"
	switch at {
	case activities.AtEntry:
		row := hypnagogia.Bounds(dream.Stable)
		depths := map[dream.Behaviour]dream.DepthBound{
			dream.Stable: {
				CyclesLeast: row.CyclesLeast, CyclesMost: row.CyclesMost, Wall: row.Onset,
				Allowed: row.Allowed,
			},
		}
		tried.Veto, err = hook.Entry(ctx, activities.HookEntry{
			Agent:  "nobody",
			Dream:  never,
			Tier:   dream.Hardened,
			AsOf:   now.UTC(),
			Depths: depths,
			Cycles: 3,
		})
	case activities.AtCapture:
		fragment := activities.Captured{
			ID:         never + "/onset/1.1",
			Stage:      dream.Peak,
			Novelty:    .5,
			Composite:  .4,
			Confidence: .15,
			Taint:      dream.FromDream,
			Model:      "none",
		}
		if rule.Text {
			fragment.Text = "This is a question of a test; no agent thought it."
		}
		tried.Concerns, err = hook.Capture(ctx,
			activities.HookCapture{Agent: "nobody", Dream: never, Cycle: 1, Fragments: []activities.Captured{fragment}})
	case activities.AtExit:
		err = hook.Exit(ctx, activities.HookExit{Agent: "nobody", Dream: never, Outcome: dream.Completed, Stretches: 1})
	}
	if err != nil {
		tried.Fault = err.Error()
	}
	tried.Took = millis(time.Since(began).Round(time.Millisecond))
	return tried
}

func (app *App) completeHooks(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || app.Hooks.Rules == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	rules, _, err := app.Hooks.Rules()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
