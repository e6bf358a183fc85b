package reviewcmd

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// Policy builds the command oneiros policy.
func Policy(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "What a dream may not write about", GroupID: cli.DeploymentGroup}
	cmd.AddCommand(policyShow(app), policyCheck(app))
	return cmd
}

func policyShow(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "List the rules that a dream begun now would be held to",
		Long: "Show lists the rules of the configuration, with what is added for the agent. They are frozen into a dream when it begins:\na dream under way keeps those it began with.",
	}
	view.AddAgentFlag(app, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		rules, err := rulesFor(app, cmd)
		switch {
		case err != nil:
			return err
		case app.Json:
			return app.Answer(rules)
		case rules.None():
			app.Say("No rule holds: a dream may develop anything.")
			return nil
		}
		app.Fields(app.Out, rulePairs(rules)...)
		return nil
	}
	return cmd
}

// rulesFor returns the rules of the named agent, or those of all agents. The named agent must exist: for a mistyped
// name the rules shown would be weaker than those that hold.
func rulesFor(app *cli.App, cmd *cobra.Command) (policy.Rules, error) {
	handle, _ := cmd.Flags().GetString("agent")
	rules, err := app.Backend.Policy(strings.TrimPrefix(handle, "@"))
	if err != nil || handle == "" {
		return rules, err
	}
	if common, err := app.Backend.Policy(""); err != nil || !reflect.DeepEqual(rules, common) {
		return rules, err
	}
	_, err = view.AgentOf(app, cmd)
	return rules, err
}

func rulePairs(r policy.Rules) []string {
	assets := "any"
	switch {
	case slices.Equal(r.Assets, []string{policy.Nothing}):
		assets = "none"
	case len(r.Assets) > 0:
		assets = strings.Join(r.Assets, ", ") + ", and no others"
	}
	pairs := []string{"assets", assets}
	for _, c := range r.Caps {
		text := "at most " + c.Bound()
		if len(c.Words) > 0 {
			text += ", near " + strings.Join(c.Words, ", ")
		}
		pairs = append(pairs, c.Name, text)
	}
	for _, g := range r.Guards {
		pairs = append(pairs, string(g), "barred: "+g.Says())
	}
	for _, p := range r.Forbidden {
		text := "barred: " + p.Match
		if p.Spare {
			text += ", but not where it is only forbidden, warned of or told of others"
		}
		pairs = append(pairs, p.Name, text)
	}
	for _, s := range r.Sentences {
		pairs = append(pairs, s.Name, "by the observer: "+s.Text)
	}
	if len(r.Sentences) > 0 {
		pairs = append(pairs, "unclear",
			map[policy.Unclear]string{policy.Bar: "what the observer cannot judge is barred"}[r.Unclear])
		if r.Unclear != policy.Bar {
			pairs[len(pairs)-1] = "what the observer cannot judge is flagged for a look, and developed"
		}
	}
	return pairs
}

func policyCheck(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [TEXT]", Short: "Say what would bar a text, and why", Args: cobra.MaximumNArgs(1),
		Long: "Check holds a text, or every line of a file, against the rules of the configuration, as a dream does. Exit code 4 when anything is\n" +
			"barred. Rules in words are not checked here: only the observer's model can judge by them, and each call of it costs money.",
		Example: "  oneiros policy check \"Long ETH at 10x leverage.\"\n  oneiros policy check --file fragments.txt --json",
	}
	file := cmd.Flags().String("file", "", "hold every line of a `file` against the rules; - is standard input")
	view.AddAgentFlag(app, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 1) == (*file != "") || len(args) == 1 && strings.TrimSpace(args[0]) == "" {
			return exit.Usagef("policy check takes a text or --file, one of them")
		}
		if err := cli.CheckUTF8("the text", strings.Join(args, " ")); err != nil {
			return err
		}
		rules, err := rulesFor(app, cmd)
		if err != nil {
			return err
		}
		texts := args
		if *file != "" {
			texts, err = linesOf(app, *file)
			if err != nil {
				return err
			}
		}
		cage, err := policy.New(rules)
		if err != nil {
			return exit.AsUsage(err)
		}
		return checked(app, rules, checkTexts(cage, texts))
	}
	return cmd
}

// linesOf reads the lines of a file that are not blank.
func linesOf(app *cli.App, name string) ([]string, error) {
	in := app.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, exit.AsUsage(fmt.Errorf("--file: %w", err))
		}
		defer f.Close()
		in = f
	}
	var lines []string
	s := bufio.NewScanner(io.LimitReader(in, mostChecked))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" {
			lines = append(lines, line)
		}
	}
	if err := s.Err(); err != nil {
		return nil, exit.AsUsage(fmt.Errorf("--file %s: %w", name, err))
	}
	return lines, nil
}

// mostChecked bounds what one check reads.
const mostChecked = 16 << 20

// checkedText is a text with the rules that bar it.
type checkedText struct {
	Text       string             `json:"text"`
	Barred     bool               `json:"barred"`
	Violations []policy.Violation `json:"violations,omitempty"`
}

func checkTexts(cage *policy.Cage, texts []string) []checkedText {
	all := make([]checkedText, len(texts))
	for i, text := range texts {
		found := cage.Check(text)
		all[i] = checkedText{Text: text, Barred: len(found) > 0, Violations: found}
	}
	return all
}

// checked reports what bars each text. The only error is that something is barred.
func checked(app *cli.App, rules policy.Rules, all []checkedText) error {
	barred := 0
	t := cli.NewTable("TEXT,right,drop=2", "RULE", "WHAT,flex,under,least=24", "WHERE,flex,under,least=24")
	for i, one := range all {
		if one.Barred {
			barred++
		}
		for _, v := range one.Violations {
			t.Add(strconv.Itoa(i+1), v.Rule, v.What, v.Where)
		}
	}
	if app.Json {
		if err := app.Answer(map[string]any{"texts": all, "barred": barred}); err != nil {
			return err
		}
	} else if barred > 0 {
		app.Draw(t)
	} else {
		app.Say("Nothing bars %s.",
			map[bool]string{true: "it", false: cli.Count(len(all), "text")}[len(all) == 1])
	}
	if n := len(rules.Sentences); n > 0 {
		app.Note("%s in words not checked; only the observer can judge by %s.", cli.Count(n, "rule"),
			map[bool]string{true: "it", false: "them"}[n == 1])
	}
	if barred > 0 {
		return exit.Refusedf("the policy bars %s of %d", cli.Count(barred, "text"), len(all))
	}
	return nil
}
