package memorycmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/importer"
)

// embedStore is a deployment's store with its queue of embedding jobs.
type embedStore struct {
	memory.Store
	memory.EmbedQueue
}

// embedWorker embeds memories in this process.
func embedWorker(app *cli.App) *importer.EmbedWorker {
	return &importer.EmbedWorker{Store: embedStore{app.Store, app.Jobs}, Holder: app.Holder, Now: app.Now}
}

// The states of embedding imported memories.
const (
	embedDone       = "done"
	embedBackground = "background" // a server does it
	embedStopped    = "stopped"    // interrupted, or the embedder failed; the rest is tried again
)

// embedOutcome is what became of the vectors of imported memories.
type embedOutcome struct {
	State    string `json:"state"`
	Embedded int    `json:"embedded"`     // by this command
	By       string `json:"by,omitempty"` // the process that continues
	Failure  string `json:"failure,omitempty"`
}

// embedImported gives imported memories their vectors: in the background when a server of this data folder runs and
// the embedder is not the quickest, else here, with a progress bar.
func embedImported(ctx context.Context, app *cli.App, a dream.Agent) (embedOutcome, error) {
	e := importer.Embedder{
		Embed: app.Embed.For(a, ""),
		Stay:  true,
	}
	if spec, err := view.EmbedderOf(ctx, app, a); err == nil {
		e.Makes = spec.Makes
		if app.Background != nil {
			if process, runs := app.Background(spec); runs {
				return embedOutcome{State: embedBackground, By: fmt.Sprintf("process %d", process)}, nil
			}
		}
	}
	bar := newMeter(app, "embedding")
	moved, err := embedWorker(app).Embed(ctx, a, e, bar.move)
	bar.done()
	var held *importer.EmbedHeld
	switch {
	case errors.As(err, &held):
		return embedOutcome{State: embedBackground, Embedded: moved.Placed, By: "process " + held.Job.Holder}, nil
	case err != nil:
		out := embedOutcome{State: embedStopped, Embedded: moved.Placed, Failure: err.Error()}
		return out,
			fmt.Errorf(
				"the memories are stored and found by their words; %s, and not all: %w\na server goes on with it, as does oneiros memory embed --agent %s",
				cli.Plural(moved.Placed, "is embedded", "are embedded"),
				err,
				a.Handle,
			)
	}
	return embedOutcome{State: embedDone, Embedded: moved.Placed}, nil
}

func reportEmbedded(app *cli.App, a dream.Agent, o embedOutcome) {
	switch {
	case o.State == embedBackground:
		app.Say(
			"They are found by their words; %s embeds them in the background. How far it is: oneiros agents show %s",
			o.By, a.Handle)
	case o.Embedded > 0:
		app.Say("%s embedded.", cli.Plural(o.Embedded, "memory is", "memories are"))
	}
}
