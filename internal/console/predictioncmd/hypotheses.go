package predictioncmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// heldOf is how often the predictions of a hypothesis have come true; in prose, only independent ones count.
func heldOf(h *dream.Hypothesis) string {
	stands := review.StandingOf(h, "")
	return fmt.Sprintf("%d of %d", stands.Held, stands.Of)
}

// showHypothesis says why a hypothesis was promoted or not, outcome by outcome.
func showHypothesis(app *cli.App, w io.Writer, a dream.Agent, h *dream.Hypothesis) {
	fmt.Fprintf(w, "%s\n\n%s\n", h.Claim, cli.Wrap(verdictOnHypothesis(h, a, app.Predictions), app.Width, ""))
	if len(h.Outcomes) == 0 {
		return
	}
	fmt.Fprintln(w, "\nOutcomes:")
	for _, o := range h.Outcomes {
		came := "did not come true"
		if o.Right {
			came = "came true"
		}
		counts := ""
		if h.InProse() {
			counts = ", counts"
			if o.Dependent != "" {
				counts = ", does not count: " + o.Dependent
			}
		}
		line := fmt.Sprintf("%s  %s %s%s", cli.When(o.At, a.Zone), cli.Short(o.Prediction, a), came, counts)
		fmt.Fprintln(w, cli.Wrap(line, app.Width, "  "))
	}
}

// verdictOnHypothesis says where a hypothesis stands, and what decides it.
func verdictOnHypothesis(h *dream.Hypothesis, a dream.Agent, rules dream.PredictionRules) string {
	held := fmt.Sprintf("It is a hypothesis, %s; its predictions held %s times", h.Status, heldOf(h))
	if h.InProse() {
		held += " independently"
	}
	held += "."
	if h.Reason != "" {
		held += fmt.Sprintf(" It is %s since %s: %s.", h.Status, cli.When(h.Ended, a.Zone), h.Reason)
	}
	if h.Status == dream.HypothesisPromoted {
		held += fmt.Sprintf(" It was promoted at %s and is in the playbook as %s.", cli.When(h.Promoted, a.Zone),
			strings.Join(h.Playbook, " and "))
	}
	if awaits := review.StandingOf(h, rules.Gate).Awaits; awaits != "" {
		held += " " + awaits
	}
	if h.Status == dream.HypothesisStaged && !h.InProse() {
		held += " oneiros claims explain says how far it is."
	}
	return held
}
