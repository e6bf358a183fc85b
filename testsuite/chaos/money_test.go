package chaos_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

func TestMoneyHoldsUnderFaultsAndKills(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(max(4, faultyDreams/20))*patience)
	defer cancel()
	run := chaos.Run{
		Seed:    seed,
		Dreams:  faultyDreams,
		AtOnce:  8,
		Workers: 3,
		Share:   .12,
		Kill:    50,

		JudgeDaily: 2_000,
	}
	if run.Dreams >= 200 {
		run.AtOnce = 16
	}
	evidence, figures, err := run.Execute(ctx, t)
	t.Log("\n" + figures.String())
	require.NoError(t, err)
	require.NoError(t, evidence.Audit())
	require.NoError(t, evidence.AuditOnce())
	caught, err := evidence.AuditPartials()
	require.NoError(t, err)
	require.Zero(t, caught.Twins, "no worker was frozen, yet calls were made twice at once")
	t.Logf("partials: %d captured, %d discarded, %d answered and cut off", caught.Captured, caught.Discarded,
		caught.Cuts)
	require.Equal(t, run.Dreams, figures.Dreams)
	require.GreaterOrEqual(t, figures.Share(), .3, "too few dreams ended on a cap to prove anything")
	require.Greater(t, 2*figures.Equal, figures.Whole, "too few calls were settled at what they cost to prove anything")
	require.Positive(t, figures.Kills)
	require.NotEmpty(t, figures.Faults)
	require.Subset(t, slices.Collect(maps.Keys(figures.Ways)),
		[]dream.Loosening{dream.ByTemperatureMinP, dream.Verbalised, dream.TwoPhase}, "every way of loosening")
	require.Len(t, figures.Judged, 2, "the observer is called in both ways")
	require.Len(t, figures.HookCalls, len(activities.Borders), "the hook is called at every border")
	require.Positive(t, figures.Barred["hook"], "fragments are held")
	require.Positive(t, figures.Judge.Calls, "predictions are judged")
	require.Positive(t, figures.Judge.Right, "and some resolved")
}

// The same run without reservations, or with doubled settlements, must turn the same audit red, or the audit proves
// nothing.

func TestMoneyProofTurnsRedWithoutReservations(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run := chaos.Run{
		Seed:    seed,
		Dreams:  8,
		AtOnce:  4,
		Workers: 2,
		Edit:    func(p *testdeploy.Config) { p.NoReserve = true },
	}
	evidence, figures, err := run.Execute(ctx, t)
	t.Log("\n" + figures.String())
	require.NoError(t, err)
	var exceeded *chaos.Exceeded
	require.ErrorAs(t, evidence.Audit(), &exceeded)
	t.Log(exceeded)
}

func TestMoneyProofTurnsRedWhenSettlementsAreDoubled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run := chaos.Run{
		Seed:    seed,
		Dreams:  4,
		AtOnce:  4,
		Workers: 2,
		Edit:    func(p *testdeploy.Config) { p.Doubled = true },
	}
	evidence, figures, err := run.Execute(ctx, t)
	t.Log("\n" + figures.String())
	require.NoError(t, err)
	var unequal *chaos.Unequal
	require.ErrorAs(t, evidence.Audit(), &unequal)
	t.Log(unequal)
}
