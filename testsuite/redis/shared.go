package redis

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	common = sync.OnceValues(func() (*Server, error) {
		dir, err := os.MkdirTemp("", "oneiros-redis-")
		if err != nil {
			return nil, fmt.Errorf("make the folder of the shared redis-server: %w", err)
		}
		s := &Server{Dir: dir, litter: dir}
		return s, s.launch()
	})
	named atomic.Int64
)

// Shared returns the one server of this test program, started on first use. It ends with the program, and its folder
// is deleted; no test may end it.
func Shared(t testing.TB) *Server {
	t.Helper()
	skipShort(t)
	all, err := common()
	if err != nil {
		t.Fatal(err)
	}
	mine := *all
	mine.t = t
	return &mine
}

// Prefix is a prefix of keys that no other test of this program uses.
func Prefix(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("%s:%d:%d:", t.Name(), os.Getpid(), named.Add(1))
}
