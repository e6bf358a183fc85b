package reviewcmd

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Hooks builds the command oneiros hooks.
func Hooks(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hooks", Short: "Your services that are called before, during and after each dream", GroupID: cli.DeploymentGroup,
		Long: `A hook is a service of yours that every dream calls over HTTP: before the onset, which it may veto; when fragments were
captured, which it may hold for review; and when the dream has ended. Hooks are configured under hooks.<name>;
docs/hooks.md says what a call contains and how it is signed.`,
	}
	cmd.AddCommand(hooksList(app), hooksTest(app))
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

func hooksList(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the configured hooks",
		RunE: func(*cobra.Command, []string) error {
			rules, urls, err := app.Backend.HookRules()
			if err != nil {
				return err
			}
			rows := []hookRow{}
			t := cli.NewTable("HOOK", "CALLED AT", "TIMEOUT", "ON TIMEOUT", "SEES TEXT,drop=1",
				"ADDRESS,flex")
			for _, r := range rules {
				at := whereAsked(urls[r.Name])
				rows = append(rows, hookRow{
					Name:    r.Name,
					URL:     at,
					At:      r.At,
					Timeout: cli.Millis(r.Timeout),
					Silent:  r.Silent,
					Text:    r.Text,
				})
				t.Add(r.Name, cli.Listed(r.At), r.Timeout.String(), r.Silent, cli.YesNo(r.Text), at)
			}
			return app.Rows(rows, t, "No hooks are configured; docs/hooks.md shows how.")
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

// hookResult is the result of one test call.
type hookResult struct {
	Border   activities.Border    `json:"border"`
	Took     float64              `json:"took_ms"`
	Veto     string               `json:"veto,omitempty"`
	Concerns []activities.Concern `json:"concerns,omitempty"`
	Fault    string               `json:"fault,omitempty"`
}

func hooksTest(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "test HOOK", Short: "Ask a hook about a made-up dream, and print what it says", Args: cobra.ExactArgs(1),
		Long:              "Test asks a hook each of its questions, signed as a dream would, about a made-up dream. Exit code 1 when it gave no answer.",
		ValidArgsFunction: completeHooks(app),
		RunE: func(cmd *cobra.Command, args []string) error {
			hook, rule, err := app.Backend.Hook(args[0])
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
			if err := printTried(app, tried); err != nil {
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

func printTried(app *cli.App, tried []hookResult) error {
	t := cli.NewTable("BORDER", "TOOK,right", "ANSWER,flex")
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
			text = "accepted"
		}
		t.Add(string(one.Border), fmt.Sprintf("%.0fms", one.Took), text)
	}
	return app.Rows(tried, t, "it is called at no border")
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
		tried.Concerns, err = hook.Capture(
			ctx,
			activities.HookCapture{
				Agent:     "nobody",
				Dream:     never,
				Cycle:     1,
				Fragments: []activities.Captured{fragment},
			},
		)
	case activities.AtExit:
		err = hook.Exit(ctx,
			activities.HookExit{Agent: "nobody", Dream: never, Outcome: dream.Completed, Stretches: 1})
	}
	if err != nil {
		tried.Fault = err.Error()
	}
	tried.Took = cli.Millis(time.Since(began).Round(time.Millisecond))
	return tried
}

func completeHooks(app *cli.App) cobra.CompletionFunc {
	return cli.FirstArgument(func(*cobra.Command) []string {
		var names []string
		rules, _, _ := app.Backend.HookRules()
		for _, r := range rules {
			names = append(names, r.Name)
		}
		return names
	})
}
