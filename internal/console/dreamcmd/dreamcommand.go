package dreamcmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/starter"
)

// showEstimate prints the price of a dream before anything is spent.
func showEstimate(app *cli.App, e starter.Estimate) error {
	if app.Json {
		return app.Answer(e)
	}
	if e.Free {
		app.Say("A %s dream of %s: about %d calls to %s, which cost nothing. Nothing will be spent.", e.Tier, e.Agent,
			e.Calls, modelsOf(e))
		app.Say("%s", worthOf(e))
		return nil
	}
	app.Say("A %s dream of %s: about %d calls, about %s, never more than %s.", e.Tier, e.Agent, e.Calls, e.Expected,
		e.Cap)
	t := cli.NewTable("PHASE", "CALLS,right", "EXPECTED,right", "AT MOST,right", "CAP,right")
	for _, p := range e.Phases {
		t.Add(string(p.Phase), fmt.Sprint(p.Calls), cli.Money(p.Expected), cli.Money(p.Worst), p.Cap.String())
	}
	t.Total = []string{"all", fmt.Sprint(e.Calls), cli.Money(e.Expected), cli.Money(e.Worst), e.Cap.String()}
	app.Draw(t)
	app.Say("%s", worthOf(e))
	return nil
}

// worthOf says what is known of what each phase adds (docs/measurements/phases.md).
func worthOf(e starter.Estimate) string {
	for _, role := range dream.Roles {
		name := e.Models[role]
		if name != "" && !strings.HasPrefix(name, localmodel.Provider+"/") {
			return "What each phase adds with these models is not known; oneiros eval measures it."
		}
	}
	return "With the built-in model NREM adds to what comes true; of other phases no difference was seen."
}

// modelsOf lists each model once, in the order of the roles.
func modelsOf(e starter.Estimate) string {
	var names []string
	for _, role := range dream.Roles {
		if name := e.Models[role]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}
