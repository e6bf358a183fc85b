package console

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) memorySearch() *cobra.Command {
	var kinds []string
	var n int
	cmd := &cobra.Command{Use: "search TEXT", Short: "Find the memories nearest in meaning", Args: cobra.MinimumNArgs(1)}
	app.whose(cmd)
	cmd.Flags().StringSliceVarP(&kinds, "kind", "k", nil, "only these `kinds`")
	cmd.Flags().IntVarP(&n, "limit", "n", 10, "how `many`")
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
		vectors, space, err := h.Embed(cmd.Context(), a, []string{strings.Join(args, " ")})
		if err != nil {
			return fmt.Errorf("place the words in the agent's space: %w", err)
		}
		hits, err := h.Store.Near(cmd.Context(), memory.Near{Agent: a.ID, Space: space, V: vectors[0], Limit: n, Filter: memory.Filter{Kinds: q.Kinds}})
		if errors.Is(err, memory.ErrSpace) {
			return fmt.Errorf("search the memory of %s: %w; place it anew with oneiros memory embed --agent %s", a.Handle, err, a.Handle)
		}
		if err != nil {
			return fmt.Errorf("search the memory of %s: %w", a.Handle, err)
		}
		return app.showHits(cmd, h, a, hits)
	}
	return cmd
}

// found is a hit with what was hit.
type found struct {
	Cosine float64    `json:"cosine"`
	Item   dream.Item `json:"item"`
}

func (app *App) showHits(cmd *cobra.Command, h *House, a dream.Agent, hits []memory.Hit) error {
	t := &table{columns: []column{{title: "NEAR", right: true}, idColumn(), {title: "WHEN", drop: 1}, {title: "KIND"}, {title: "TEXT", flex: true}}}
	list := []found{}
	for _, hit := range hits {
		items, err := h.Store.Get(cmd.Context(), a.ID, hit.Item)
		if err != nil {
			return err
		}
		for _, item := range items {
			head := item.Header()
			list = append(list, found{Cosine: hit.Cosine, Item: item})
			t.add(score(hit.Cosine), short(head.ID, a), when(head.At, a.Zone), string(head.Kind), item.Text())
		}
	}
	return app.rows(list, t, "%s remembers nothing with a place in this space; place it with oneiros memory embed.", a.Handle)
}
