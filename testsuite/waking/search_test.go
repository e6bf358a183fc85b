package waking_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

// TestAnInterruptedSearchIsTheSameSearch wakes REM in each of its activities, in one dream, and compares every
// scenario, its parents, its score and what became of it, with those of an undisturbed dream.
func TestAnInterruptedSearchIsTheSameSearch(t *testing.T) {
	t.Parallel()
	server := temporal.Start(t, temporal.InMemory(), temporal.WithNamespaces("search-0", "search-1"))
	nights := 0
	apart := func() *temporal.Server {
		one := *server
		one.Namespace = fmt.Sprintf("search-%d", nights)
		nights++
		return &one
	}
	undisturbed := describeDream(t, apart())
	for _, activity := range []string{"rem/merge-4", "rem/refine-5", "rem/weigh-2"} {
		require.Contains(t, undisturbed, activity)
	}
	require.Equal(t, undisturbed, describeDream(
		t, apart(),
		wakeMoment{dream.REM, "branch-3", provider.HangMiddle},
		wakeMoment{dream.REM, "weigh", provider.HangMiddle},
		wakeMoment{dream.REM, "merge-4", provider.HangMiddle},
		wakeMoment{dream.REM, "refine-5", provider.HangFirst},
		wakeMoment{dream.REM, "weigh-2", provider.HangMiddle},
	))
}
