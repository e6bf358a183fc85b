package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// embedded are the kinds that get a vector. A dream record has no text of its own, a marker's vector is that of its
// sources, and what a claim says is in the playbook once it holds.
var embedded = slices.DeleteFunc(slices.Clone(dream.Kinds), func(k dream.Kind) bool {
	return k == dream.KindRecord || k == dream.KindMarker || k == dream.KindProposal ||
		k == dream.KindClaim
})

// errUnnamedSpace is returned when vectors come without the name of their space.
var errUnnamedSpace = errors.New("the embedder does not name its space")

// embedItems gets the vectors of at most MaxEmbed items, all of one space.
func embedItems(ctx context.Context, embed Embed, items []dream.Item) ([]memory.Vector, error) {
	texts := textsOf(items)
	vectors, space, err := embed(ctx, texts)
	switch {
	case err != nil:
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	case len(vectors) != len(texts):
		return nil, fmt.Errorf("embed %d texts: the embedder gave %d vectors", len(texts), len(vectors))
	case space == "":
		return nil, errUnnamedSpace
	}
	out := make([]memory.Vector, len(items))
	for i, item := range items {
		out[i] = memory.Vector{Item: item.Header().ID, Space: space, V: vectors[i]}
	}
	return out, nil
}

func textsOf(items []dream.Item) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text()
		if strings.TrimSpace(texts[i]) == "" {
			texts[i] = string(item.Header().Kind) // an embedder has no vector for an empty text
		}
	}
	return texts
}
