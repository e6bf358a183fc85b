package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// No writer is made to fold the log while others wait: it is folded beside them, long before it is as long as it may
// become.
func TestTheLogIsFoldedIntoTheFileBesideThoseWhoWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	s := open(t, path)
	size := func(name string) int64 {
		info, err := os.Stat(name)
		require.NoError(t, err)
		return info.Size()
	}
	for i := range 512 {
		_, err := s.Commit(t.Context(),
			memory.Write{
				Agent: echo, Cause: "import",
				Add: []dream.Item{episode(fmt.Sprint(i), "the tide went out over glass")},
			})
		require.NoError(t, err)
	}
	const written = 512 << 8 // at the very least
	require.Eventually(t, func() bool { return size(path) > written }, 10*time.Second, time.Millisecond,
		"the file holds what was committed")
	require.Less(t, size(path+"-wal"), int64(8000*4096), "which no writer did")
}
