package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// load is the CPU time used so far, in milliseconds (Linux: clock ticks of 10 ms).
type load struct {
	busy, all float64         // of the host, all cores together
	of        map[int]float64 // by process: this one and its children
}

// readLoad reads the load of the host and of this program's processes.
func readLoad(tb testing.TB) load {
	tb.Helper()
	body, err := os.ReadFile("/proc/stat")
	require.NoError(tb, err)
	line, _, _ := strings.Cut(string(body), "\n")
	l := load{of: map[int]float64{}}
	for i, field := range strings.Fields(line)[1:9] { // user, nice, system, idle, iowait, irq, softirq, steal
		ticks, err := strconv.ParseFloat(field, 64)
		require.NoError(tb, err)
		l.all += 10 * ticks
		if i != 3 && i != 4 {
			l.busy += 10 * ticks
		}
	}
	for _, pid := range append(children(tb), os.Getpid()) {
		l.of[pid] = cpu(tb, pid)
	}
	return l
}

// children are the processes that this one has started: server, provider, Redis and workers.
func children(tb testing.TB) []int {
	tb.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", os.Getpid()))
	require.NoError(tb, err)
	var pids []int
	for _, list := range lists {
		body, err := os.ReadFile(list)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(tb, err)
		for _, field := range strings.Fields(string(body)) {
			pid, err := strconv.Atoi(field)
			require.NoError(tb, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// report reports what share of the host's cores was busy since before, in per cent, and the shares of the named
// processes. The rest is other programs' and the kernel's.
func (l load) report(b *testing.B, before load, named map[string]int) {
	b.Helper()
	all := l.all - before.all
	if all < float64(100*time.Millisecond/time.Millisecond) {
		return
	}
	b.ReportMetric(100*(l.busy-before.busy)/all, "cpu-host-%")
	ours := 0.0
	for pid, used := range l.of {
		ours += used - before.of[pid]
	}
	b.ReportMetric(100*ours/all, "cpu-ours-%")
	for name, pid := range named {
		b.ReportMetric(100*(l.of[pid]-before.of[pid])/all, "cpu-"+name+"-%")
	}
}
