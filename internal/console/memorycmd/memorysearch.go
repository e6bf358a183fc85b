package memorycmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

func memorySearch(app *cli.App) *cobra.Command {
	var kinds []string
	var n int
	var dreamt bool
	cmd := &cobra.Command{
		Use: "search TEXT", Short: "Find memories by words and meaning", Args: cobra.MinimumNArgs(1),
		Long: "Search finds what comes to the agent's mind, as in its talks: memories that share words with the text or are near in meaning.\n" +
			"What was dreamt is found with --dreamt, and labelled, or when --kind names a kind that only dreams make.",
	}
	cmd.Flags().StringSliceVarP(&kinds, "kind", "k", nil, "only these `kinds`")
	cmd.Flags().IntVarP(&n, "limit", "n", 10, "how `many`")
	cmd.Flags().BoolVar(&dreamt, "dreamt", false, "what was dreamt too")
	view.Completes(app, cmd, "kind", view.Fixed(dream.KindNames()))
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, args []string) error {
		q, err := (&view.ListFlags{Kinds: kinds}).Query(a, app.Now())
		if err != nil {
			return err
		}
		if n < 1 {
			return exit.Usagef("--limit is %d; it must be at least 1", n)
		}
		filter := memory.Filter{Kinds: q.Kinds, Dreamt: memory.PromotedDreamt}
		if len(kinds) == 0 {
			filter.Kinds = recall.Kinds
		}
		if dreamt && len(kinds) == 0 {
			filter.Kinds = slices.Concat(recall.Kinds, recall.DreamtKinds)
		}
		if dreamt || len(kinds) > 0 {
			filter.Dreamt = memory.AllDreamt
		}
		answer, err := recall.Find(ctx, app.Store, recall.Question{
			Agent:       a.ID,
			Text:        strings.Join(args, " "),
			Limit:       n,
			Filter:      filter,
			Embed:       questionEmbed(app, a),
			Calibration: calibrationOf(ctx, app, a),
			Now:         app.Now().In(cli.Location(a.Zone)),
		})
		if err != nil {
			return fmt.Errorf("search the memory of %s: %w", a.Handle, err)
		}
		if errors.Is(answer.EmbedError, memory.ErrSpace) {
			return fmt.Errorf("search the memory of %s: %w; place it anew with oneiros memory embed --agent %s",
				a.Handle, answer.EmbedError, a.Handle)
		}
		if answer.EmbedError != nil {
			app.Note("Searched by words alone: %v.", answer.EmbedError)
		}
		var used []string // recalled knowledge keeps its strength
		for _, m := range answer.Memories {
			if h := m.Item.Header(); h.Kind == dream.KindSemantic {
				used = append(used, h.ID)
			}
		}
		if err := memory.NoteUse(ctx, app.Store, a.ID, app.Now(), used...); err != nil {
			return err
		}
		return showFound(app, a, answer.Memories)
	})
}

// questionEmbed returns how to embed a question for an agent whose memories have vectors.
func questionEmbed(app *cli.App, a dream.Agent) recall.Embed {
	return func(ctx context.Context, text string) ([]float32, string, error) {
		own, err := app.Store.Space(ctx, a.ID)
		if err != nil || own == "" {
			return nil, "", err
		}
		vectors, space, err := app.Embed(ctx, a, "", []string{text})
		if err != nil {
			return nil, "", fmt.Errorf("place the words in the agent's space: %w", err)
		}
		if space != own {
			return nil, "",
				fmt.Errorf("the embedder answers in %s and the memory lies in %s: %w", space, own, memory.ErrSpace)
		}
		return vectors[0], space, nil
	}
}

// calibrationOf is the calibration of the agent's embedder, from the catalogue or as measured; zero when there is
// none.
func calibrationOf(ctx context.Context, app *cli.App, a dream.Agent) inference.Calibration {
	spec, err := view.EmbedderOf(ctx, app, a)
	if err != nil {
		return inference.Calibration{}
	}
	existing, _ := (&spend.Guard{Ledger: app.Ledger, Catalog: app.Catalog}).Calibration(ctx, spec.Name)
	return existing
}

// found is a recalled memory with its item.
type found struct {
	Score  float64    `json:"score"`
	Cosine float64    `json:"cosine"`
	Item   dream.Item `json:"item"`
}

func showFound(app *cli.App, a dream.Agent, memories []recall.Memory) error {
	t := cli.NewTable("SCORE,right", "ID,flex,least=30", "WHEN,drop=1", "KIND", "TEXT,flex")
	list := []found{}
	for _, m := range memories {
		head := m.Item.Header()
		kind := head.Kind.String()
		if head.Dreamt() {
			kind += ", " + psyche.DreamtLabel
		}
		list = append(list, found{Score: m.Score, Cosine: m.Cosine, Item: m.Item})
		t.Add(cli.Score(m.Score), cli.Short(head.ID, a), cli.When(m.At, a.Zone), kind, m.Item.Text())
	}
	return app.Rows(list, t, "%s remembers nothing like it.", a.Handle)
}
