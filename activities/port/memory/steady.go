package memory

import (
	"context"
	"sync"
)

type steadyKey struct{}

// SteadySearches returns a context for many searches in a row: those that follow the first may find an agent's memory
// as the first found it. A search under any other context finds all that was written before it began.
func SteadySearches(ctx context.Context) context.Context {
	return context.WithValue(ctx, steadyKey{}, new(sync.Map))
}

// SteadyVersions is where a store keeps, by agent, which version of its memory the searches under a context find; nil
// where they are not steady.
func SteadyVersions(ctx context.Context) *sync.Map {
	versions, _ := ctx.Value(steadyKey{}).(*sync.Map)
	return versions
}
