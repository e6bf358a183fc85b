package redis

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is the name by which Sentinels of StartSentinels know their server.
const MasterName = "kept"

// downAfter is how long a server may be silent before a Sentinel takes it for lost.
const downAfter = 500 * time.Millisecond

// StartSentinels runs Sentinels that watch a server and promote a replica of it once most of them miss it. It returns
// when each of them knows the others and the replicas.
func StartSentinels(t testing.TB, primary *Server, sentinels, replicas int, opts ...Option) []*Server {
	t.Helper()
	host, port, _ := net.SplitHostPort(primary.Address)
	all := make([]*Server, sentinels)
	for i := range all {
		file := filepath.Join(t.TempDir(), "sentinel.conf")
		body := fmt.Sprintf("sentinel monitor %s %s %s %d\nsentinel down-after-milliseconds %[1]s %[5]d\n"+
			"sentinel failover-timeout %[1]s 3000\n", MasterName, host, port, sentinels/2+1, downAfter.Milliseconds())
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		all[i] = Start(t, append(opts, func(p *plan) { p.sentinel = file })...)
	}
	for _, s := range all {
		c := redis.NewSentinelClient(&redis.Options{Addr: s.Address, TLSConfig: s.plan.tls})
		defer func() { _ = c.Close() }()
		for {
			state, err := c.Master(t.Context(), MasterName).Result()
			if err != nil {
				t.Fatalf("ask the Sentinel at %s: %v", s.Address, err)
			}
			if state["num-other-sentinels"] == strconv.Itoa(sentinels-1) &&
				state["num-slaves"] == strconv.Itoa(replicas) {
				break
			}
			if !pause(t) {
				t.Fatalf("the Sentinel at %s does not know all others: %v", s.Address, state)
			}
		}
	}
	return all
}

// pause waits a moment between two looks; false when the test has ended.
func pause(t testing.TB) bool {
	select {
	case <-time.After(20 * time.Millisecond):
		return true
	case <-t.Context().Done():
		return false
	}
}
