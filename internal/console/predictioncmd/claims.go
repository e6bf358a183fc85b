package predictioncmd

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Claims builds the command oneiros claims.
func Claims(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "claims", Short: "What keeps coming true, and what is still tried", GroupID: cli.MemoryGroup,
		Long: `Predictions with the same check make one claim. Each time that its condition is met anew it is tried again, and so are
its decoys, which say the same of other things: how often those come true is chance. A claim that beats chance enters the
playbook, is recalled, and stays watched; when it stops holding it is retired. Hypotheses of dreams are listed as well: one
whose predictions have checks is promoted when their claim passes, one in prose as predictions.gate says.`,
	}
	cmd.AddCommand(claimList(app), claimExplain(app))
	return cmd
}

func claimList(app *cli.App) *cobra.Command {
	return view.List(app, "list", view.Listing{
		Kind: dream.KindClaim, Also: []dream.Kind{dream.KindHypothesis}, Sort: memory.HighestScore,
		Short:   "List claims and hypotheses, those that hold most often first",
		Nothing: "%s has claimed nothing yet; its dreams do, and predictions add --then.",
		Columns: cli.Columns("ID,flex,least=22", "STATUS", "HELD,right", "CHANCE,right,drop=2", "WEALTH,right,drop=1",
			"SAYS,flex"),
		Row: func(item dream.Item, a dream.Agent) []string {
			if h, ok := item.(*dream.Hypothesis); ok {
				return []string{cli.Short(h.ID, a), h.Status, heldOf(h), "-", "-", h.Claim}
			}
			c := item.(*dream.Claim)
			return []string{
				cli.Short(c.ID, a), c.Status, fmt.Sprintf("%d of %d", c.Hits, c.Trials()), atMost(c), wealth(c.Wealth), c.Says,
			}
		},
	})
}

func atMost(c *dream.Claim) string {
	if c.Chance >= 1 {
		return "-"
	}
	return cli.Score(c.Chance)
}

func wealth(w float64) string {
	if w >= 1e6 {
		return "over a million"
	}
	return strconv.FormatFloat(w, 'f', 1, 64)
}

func claimExplain(app *cli.App) *cobra.Command {
	return view.ForItem(app, &cobra.Command{
		Use: "explain ID", Args: cobra.ExactArgs(1),
		Short: "Say why a claim or hypothesis passed or did not, outcome by outcome",
		Long: fmt.Sprintf(`Explain shows what a claim must beat, each outcome with the episodes that show it, and the wealth after it: what a
bettor would have who began with 1 and bet on the claim against chance. From %d on it passes, if so few of all claims are
as rich by chance that at most one in ten that pass is false. Of a hypothesis it shows which outcomes count, and why others
do not.`, claims.Alone),
		ValidArgsFunction: completeItems(app, dream.KindClaim, memory.HighestScore),
	}, func(ctx context.Context, a dream.Agent, item dream.Item) error {
		if app.Json {
			return app.Answer(item)
		}
		if h, ok := item.(*dream.Hypothesis); ok {
			showHypothesis(app, app.Out, a, h)
			return nil
		}
		c := item.(*dream.Claim)
		behind, err := review.Explain(ctx, app.Store, c)
		if err != nil {
			return err
		}
		showClaim(app, app.Out, a, c, behind)
		return nil
	}, dream.KindClaim, dream.KindHypothesis)
}

func showClaim(app *cli.App, w io.Writer, a dream.Agent, c *dream.Claim, behind review.Explanation) {
	fmt.Fprintf(w, "%s\n\n%s\n", c.Says, cli.Wrap(verdictOn(c, a), app.Width, ""))
	if c.Chance < 1 {
		line := fmt.Sprintf("Of %d outcomes of its %d decoys %d came true: chance is at most %s.",
			c.DecoyHits+c.DecoyMisses, len(c.Decoys), c.DecoyHits, cli.Score(c.Chance))
		fmt.Fprintln(w, cli.Wrap(line, app.Width, ""))
	}
	fmt.Fprintln(w, "\nSaid by:")
	for _, p := range behind.SaidBy {
		fmt.Fprintln(w, cli.Wrap(cli.Short(p.ID, a)+": "+orForgotten(p.Text), app.Width, "  "))
	}
	if len(c.Outcomes) == 0 {
		return
	}
	fmt.Fprintf(w, "\nOutcomes:")
	if hidden := c.Trials() - len(c.Outcomes); hidden > 0 {
		fmt.Fprintf(w, " the newest %d of %d", len(c.Outcomes), c.Trials())
	}
	fmt.Fprintln(w)
	quoted := map[string]string{}
	for _, e := range behind.Evidence {
		quoted[e.ID] = e.Text
	}
	for _, o := range c.Outcomes {
		came := "did not come true"
		if o.Right {
			came = "came true"
		}
		fmt.Fprintf(w, "  %s  %s, wealth %s\n", cli.When(o.At, a.Zone), came, wealth(o.Wealth))
		for _, id := range o.Evidence {
			fmt.Fprintln(w, cli.Wrap("    "+orForgotten(quoted[id])+" ("+cli.Short(id, a)+")", app.Width, "      "))
		}
	}
}

func orForgotten(text string) string {
	if text == "" {
		return "forgotten since"
	}
	return text
}

// verdictOn says where a claim stands.
func verdictOn(c *dream.Claim, a dream.Agent) string {
	held := fmt.Sprintf("It held %d of %d times; its wealth is %s.", c.Hits, c.Trials(), wealth(c.Wealth))
	switch c.Status {
	case dream.ClaimTried:
		if c.Trials() == 0 {
			return "It is tried; nothing has decided it yet."
		}
		return held + fmt.Sprintf(" It is tried: from a wealth of %d on it may pass.", claims.Alone)
	case dream.ClaimPassed:
		return held + fmt.Sprintf(" It passed at %s and is in the playbook as %s.", cli.When(c.Passed, a.Zone), c.Playbook)
	}
	return held + fmt.Sprintf(" It is %s since %s: %s.", c.Status, cli.When(c.Ended, a.Zone), c.Reason)
}
