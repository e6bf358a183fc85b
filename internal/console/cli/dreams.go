package cli

import (
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Style returns how lines of an agent are printed.
func (app *App) Style(a dream.Agent) screen.Style {
	return screen.Style{Colour: app.Colour, Width: app.Width, Zone: Location(a.Zone)}
}
