package agentcmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

// agentFlags are the settings of an agent that a command line may set.
type agentFlags struct {
	handle, persona, zone, tier, feed string
	interests, models                 []string
	dream, day, month                 string
	vitality, review                  string
	auto                              bool
}

func addAgentFlags(app *cli.App, cmd *cobra.Command) *agentFlags {
	f := &agentFlags{}
	fs := cmd.Flags()
	fs.StringVar(&f.persona, "persona", "", "who it is, in a `sentence` or two")
	fs.StringArrayVar(&f.interests, "interest", nil, "a `subject` it cares about (repeat for more)")
	fs.StringVar(&f.zone, "zone", "", "IANA time `zone`; its day, and its money's day, follow it")
	fs.StringVar(&f.tier, "tier", "", "core (one call, about $0.001) or hardened (everything)")
	fs.StringArrayVar(&f.models, "model", nil,
		"a model of its own for a role, as in observer=house/small; `role=` removes it (repeat for more)")
	fs.StringVar(&f.dream, "cap-dream", "", "hard cap of one dream, in `dollars`")
	fs.StringVar(&f.day, "cap-day", "", "hard cap of a day, in `dollars`")
	fs.StringVar(&f.month, "cap-month", "", "hard cap of a month, in `dollars`")
	fs.StringVar(&f.feed, "feed", "", "`name` of the feed whose alarms wake it; empty: none")
	fs.StringVar(&f.vitality, "vitality", "",
		"its vitality, a `share` from 0 to 1, whatever it has spent; caps: what is left under its caps")
	fs.StringVar(&f.review, "review", "",
		"what becomes of what its dreams leave behind: auto, review or journal-only; empty: as agent.review says")
	view.Completes(app, cmd, "review", view.Fixed(dream.Reviews))
	fs.BoolVar(&f.auto, "auto", false, "dream by itself when idle")
	view.Completes(app, cmd, "feed", view.With(app, view.FeedNames))
	view.Completes(app, cmd, "vitality", view.Fixed([]string{"caps"}))
	_ = cmd.RegisterFlagCompletionFunc("tier",
		cobra.FixedCompletions([]string{string(dream.Core), string(dream.Hardened)},
			cobra.ShellCompDirectiveNoFileComp))
	return f
}

// apply sets the fields whose flags were given and leaves the rest.
func (f *agentFlags) apply(cmd *cobra.Command, a *dream.Agent) error {
	var faults []error
	set := func(flag string, do func() error) {
		if cmd.Flags().Changed(flag) {
			if err := do(); err != nil {
				faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
			}
		}
	}
	text := func(flag string, field *string, value string) {
		set(flag, func() error { *field = strings.TrimSpace(value); return nil })
	}
	cap := func(flag string, field *budget.Micros, value string) {
		set(flag, func() (err error) { *field, err = budget.ParseMicros(value); return err })
	}
	text("handle", &a.Handle, f.handle)
	text("persona", &a.Persona, f.persona)
	text("zone", &a.Zone, f.zone)
	set("feed", func() error { return f.applyFeed(a) })
	set("vitality", func() error { return f.applyVitality(a) })
	set("tier", func() error { a.Tier = dream.Tier(f.tier); return nil })
	set("review", func() error { return f.applyReview(a) })
	set("auto", func() error { a.Auto = f.auto; return nil })
	set("interest", func() error { a.Interests = nonBlank(f.interests); return nil })
	cap("cap-dream", &a.Caps.Dream, f.dream)
	cap("cap-day", &a.Caps.Day, f.day)
	cap("cap-month", &a.Caps.Month, f.month)
	set("model", func() error { return f.applyModels(a) })
	return errors.Join(faults...)
}

// applyFeed sets the feed whose alarms wake the agent; blank for none.
func (f *agentFlags) applyFeed(a *dream.Agent) error {
	a.Feed = strings.TrimSpace(f.feed)
	if a.Feed == "" {
		return nil
	}
	return alarm.ValidateName(a.Feed)
}

// applyVitality sets the agent's own bound on the depth of dreams, or removes it, so that the caps bound the depth.
func (f *agentFlags) applyVitality(a *dream.Agent) error {
	if f.vitality == "caps" {
		a.Vitality = nil
		return nil
	}
	v, err := strconv.ParseFloat(f.vitality, 64)
	if err != nil {
		return fmt.Errorf("%q must be a number from 0 to 1, or caps", f.vitality)
	}
	a.Vitality = &v
	return nil
}

// applyReview sets how the results of the agent's dreams are reviewed; blank for the configured way.
func (f *agentFlags) applyReview(a *dream.Agent) error {
	a.Review = dream.Review(strings.TrimSpace(f.review))
	if !a.Review.Valid() {
		return fmt.Errorf("%q must be one of %s", f.review, cli.Listed(dream.Reviews))
	}
	return nil
}

func (f *agentFlags) applyModels(a *dream.Agent) error {
	models := map[dream.Role]string{}
	for role, model := range a.Models {
		models[role] = model
	}
	for _, line := range f.models {
		role, model, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("%q must be role=provider/model, such as observer=house/small", line)
		}
		if model == "" {
			delete(models, dream.Role(role))
			continue
		}
		models[dream.Role(role)] = model
	}
	a.Models = models
	if len(models) == 0 {
		a.Models = nil
	}
	return nil
}

func nonBlank(list []string) []string {
	var kept []string
	for _, s := range list {
		s = strings.TrimSpace(s)
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}
