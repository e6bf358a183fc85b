package temporal

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// sharedNamespaces are made ready when the shared server starts: one made later would not know our search attributes
// until every part of the server had refreshed its cache. Each costs about 1 MiB.
const sharedNamespaces = 96

var (
	common = sync.OnceValues(func() (*Server, error) {
		p := plan{ui: "-1", memory: true}
		for i := range sharedNamespaces {
			p.namespaces = append(p.namespaces, fmt.Sprintf("test-%02d", i))
		}
		s := &Server{plan: p, shared: true}
		return s, s.launch("0")
	})
	taken atomic.Int64
	named atomic.Int64
)

// Shared returns the one in-memory server of this test program, with a namespace and a task queue for t. It is
// started on first use and ends with the program; no test may end it. After 96 tests the namespaces are used again,
// the task queues never are.
func Shared(t testing.TB) *Server {
	t.Helper()
	skipShort(t)
	all, err := common()
	if err != nil {
		t.Fatal(err)
	}
	mine := *all
	mine.t = t
	mine.Namespace = all.plan.namespaces[(taken.Add(1)-1)%sharedNamespaces]
	mine.TaskQueue = uniqueName(t)
	return &mine
}

// uniqueName is the test's name, readable in the UI, with a number no other test of this program has.
func uniqueName(t testing.TB) string {
	return fmt.Sprintf("%s-%d-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid(), named.Add(1))
}
