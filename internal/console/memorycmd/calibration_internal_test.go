package memorycmd

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// apart is an embedder that places each text in a direction of its own, and its rewordings near it.
type apart struct{ inference.Model }

func (apart) Embed(_ context.Context, _ string, texts []string, _ string) (inference.Vectors, error) {
	out := inference.Vectors{Space: "p/model/64", UsageFrom: inference.ByProvider}
	for i := range texts {
		v := make([]float32, 64)
		v[i/3] = 1
		if i%3 == 1 {
			v[63] = .8
		}
		out.V = append(out.V, v)
		out.Tokens.In += 8
	}
	return out, nil
}

func TestASearchGoesByTheCalibrationThatTheDeploymentMeasured(t *testing.T) {
	t.Parallel()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "oneiros.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	catalog := inference.Table{"p/model": {Name: "p/model", Provider: "p", Price: &budget.Price{}, Embeds: true}}
	h := &deploy.Deployment{Store: store, Ledger: store.Ledger(), Catalog: catalog}
	a := dream.Agent{ID: "a", Models: map[dream.Role]string{dream.Embedder: "p/model"}}
	require.Equal(t, inference.Cautious, calibrationOf(t.Context(), &cli.App{Deployment: h}, a))
	payer := &spend.Guard{Ledger: store.Ledger(), Catalog: catalog, Model: apart{}, Now: time.Now}
	charge := spend.Charge{
		Dream: "talk/a", Agent: "a", Phase: "talk", Day: "2026-10-19",
		Accounts: []budget.Account{{Scope: "day:a", Limit: budget.Unlimited}},
	}
	measured, err := payer.Calibrate(t.Context(), charge, "p/model")
	require.NoError(t, err)
	require.Equal(t, measured, calibrationOf(t.Context(), &cli.App{Deployment: h}, a))
}
