package serving_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// epoch is the zero of all times in this test: sender and receiver are one process.
var epoch = time.Now()

// stopwatch is a provider whose every piece contains the time at which it was sent; a request says how many it wants,
// and how far apart.
func stopwatch(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Pieces int `json:"test_pieces"`
		Each   int `json:"test_each_us"`
	}
	_ = json.NewDecoder(r.Body).Decode(&q)
	send(w, q.Pieces, time.Duration(q.Each)*time.Microsecond)
}

// send sends pieces of a chat completion that contain the time.
func send(w http.ResponseWriter, pieces int, each time.Duration) {
	sendAs(w, pieces, each,
		"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"talker\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d \"},\"finish_reason\":null}]}\n\n",
		"data: [DONE]\n\n")
}

// sendAs sends pieces in a form that has the place of the time as %d, and the end of a stream.
func sendAs(w http.ResponseWriter, pieces int, each time.Duration, piece, end string) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	began := time.Now()
	for i := range pieces {
		if wait := time.Until(began.Add(time.Duration(i) * each)); wait > 0 {
			time.Sleep(wait)
		}
		_, err := fmt.Fprintf(w, piece, time.Since(epoch))
		if err != nil || control.Flush() != nil {
			return
		}
	}
	_, _ = io.WriteString(w, end)
}

// measured is what one stream measured.
type measured struct {
	first  time.Duration   // from the request to the first piece
	pieces []time.Duration // of each, from its sending to its arrival
}

const before, after = `"delta":{"content":"`, ` "},"finish_reason"`

func run(client *http.Client, url, model, header string, pieces int, each time.Duration,
	question string,
) (l measured, err error) {
	body := fmt.Sprintf(
		`{"model":%q,"stream":true,"test_pieces":%d,"test_each_us":%d,"messages":[{"role":"user","content":%q}]}`,
		model, pieces, each.Microseconds(), question)
	r, err := http.NewRequest(http.MethodPost, url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return l, err
	}
	r.Header.Set("X-Oneiros-Recall", header)
	r.Header.Set("X-Oneiros-Store", "off")
	began := time.Now()
	res, err := client.Do(r)
	if err != nil {
		return l, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return l, fmt.Errorf("%d: %s", res.StatusCode, text)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		_, rest, ok := strings.Cut(lines.Text(), before)
		if !ok {
			continue
		}
		now := time.Now()
		if l.first == 0 {
			l.first = now.Sub(began)
		}
		sent, _, _ := strings.Cut(rest, after)
		at, err := strconv.ParseInt(sent, 10, 64)
		if err != nil {
			return l, err
		}
		l.pieces = append(l.pieces, now.Sub(epoch)-time.Duration(at))
	}
	return l, lines.Err()
}

// The ways to the provider.
const (
	direct  = iota
	served  // through the server
	carried // through a process that only copies: what any server in between adds on this machine
	ways
)

// scanned is one more way of BenchmarkAdded: through a process that reads the body and the events, and does nothing else
// of what a server does. No server that edits requests and reads answers can add less.
const scanned = ways

// measureStreams runs concurrent streams, each so many times over, and returns what they measured: directly first,
// then through the server, then through the bare proxy. They begin one after the other within apart, so that each
// begins while others run.
func measureStreams(b *testing.B, streams, times int, apart time.Duration,
	do func(way int) (measured, error),
) (firsts, pieces [ways][]float64) {
	b.Helper()
	var mu sync.Mutex
	for way := range ways {
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				time.Sleep(apart * time.Duration(i) / time.Duration(streams))
				for range times {
					l, err := do(way)
					mu.Lock()
					if err != nil {
						b.Error(err)
					}
					firsts[way] = append(firsts[way], ms(l.first))
					for _, p := range l.pieces[min(1, len(l.pieces)):] {
						pieces[way] = append(pieces[way], ms(p))
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
	}
	return firsts, pieces
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func quantile(of []float64, q float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	slices.Sort(of)
	return of[int(q*float64(len(of)-1)+.5)]
}

// added reports by how much a figure through the server, or the bare proxy, is above the figure of the direct way.
func added(b *testing.B, what string, of [ways][]float64) {
	b.Helper()
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", .5}, {"p99", .99}} {
		alone := quantile(of[direct], q.at)
		b.ReportMetric(quantile(of[served], q.at)-alone, what+"-added-"+q.name+"-ms")
		b.ReportMetric(quantile(of[carried], q.at)-alone, what+"-bare-"+q.name+"-ms")
		b.ReportMetric(alone, what+"-direct-"+q.name+"-ms")
	}
}

// agentStates is how many memories an agent of the benchmark has.
var agentStates = map[string]int{"none": 0, "thousand": 1000, "many": 100_000}

// tale is so many memories, as JSON lines.
func tale(b *testing.B, n int) string {
	b.Helper()
	text, err := os.ReadFile(diary(b))
	require.NoError(b, err)
	words := strings.Fields(string(text))
	path := filepath.Join(b.TempDir(), "life.jsonl")
	f, err := os.Create(path)
	require.NoError(b, err)
	out := bufio.NewWriter(f)
	for i := range n {
		texts := make([]string, 14)
		for j := range texts {
			texts[j] = words[(i*31+j*j*7+i/97)%len(words)]
		}
		body, err := json.Marshal(map[string]any{
			"kind": "episode", "at": epoch.Add(-time.Duration(i) * time.Minute).UTC().Format(time.RFC3339),
			"content": strings.Join(texts, " ") + fmt.Sprintf(" %d", i),
		})
		require.NoError(b, err)
		_, _ = out.Write(append(body, '\n'))
	}
	require.NoError(b, out.Flush())
	require.NoError(b, f.Close())
	return path
}

// BenchmarkServe measures what `oneiros up`, a process of its own, adds to a streamed answer, compared with direct
// calls of the same provider in the same run: to its first byte and to every later piece, by the number of streams,
// with and without recall, and by the number of memories. Client, provider and server share this machine. 256 streams
// of 50 pieces a second saturate two cores: that row shows what happens then, not what is added.
func BenchmarkServe(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(stopwatch))
	b.Cleanup(upstream.Close)
	h := build(b, talker.Options{}, provider.Options{Each: 20 * time.Millisecond, AtLeast: 400},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, key_streams: 1000}
consent: {auto_paid: true}
agent: {client_timeout: 1h}`)
	h.talker.URL = upstream.URL
	h.write()
	for name, n := range agentStates {
		h.must("agents", "add", name)
		if n > 0 {
			h.must("memory", "import", "--agent", name, tale(b, n))
		}
	}
	h.begin("up")
	var number atomic.Int64 // no two conversations are the same, so that each needs a recall
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	copying, _ := startCopier(b, upstream.URL)
	ask := func(agent, recall string, pieces int, each time.Duration) func(int) (measured, error) {
		return func(way int) (measured, error) {
			url, model := upstream.URL, "talker"
			switch way {
			case served:
				url, model = h.base, agent
			case carried:
				url = copying
			}
			return run(client, url, model, recall, pieces, each,
				fmt.Sprintf("%d: what did the barometer say before the storm came over the hill?", number.Add(1)))
		}
	}
	for agent := range agentStates { // each agent is awake, and caches are filled, before anything is measured
		for range 3 {
			_, err := ask(agent, "on", 1, 0)(served)
			require.NoError(b, err)
		}
	}
	for _, agent := range []string{"none", "thousand", "many"} {
		for _, recall := range []string{"off", "on"} {
			b.Run(fmt.Sprintf("first/memories=%d/recall=%s", agentStates[agent], recall), func(b *testing.B) {
				var firsts [ways][]float64
				for b.Loop() {
					for range 100 {
						f, _ := measureStreams(b, 1, 1, 0, ask(agent, recall, 1, 0))
						for way := range ways {
							firsts[way] = append(firsts[way], f[way]...)
						}
					}
				}
				added(b, "first", firsts)
			})
		}
	}
	for _, streams := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			var firsts, pieces [ways][]float64
			for b.Loop() {
				f, p := measureStreams(b, streams, 4, time.Second, ask("none", "off", 50, 20*time.Millisecond))
				for way := range ways {
					firsts[way], pieces[way] = append(firsts[way], f[way]...), append(pieces[way], p[way]...)
				}
			}
			added(b, "first", firsts)
			added(b, "piece", pieces)
		})
	}
	b.Run("idle/streams=500", func(b *testing.B) { idle(b, client, upstream.URL) })
	b.Run("connect", func(b *testing.B) { h.connected(b, client) })
	h.end()
}

// barely is the environment variable that makes this program a bare proxy to the address in it; reading makes it one
// that reads what it passes on.
const (
	barely  = "ONEIROS_BARE_PROXY"
	reading = "ONEIROS_READING_PROXY"
)

// startCopier starts a bare proxy, a process of its own as the server is one, and returns its address and process id.
func startCopier(b *testing.B, upstream string) (address string, pid int) {
	b.Helper()
	return startProxy(b, barely, upstream)
}

func startProxy(b *testing.B, kind, upstream string) (address string, pid int) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), kind+"="+upstream)
	cmd.Stderr = os.Stderr
	says, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(says).ReadString('\n')
	require.NoError(b, err)
	return strings.TrimSpace(line), cmd.Process.Pid
}

// runCopier is the bare proxy: it passes each request on and copies the answer, piece by piece.
func runCopier(upstream string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	away := &http.Transport{MaxIdleConnsPerHost: 1000}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		on, err := http.NewRequestWithContext(r.Context(), r.Method, upstream+r.URL.Path, r.Body)
		if err != nil {
			return
		}
		on.ContentLength, on.Header = r.ContentLength, r.Header
		res, err := away.RoundTrip(on)
		if err != nil {
			return
		}
		defer func() { _ = res.Body.Close() }()
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		control, piece := http.NewResponseController(w), make([]byte, 4<<10)
		for {
			n, err := res.Body.Read(piece)
			if n > 0 {
				if _, err := w.Write(piece[:n]); err != nil || control.Flush() != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}))
}

// idle measures how much memory a stream that waits for its model holds in a server whose agent remembers nothing: a
// larger heap is collected less often, and would be counted as the streams'.
func idle(b *testing.B, client *http.Client, upstream string) {
	h := build(b, talker.Options{}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, key_streams: 1000}`)
	h.talker.URL = upstream
	h.write()
	h.must("agents", "add", "iris")
	h.begin("up")
	_, err := run(client, h.base, "iris", "off", 1, 0, "hello")
	require.NoError(b, err)
	const streams = 500
	before := h.resident()
	for b.Loop() {
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 2 * time.Millisecond)
				if _, err := run(client, h.base, "iris", "off", 2, 4*time.Second, "hello"); err != nil {
					b.Error(err)
				}
			})
		}
		time.Sleep(3 * time.Second)
		b.ReportMetric(float64(h.resident()-before)/streams/1024, "KiB/stream")
		all.Wait()
	}
	h.end()
}

// resident is the memory of the server, in bytes.
func (h *deployment) resident() int {
	h.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.up.Process.Pid))
	require.NoError(h, err)
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(h, err)
	return kib << 10
}

// connected measures the first byte for a client that talks to a dreaming agent, and for the next one that finds it
// awake.
func (h *deployment) connected(b *testing.B, client *http.Client) {
	const agents = 24
	for b.Loop() {
		for i := range agents {
			name := fmt.Sprintf("connect%d", i)
			h.must("agents", "add", name)
			h.must("memory", "import", "--agent", name, diary(b))
			h.dreams(name)
		}
		require.Eventually(h, func() bool {
			under := map[string]bool{}
			for _, call := range h.dreamer.Billing.Calls() {
				if key, ok := chaos.ReadKey(call.Key); ok && call.Completion > 0 {
					under[key.Dream] = true
				}
			}
			return len(under) >= agents
		}, time.Minute, 5*time.Millisecond)
		var firsts [2][]float64
		for i := range agents {
			for _, state := range []int{1, 0} {
				l, err := run(client, h.base, fmt.Sprintf("connect%d", i), "off", 1, 0,
					fmt.Sprint("are you there, ", state))
				require.NoError(h, err)
				firsts[state] = append(firsts[state], ms(l.first))
			}
		}
		for _, q := range []float64{.5, .99} {
			b.ReportMetric(quantile(firsts[1], q)-quantile(firsts[0], q), fmt.Sprintf("woken-added-p%d-ms", int(q*100)))
			b.ReportMetric(quantile(firsts[0], q), fmt.Sprintf("awake-p%d-ms", int(q*100)))
		}
	}
}
