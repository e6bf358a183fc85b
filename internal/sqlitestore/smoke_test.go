package sqlitestore

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/purse"
)

func TestSmoke(t *testing.T) {
	for _, path := range []string{":memory:", filepath.Join(t.TempDir(), "a", "x y?#%.db")} {
		ctx := context.Background()
		s, err := Open(ctx, path)
		require.NoError(t, err)
		now := time.Now().UTC()
		var items []dream.Item
		var vs []memory.Vector
		for i := range 100 {
			id := fmt.Sprint("e", i)
			items = append(items, &dream.Episode{Head: dream.Head{ID: id, Agent: "a", Kind: dream.KindEpisode, At: now.Add(time.Duration(i)), State: dream.Live}, Content: fmt.Sprint("content ", i), Salience: float64(i) / 100})
			vs = append(vs, memory.Vector{Item: id, Space: "s", V: []float32{float32(i), 1, 2}})
		}
		r, err := s.Commit(ctx, memory.Write{Agent: "a", Cause: "import", Add: items, Vectors: vs})
		require.NoError(t, err)
		require.Equal(t, 100, r.Added)
		got, err := s.Find(ctx, memory.Query{Agent: "a", Order: memory.MostSalient, SalientFrom: .5, Limit: 7})
		require.NoError(t, err)
		require.Len(t, got, 7)
		require.Equal(t, "e99", got[0].Header().ID)
		hits, err := s.Near(ctx, "a", "s", []float32{50, 1, 2}, 3)
		require.NoError(t, err)
		require.Equal(t, "e50", hits[0].Item)
		h, err := s.Reserve(ctx, purse.Ask{Step: "x", Dream: "d", Amount: 10, Accounts: []budget.Account{{Scope: "q", Limit: 15}}})
		require.NoError(t, err)
		require.NoError(t, s.Settle(ctx, h, purse.Bill{State: purse.Settled, Amount: 7}))
		_, err = s.Reserve(ctx, purse.Ask{Step: "x", Dream: "d", Amount: 10, Accounts: []budget.Account{{Scope: "q", Limit: 15}}})
		_, ok := purse.AsOverCap(err)
		require.True(t, ok)
		n, err := s.Forget(ctx, "a", "e50")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		u, err := s.Undo(ctx, "a", "import")
		require.NoError(t, err)
		require.Equal(t, 99, u.Archived)
		require.NoError(t, s.Close())
	}
}
