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

func TestTheRaceDetectsAStoreThatIgnoresEpochs(t *testing.T) {
	t.Parallel()
	err := presencetest.Race(t.Context(), 1, presencetest.Heedless(onFile(t)))
	require.ErrorContains(t, err, "wrote after")
}
