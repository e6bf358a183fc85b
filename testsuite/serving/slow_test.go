package serving_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// sockets is how many slow sockets there are: half of them send a header, the others a body, with a key where one is
// needed.
const sockets = 1000

// slowSockets are sockets of which each sends a byte a second of a request that never ends. One that the server
// closes is opened again until the end.
type slowSockets struct {
	at    string
	over  chan struct{}
	all   sync.WaitGroup
	held  atomic.Int64 // that the server has not ended
	cut   atomic.Int64 // headers that it ended
	slow  atomic.Int64 // bodies that it answered with 408
	ended atomic.Int64 // bodies whose connection ended before the answer was read
	mu    sync.Mutex
	other []string // other answers
}

// openSlowSockets opens them. The keys are used in turn; nil where none is needed.
func openSlowSockets(base string, keys []string) *slowSockets {
	s := &slowSockets{at: strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/v1"), over: make(chan struct{})}
	for i := range sockets {
		begin, body := "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", i%2 == 0
		if body {
			begin = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n"
			if len(keys) > 0 {
				begin += "Authorization: Bearer " + keys[i/2%len(keys)] + "\r\n"
			}
			begin += "\r\n{\"model\": \"iris\", "
		}
		s.all.Go(func() {
			for {
				s.dribble(begin, body)
				select {
				case <-s.over:
					return
				default:
				}
			}
		})
	}
	return s
}

func (s *slowSockets) addOther(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = append(s.other, fmt.Sprintf(format, args...))
}

// dribble holds one socket until the server closes it.
func (s *slowSockets) dribble(begin string, body bool) {
	c, err := net.Dial("tcp", s.at)
	if err != nil {
		s.addOther("dial: %v", err)
		<-s.over
		return
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, begin); err != nil {
		s.addOther("begin: %v", err)
	}
	s.held.Add(1)
	defer s.held.Add(-1)
	answer := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(c) // however the server closes it
		answer <- string(text)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = io.WriteString(c, "x") // the end of the connection is read
		case text := <-answer:
			switch {
			case !body && text == "":
				s.cut.Add(1)
			case body && strings.HasPrefix(text, "HTTP/1.1 408 ") && strings.Contains(text, "body_too_slow"):
				s.slow.Add(1)
			case body && text == "":
				s.ended.Add(1)
			default:
				s.addOther("%s", text)
			}
			return
		}
	}
}

// stop opens no more sockets, and waits until the server has closed all of them.
func (s *slowSockets) stop(t testing.TB) {
	t.Helper()
	close(s.over)
	require.Eventually(t, func() bool { return s.held.Load() == 0 }, 2*time.Minute, 20*time.Millisecond,
		"the server closes all by itself: %s", later(s.counts))
	s.all.Wait()
}

// open makes sure that this process and its child may open so many sockets. Programs written in Go raise their soft
// limit themselves.
func open(t testing.TB, files uint64) {
	t.Helper()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.GreaterOrEqual(t, uint64(limit.Max), files,
		"ulimit -Hn is %d: a process may not open the %d files that this needs", limit.Max, files)
}

// TestAThousandSlowSocketsDelayNoClient holds a thousand slow sockets at the whole server with its default limits,
// while others talk: each of these is answered. The server closes every slow socket by itself.
func TestAThousandSlowSocketsDelayNoClient(t *testing.T) {
	t.Parallel()
	open(t, sockets+500)
	h := build(t, talker.Options{}, provider.Options{}, `serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0}`)
	h.must("agents", "add", "iris")
	h.must("memory", "import", "--agent", "iris", diary(t))
	key := func(name, role string) string {
		var made struct{ Secret string }
		require.NoError(t, json.Unmarshal([]byte(h.must("--json", "keys", "add", name, "--role", role)), &made))
		return made.Secret
	}
	owner := []string{"Authorization", "Bearer " + key("house", "owner")}
	good := []string{"Authorization", "Bearer " + key("good", "client")}
	slow := make([]string, 10) // each may have 64 concurrent requests
	for i := range slow {
		slow[i] = key(fmt.Sprint("slow", i), "client")
	}
	h.begin("up")
	talk := func(n int) error {
		stream := n%2 == 0
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.base+"/chat/completions",
			strings.NewReader(fmt.Sprintf(
				`{"model":"iris","stream":%t,"messages":[{"role":"user","content":"%d: what did the barometer say before the storm?"}]}`,
				stream,
				n,
			)))
		if err != nil {
			return err
		}
		r.Header.Set(good[0], good[1])
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		answer, err := io.ReadAll(res.Body)
		if err == nil &&
			(res.StatusCode != http.StatusOK || stream != strings.HasSuffix(string(answer), "[DONE]\n\n") ||
				!strings.Contains(string(answer), "barometer")) {
			err = fmt.Errorf("%d: %s", res.StatusCode, answer)
		}
		return err
	}
	require.NoError(t, talk(0))
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	before := h.running(owner)

	s := openSlowSockets(h.base, slow)
	held := func() bool { return s.held.Load() == sockets && h.running(owner) >= before+sockets }
	require.Eventually(t, held, 5*time.Minute, 10*time.Millisecond, "all sockets are held: %s", later(s.counts))
	for round := range 5 {
		var all sync.WaitGroup
		faults := make(chan error, 40)
		for n := range 40 {
			all.Go(func() { faults <- talk(round*40 + n) })
		}
		all.Wait()
		for range 40 {
			require.NoError(t, <-faults, "a talking client is answered")
		}
		require.Eventually(
			t,
			held,
			time.Minute,
			10*time.Millisecond,
			"they are held all the while: %s",
			later(s.counts),
		)
	}
	s.stop(t)
	require.Empty(t, s.other, "they got no other answer")
	require.GreaterOrEqual(t, s.cut.Load(), int64(sockets/2), "missing headers are not waited for")
	require.GreaterOrEqual(t, s.slow.Load()+s.ended.Load(), int64(sockets/2), "nor are bodies")
	require.Positive(t, s.slow.Load(), "their clients get a 408")
	t.Logf(
		"200 requests were answered; the server ended %d sockets that dribbled a header and %d that dribbled a body, %d of them with an answer",
		s.cut.Load(),
		s.slow.Load()+s.ended.Load(),
		s.slow.Load(),
	)
	require.Eventually(t, func() bool { return h.running(owner) <= before+8 }, 20*time.Second, 100*time.Millisecond,
		"no goroutine is left of them; there were %d", before)
	for _, each := range slow {
		status, _, answer := h.ask(http.MethodPost, "/v1/chat/completions",
			`{"model":"iris","messages":[{"role":"user","content":"hello"}]}`, "Authorization", "Bearer "+each)
		require.Equal(t, http.StatusOK, status, "their places are given back: %s", answer)
	}
	h.end()
}

func (s *slowSockets) counts() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d held, %d headers cut, %d bodies cut, %d answered 408, others %.300q",
		s.held.Load(), s.cut.Load(), s.ended.Load(), s.slow.Load(), s.other)
}

// running is how many goroutines the server has, including the one that reports them.
func (h *deployment) running(owner []string) int {
	h.Helper()
	_, _, figures := h.ask(http.MethodGet, "/metrics", "", owner...)
	m := goroutines.FindStringSubmatch(figures)
	require.Len(h, m, 2, figures)
	n, err := strconv.Atoi(m[1])
	require.NoError(h, err)
	return n
}
