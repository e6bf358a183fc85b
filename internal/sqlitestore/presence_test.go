package sqlitestore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence/presencetest"
)

func TestTheStoreInMemoryKeepsTheContractOfPresence(t *testing.T) {
	t.Parallel()
	presencetest.Run(t, func(t *testing.T) presencetest.Store { return inMemory(t) })
}

func TestTheStoreOnAFileKeepsTheContractOfPresence(t *testing.T) {
	t.Parallel()
	presencetest.Run(t, func(t *testing.T) presencetest.Store { return onFile(t) })
}

func TestTwoHandlesOnOneFileAreOnePresence(t *testing.T) {
	t.Parallel()
	presencetest.RunShared(t, func(t *testing.T) (presencetest.Store, presencetest.Store) { return onOneFile(t) })
}

// A single race may end without a wake between two writes of a dream, on a machine that runs one after the other.
func TestTheRaceDetectsAStoreThatIgnoresEpochs(t *testing.T) {
	t.Parallel()
	var err error
	for seed := uint64(1); seed <= 30 && err == nil; seed++ {
		err = presencetest.Race(t.Context(), seed, presencetest.Heedless(onFile(t)))
	}
	require.ErrorContains(t, err, "wrote after")
}
