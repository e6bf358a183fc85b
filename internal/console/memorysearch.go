package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/recall"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

func (app *App) memorySearch() *cobra.Command {
	var kinds []string
	var n int
	var dreamt bool
	cmd := &cobra.Command{
		Use: "search TEXT", Short: "Find memories by words and meaning", Args: cobra.MinimumNArgs(1),
		Long: "Search finds what comes to the agent's mind, as in its talks: memories that share words with the text or are near in meaning.\n" +
			"What was dreamt is found with --dreamt, and labelled, or when --kind names a kind that only dreams make.",
	}
	app.addAgentFlag(cmd)
	cmd.Flags().StringSliceVarP(&kinds, "kind", "k", nil, "only these `kinds`")
	cmd.Flags().IntVarP(&n, "limit", "n", 10, "how `many`")
	cmd.Flags().BoolVar(&dreamt, "dreamt", false, "what was dreamt too")
	app.completes(cmd, "kind", fixed(dream.Kinds))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, a, err := app.agentOf(cmd)
		if err != nil {
			return err
		}
		q, err := (&listFlags{kinds: kinds}).query(a, app.Now())
		if err != nil {
			return err
		}
		if n < 1 {
			return exit(Usage, "--limit is %d; it must be at least 1", n)
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
		answer, err := recall.Find(cmd.Context(), h.Store, recall.Question{
			Agent:       a.ID,
			Text:        strings.Join(args, " "),
			Limit:       n,
			Filter:      filter,
			Embed:       questionEmbed(h, a),
			Calibration: calibrationOf(cmd.Context(), h, a),
			Now:         app.Now().In(location(a.Zone)),
		})
		if err != nil {
			return fmt.Errorf("search the memory of %s: %w", a.Handle, err)
		}
		if errors.Is(answer.ByWords, memory.ErrSpace) {
			return fmt.Errorf("search the memory of %s: %w; place it anew with oneiros memory embed --agent %s",
				a.Handle, answer.ByWords, a.Handle)
		}
		if answer.ByWords != nil {
			app.note("Searched by words alone: %v.", answer.ByWords)
		}
		var used []string // recalled knowledge keeps its strength
		for _, m := range answer.Memories {
			if h := m.Item.Header(); h.Kind == dream.KindSemantic {
				used = append(used, h.ID)
			}
		}
		if err := memory.NoteUse(cmd.Context(), h.Store, a.ID, app.Now(), used...); err != nil {
			return err
		}
		return app.showFound(a, answer.Memories)
	}
	return cmd
}

// questionEmbed returns how to embed a question for an agent whose memories have vectors.
func questionEmbed(h *Deployment, a dream.Agent) recall.Embed {
	return func(ctx context.Context, text string) ([]float32, string, error) {
		own, err := h.Store.Space(ctx, a.ID)
		if err != nil || own == "" {
			return nil, "", err
		}
		vectors, space, err := h.Embed(ctx, a, "", []string{text})
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
func calibrationOf(ctx context.Context, h *Deployment, a dream.Agent) inference.Calibration {
	spec, err := embedderOf(ctx, h, a)
	if err != nil {
		return inference.Calibration{}
	}
	existing, _ := (&spend.Guard{Ledger: h.Ledger, Catalog: h.Catalog}).Calibration(ctx, spec.Name)
	return existing
}

// found is a recalled memory with its item.
type found struct {
	Score  float64    `json:"score"`
	Cosine float64    `json:"cosine"`
	Item   dream.Item `json:"item"`
}

func (app *App) showFound(a dream.Agent, memories []recall.Memory) error {
	t := &table{
		columns: []column{
			{title: "SCORE", right: true},
			idColumn(),
			{title: "WHEN", drop: 1},
			{title: "KIND"},
			{title: "TEXT", flex: true},
		},
	}
	list := []found{}
	for _, m := range memories {
		head := m.Item.Header()
		kind := string(head.Kind)
		if head.Dreamt() {
			kind += ", " + psyche.DreamtLabel
		}
		list = append(list, found{Score: m.Score, Cosine: m.Cosine, Item: m.Item})
		t.add(score(m.Score), short(head.ID, a), when(m.At, a.Zone), kind, m.Item.Text())
	}
	return app.rows(list, t, "%s remembers nothing like it.", a.Handle)
}
