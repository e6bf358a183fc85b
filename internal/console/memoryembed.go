package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) memoryEmbed() *cobra.Command {
	var estimate, yes bool
	cmd := &cobra.Command{
		Use: "embed", Short: "Place a memory in the space of its agent's embedder, after a change of embedder",
		Long: `Embed gives every live memory that lacks one a vector of its agent's embedder.

After a change of embedder the new vectors are collected beside the old ones, in which the memory is
searched until all are there; then the agent moves to the new ones in one step and the old ones are
dropped. Whatever interrupts it, the same command goes on from there and pays for nothing twice. What
it costs counts against the agent's day.`,
	}
	app.addAgentFlag(cmd)
	cmd.Flags().BoolVar(&estimate, "estimate", false, "say what it may cost and stop")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree to the estimate without being asked")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		p, err := planPlacing(cmd.Context(), h, a)
		if err != nil {
			return err
		}
		if estimate {
			return app.showPlacing(p)
		}
		if err := app.mayMove(cmd.Context(), h, a, p); err != nil {
			return err
		}
		if !p.Free && p.Worst > app.Dream.ConfirmAbove() {
			if err := app.confirm(yes,
				fmt.Sprintf("Placing %s of %s with %s may cost up to %s", p.memories(), a.Handle, p.Model,
					p.Worst)); err != nil {
				return err
			}
		}
		return app.embedMemory(cmd.Context(), h, a, p)
	}
	return cmd
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

func (p placing) memories() string { return plural(p.Memories, "memory", "memories") }

// planPlacing adds up what the spend guard will reserve for each call.
func planPlacing(ctx context.Context, h *Deployment, a dream.Agent) (placing, error) {
	p := placing{Agent: a.Handle, Model: modelOf(h, a, dream.Embedder)}
	spec, err := h.Catalog.Lookup(p.Model)
	if err != nil {
		return p, usage(fmt.Errorf("embedder of %s: %w", a.Handle, err))
	}
	if !spec.Embeds {
		return p,
			exit(Usage,
				"model %s of %s is no embedder; name one with oneiros agents edit %s --model embedder=provider/model",
				p.Model, a.Handle, a.Handle)
	}
	if spec.Price == nil {
		return p, exit(Refused, "model %s has no price; state one under providers.%s.models", p.Model, spec.Provider)
	}
	p.embedder = importer.Embedder{
		Embed: func(ctx context.Context, texts []string) ([][]float32, string, error) {
			return h.Embed(ctx, a, p.Model, texts)
		},
		Makes: spec.Makes,
	}
	u, err := importer.Survey(ctx, h.Store, a, p.embedder)
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
func (app *App) mayMove(ctx context.Context, h *Deployment, a dream.Agent, p placing) error {
	if p.From == "" || p.From == p.To {
		return nil
	}
	waits, err := app.resumable(ctx, h, a)
	if err != nil || waits == nil {
		return err
	}
	return exit(Failure,
		"dream %s was woken and waits to go on, and could not measure with another embedder; let it go on with oneiros dreams resume %s, or end it with oneiros dreams cancel %s",
		waits.ID, waits.ID, waits.ID)
}

// modelOf is the agent's model for a role: its own, or the configured one.
func modelOf(h *Deployment, a dream.Agent, role dream.Role) string {
	if name := a.Models[role]; name != "" {
		return name
	}
	return h.Roles[role]
}

func (app *App) showPlacing(p placing) error {
	switch {
	case app.json:
		return app.answer(p)
	case p.Memories == 0 && p.To == p.From:
		app.sayPlaced(p.Agent, p.Model)
	case p.Memories == 0:
		app.say("Every memory of %s is placed by %s; what is left is the move from %s to %s, which costs nothing.",
			p.Agent, p.Model, p.From, p.To)
	case p.Free:
		app.say("%s of %s would be placed by %s, which costs nothing.", p.memories(), p.Agent, p.Model)
	default:
		app.say("%s of %s would be placed by %s, for at most %s.", p.memories(), p.Agent, p.Model, p.Worst)
	}
	return nil
}

func (app *App) sayPlaced(agent, model string) {
	app.say("Every memory of %s has its place in the space of %s already.", agent, model)
}

// embedMemory embeds memories, changes the space, and reports how far it came.
func (app *App) embedMemory(ctx context.Context, h *Deployment, a dream.Agent, p placing) error {
	bar := app.meter("placing")
	moved, err := app.embedWorker(h).Embed(ctx, a, p.embedder, bar.move)
	bar.done()
	again := "oneiros memory embed --agent " + a.Handle
	var held *importer.EmbedHeld
	switch {
	case errors.As(err, &held):
		return exit(Failure, "%w; look again with oneiros agents show %s", held, a.Handle)
	case errors.Is(err, memory.ErrTaken):
		return exit(Failure,
			"%s is dreaming and measures in the old space; everything is placed, so run %s again when it has woken",
			a.Handle, again)
	case err != nil && moved.Placed > 0:
		return fmt.Errorf("%w\n%s placed and kept; %s goes on from there", err,
			plural(moved.Placed, "memory is", "memories are"), again)
	case err != nil:
		return err
	case app.json:
		return app.answer(struct {
			Agent string `json:"agent"`
			Model string `json:"model"`
			importer.Moved
		}{a.Handle, p.Model, moved})
	case moved.Placed == 0 && moved.From == moved.To:
		app.sayPlaced(a.Handle, p.Model)
	case moved.From == moved.To || moved.From == "":
		app.say("%s of %s placed by %s, in space %s.", plural(moved.Placed, "memory", "memories"), a.Handle, p.Model,
			moved.To)
	default:
		app.say("%s has moved from space %s to %s: %s placed by %s.", a.Handle, moved.From, moved.To,
			plural(moved.Placed, "memory", "memories"), p.Model)
	}
	return nil
}

// embedderOf is the embedder that serves an agent now.
func embedderOf(ctx context.Context, h *Deployment, a dream.Agent) (inference.Spec, error) {
	space, err := h.Store.Space(ctx, a.ID)
	if err != nil {
		return inference.Spec{}, err
	}
	return inference.EmbedderIn(h.Catalog, a.Models[dream.Embedder], h.Roles[dream.Embedder], space)
}

// Behind lists the agents without an embedder of their own whose memory was embedded in another space than the usual
// embedder's.
func Behind(ctx context.Context, store memory.Store, usual inference.Spec) ([]string, error) {
	agents, err := store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	var behind []string
	for _, a := range agents {
		if a.Models[dream.Embedder] != "" {
			continue
		}
		space, err := store.Space(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		if space != "" && !usual.Makes(space) {
			behind = append(behind, a.Handle)
		}
	}
	return behind, nil
}

// offerEmbedder says which agents could change to the usual embedder, and how. Errors are ignored: the checks of the
// store report them.
func (app *App) offerEmbedder(ctx context.Context, h *Deployment, only string) {
	usual, err := h.Catalog.Lookup(h.Roles[dream.Embedder])
	if err != nil {
		return
	}
	behind, err := Behind(ctx, h.Store, usual)
	if err != nil {
		return
	}
	for _, handle := range behind {
		if only == "" || only == handle {
			app.note(
				"The memory of %s was placed by another embedder than %s, and is still served by that one. To change over: oneiros memory embed --agent %s",
				handle, usual.Name, handle)
		}
	}
}

// noteOtherEmbedder warns that the named embedder is not the one of the agent's memories.
func (app *App) noteOtherEmbedder(ctx context.Context, h *Deployment, a dream.Agent) error {
	space, err := h.Store.Space(ctx, a.ID)
	if err != nil || space == "" {
		return err
	}
	if spec, err := h.Catalog.Lookup(modelOf(h, a, dream.Embedder)); err == nil && !spec.Makes(space) {
		app.note(
			"Its memories lie in space %s, which %s does not make. Before it can search or dream again: oneiros memory embed --agent %s",
			space, spec.Name, a.Handle)
	}
	return nil
}
