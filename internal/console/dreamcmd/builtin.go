package dreamcmd

import (
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

// announce warns when some of a dream will be written by the built-in model, and by which parts.
func announce(app *cli.App, a dream.Agent) {
	models := map[dream.Role]string{}
	for _, role := range dream.Roles {
		models[role] = view.ModelOf(app, a, role)
	}
	switch own, all := builtIn(app, models); {
	case all:
		app.Note("%s dreams with the built-in model, for trying things out.", a.Handle)
	case len(own) > 0:
		app.Note("Some of this dream is of the built-in model, for trying things out: the words of %s.",
			strings.Join(own, " and "))
	}
}

// builtIn lists the roles that the built-in model serves, in the order of roles; all is true when no other model
// writes anything. The embedder writes no text, so it does not count.
func builtIn(app *cli.App, models map[dream.Role]string) (own []string, all bool) {
	speaking := 0
	for _, role := range dream.Roles {
		if role == dream.Embedder || models[role] == "" {
			continue
		}
		speaking++
		if spec, err := app.Catalog.Lookup(models[role]); err == nil && spec.BuiltIn {
			own = append(own, string(role))
		}
	}
	return own, speaking > 0 && len(own) == speaking
}
