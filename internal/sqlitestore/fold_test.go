package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// The log is folded in the background, long before it reaches the length at which a writer would have to do it while
// others wait.
func TestTheLogIsFoldedIntoTheFileInTheBackground(t *testing.T) {
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
	const written = 512 << 8 // a lower bound
	require.Eventually(t, func() bool { return size(path) > written }, 10*time.Second, time.Millisecond,
		"the file contains the committed rows")
	require.Less(t, size(path+"-wal"), int64(8000*4096), "no writer had to fold the log")
}
