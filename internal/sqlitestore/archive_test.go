package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/seed-56a03226/oneiros/internal/memory/memorytest"
)

func TestTheStoreIsMovedWithNothingLost(t *testing.T) {
	t.Parallel()
	private := func(t *testing.T) memorytest.ArchiveStore { return open(t, ":memory:") }
	onFile := func(t *testing.T) memorytest.ArchiveStore { return open(t, filepath.Join(t.TempDir(), "oneiros.db")) }
	memorytest.RunArchive(t, onFile, private)
}
