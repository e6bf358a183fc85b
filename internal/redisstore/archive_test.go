package redisstore_test

import (
	"testing"

	"github.com/seed-56a03226/oneiros/internal/memory/memorytest"
)

func TestTheStoreIsMovedWithNothingLost(t *testing.T) {
	t.Parallel()
	empty := func(t *testing.T) memorytest.ArchiveStore { return fresh(t) }
	memorytest.RunArchive(t, empty, empty)
}
