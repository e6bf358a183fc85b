package memorycmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/importer"
)

func memoryEmbed(app *cli.App) *cobra.Command {
	var estimate, yes bool
	cmd := &cobra.Command{
		Use: "embed", Short: "Place a memory in the space of its agent's embedder, after a change of embedder",
		Long: `Embed gives every live memory that lacks one a vector of its agent's embedder.

After a change of embedder the new vectors are collected beside the old ones, in which the memory is
searched until all are there; then the agent moves to the new ones in one step and the old ones are
dropped. Whatever interrupts it, the same command goes on from there and pays for nothing twice. What
it costs counts against the agent's day.`,
	}
	cmd.Flags().BoolVar(&estimate, "estimate", false, "say what it may cost and stop")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree to the estimate without being asked")
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		p, err := planPlacing(ctx, app, a)
		if err != nil {
			return err
		}
		if estimate {
			return showPlacing(app, p)
		}
		if err := mayMove(ctx, app, a, p); err != nil {
			return err
		}
		if !p.Free && p.Worst > app.ConfirmAbove {
			if err := app.Confirm(yes,
				fmt.Sprintf("Placing %s of %s with %s may cost up to %s", p.memories(), a.Handle, p.Model,
					p.Worst)); err != nil {
				return err
			}
		}
		return embedMemory(ctx, app, a, p)
	})
}

// placing is what is to be embedded, by which embedder, and what it may cost.
type placing struct {
	Agent    string        `json:"agent"`
	Model    string        `json:"model"`
	From     string        `json:"from"`
	To       string        `json:"to"` // empty until the embedder has named its space
	Memories int           `json:"memories"`
	Free     bool          `json:"free"`
	Worst    budget.Micros `json:"worst_micros"`

	embedder importer.Embedder
}

func (p placing) memories() string { return cli.Plural(p.Memories, "memory", "memories") }

// planPlacing adds up what the spend guard will reserve for each call.
func planPlacing(ctx context.Context, app *cli.App, a dream.Agent) (placing, error) {
	p := placing{Agent: a.Handle, Model: view.ModelOf(app, a, dream.Embedder)}
	spec, err := app.Catalog.Lookup(p.Model)
	if err != nil {
		return p, exit.AsUsage(fmt.Errorf("embedder of %s: %w", a.Handle, err))
	}
	if !spec.Embeds {
		return p,
			exit.Usagef(
				"model %s of %s is no embedder; name one with oneiros agents edit %s --model embedder=provider/model",
				p.Model, a.Handle, a.Handle)
	}
	if spec.Price == nil {
		return p, exit.Refusedf("model %s has no price; state one under providers.%s.models", p.Model, spec.Provider)
	}
	p.embedder = importer.Embedder{
		Embed: app.Embed.For(a, p.Model),
		Makes: spec.Makes,
	}
	u, err := importer.Survey(ctx, app.Store, a, p.embedder)
	if err != nil {
		return p, err
	}
	p.From, p.To, p.Memories = u.From, u.To, u.Count()
	for _, texts := range u.Calls {
		r := inference.Request{Model: p.Model}
		for _, text := range texts {
			r.Messages = append(r.Messages, inference.Message{Content: text})
		}
		p.Worst += spec.Price.Worst(inference.CountPrompt(spec, r), 0)
	}
	p.Free = p.Worst == 0
	return p, nil
}

// mayMove refuses a change of embedder while a dream is interrupted: the dream measures in the old space and could
// not be resumed in another.
func mayMove(ctx context.Context, app *cli.App, a dream.Agent, p placing) error {
	if p.From == "" || p.From == p.To {
		return nil
	}
	waits, err := view.Resumable(ctx, app, a)
	if err != nil || waits == nil {
		return err
	}
	return exit.Errorf(
		exit.Failure,
		"dream %s was woken and waits to go on, and could not measure with another embedder; let it go on with oneiros dreams resume %s, or end it with oneiros dreams cancel %s",
		waits.ID,
		waits.ID,
		waits.ID,
	)
}

func showPlacing(app *cli.App, p placing) error {
	switch {
	case app.Json:
		return app.Answer(p)
	case p.Memories == 0 && p.To == p.From:
		sayPlaced(app, p.Agent, p.Model)
	case p.Memories == 0:
		app.Say("Every memory of %s is placed by %s; what is left is the move from %s to %s, which costs nothing.",
			p.Agent, p.Model, p.From, p.To)
	case p.Free:
		app.Say("%s of %s would be placed by %s, which costs nothing.", p.memories(), p.Agent, p.Model)
	default:
		app.Say("%s of %s would be placed by %s, for at most %s.", p.memories(), p.Agent, p.Model, p.Worst)
	}
	return nil
}

func sayPlaced(app *cli.App, agent, model string) {
	app.Say("Every memory of %s has its place in the space of %s already.", agent, model)
}

// embedMemory embeds memories, changes the space, and reports how far it came.
func embedMemory(ctx context.Context, app *cli.App, a dream.Agent, p placing) error {
	bar := newMeter(app, "placing")
	moved, err := embedWorker(app).Embed(ctx, a, p.embedder, bar.move)
	bar.done()
	again := "oneiros memory embed --agent " + a.Handle
	var held *importer.EmbedHeld
	switch {
	case errors.As(err, &held):
		return exit.Errorf(exit.Failure, "%w; look again with oneiros agents show %s", held, a.Handle)
	case errors.Is(err, memory.ErrTaken):
		return exit.Errorf(exit.Failure,
			"%s is dreaming and measures in the old space; everything is placed, so run %s again when it has woken",
			a.Handle, again)
	case err != nil && moved.Placed > 0:
		return fmt.Errorf("%w\n%s placed and kept; %s goes on from there", err,
			cli.Plural(moved.Placed, "memory is", "memories are"), again)
	case err != nil:
		return err
	case app.Json:
		return app.Answer(struct {
			Agent string `json:"agent"`
			Model string `json:"model"`
			importer.ReembedResult
		}{a.Handle, p.Model, moved})
	case moved.Placed == 0 && moved.From == moved.To:
		sayPlaced(app, a.Handle, p.Model)
	case moved.From == moved.To || moved.From == "":
		app.Say("%s of %s placed by %s, in space %s.", cli.Plural(moved.Placed, "memory", "memories"), a.Handle,
			p.Model, moved.To)
	default:
		app.Say("%s has moved from space %s to %s: %s placed by %s.", a.Handle, moved.From, moved.To,
			cli.Plural(moved.Placed, "memory", "memories"), p.Model)
	}
	return nil
}
