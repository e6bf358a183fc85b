package serving_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// BenchmarkServeAmongSlow measures whole turns of clients that talk, streamed, with recall, while a thousand sockets
// send headers and bodies slowly to the same `oneiros up`, compared with the same turns without them, measured before
// and after: ratio is of the two p99.
func BenchmarkServeAmongSlow(b *testing.B) {
	open(b, sockets+500)
	upstream := httptest.NewServer(http.HandlerFunc(stopwatch))
	b.Cleanup(upstream.Close)
	h := build(b, talker.Options{}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, key_streams: 1000}
agent: {client_timeout: 1h}`)
	h.talker.URL = upstream.URL
	h.write()
	h.must("agents", "add", "iris")
	h.must("memory", "import", "--agent", "iris", diary(b))
	h.begin("up")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var mu sync.Mutex
	number := 0
	turns := func(clients, each int) (lasted []float64) {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range each {
					mu.Lock()
					number++
					question := fmt.Sprintf("%d: what did the barometer say before the storm came over the hill?",
						number)
					mu.Unlock()
					began := time.Now()
					_, err := run(client, h.base, "iris", "on", 5, 0, question)
					took := ms(time.Since(began))
					mu.Lock()
					if err != nil {
						b.Error(err)
					}
					lasted = append(lasted, took)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		return lasted
	}
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			var without, among []float64
			each := 8000 / clients // long enough for headers to time out and to come again
			for b.Loop() {
				turns(clients, 200/clients)
				without = append(without, turns(clients, each/2)...)
				s := openSlowSockets(h.base, nil)
				require.Eventually(b, func() bool { return s.held.Load() == sockets }, time.Minute,
					10*time.Millisecond, "%s", later(s.counts))
				among = append(among, turns(clients, each)...)
				b.StopTimer()
				s.stop(b)
				b.StartTimer()
				without = append(without, turns(clients, each/2)...)
				require.Empty(b, s.other)
			}
			for _, q := range []float64{.5, .99} {
				name := fmt.Sprintf("p%d", int(q*100))
				b.ReportMetric(quantile(without, q), "without-"+name+"-ms")
				b.ReportMetric(quantile(among, q), "among-"+name+"-ms")
				b.ReportMetric(quantile(among, q)/quantile(without, q), "ratio-"+name)
			}
		})
	}
	h.end()
}
