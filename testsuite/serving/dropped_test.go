package serving_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	"github.com/seed-56a03226/oneiros/testsuite/soak"
)

var goroutines = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

// goroutines is how many the server has, including the one that reports them.
func (h *deployment) goroutines() int {
	h.Helper()
	_, _, figures := h.ask(http.MethodGet, "/metrics", "")
	m := goroutines.FindStringSubmatch(figures)
	require.Len(h, m, 2, figures)
	n, err := strconv.Atoi(m[1])
	require.NoError(h, err)
	return n
}

// TestTwoHundredDroppedStreamsLeaveNothingBehind ends 200 connections over three wires, whose answers of a paid model
// would last for minutes. The next client is answered within a second, no call of the provider continues, and no
// goroutine, lease or reservation of the server is left.
func TestTwoHundredDroppedStreamsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native=%v", native), func(t *testing.T) {
			t.Parallel()
			dropStreams(t, native)
		})
	}
}

func dropStreams(t *testing.T, native bool) {
	t.Helper()
	const streams = 200
	h := build(t, talker.Options{Each: 20 * time.Millisecond, Say: slowly}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: paid/talker, rate: 0, key_streams: 300}
agent: {client_timeout: 1s, wake_lock: 1s}`)
	h.native = native
	h.talksPaid()
	h.must("agents", "add", "iris")
	h.begin("up")
	status, _, body := h.ask(http.MethodPost, "/v1/chat/completions",
		`{"model":"iris","messages":[{"role":"user","content":"hello"}]}`)
	require.Equal(t, http.StatusOK, status, body)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	before := h.goroutines()

	ctx, hangUp := context.WithCancel(t.Context())
	var begun, over sync.WaitGroup
	begun.Add(streams)
	client := &http.Client{Transport: &http.Transport{}}
	for i := range streams {
		wire := wires[i%len(wires)]
		over.Go(func() {
			answer := sync.OnceFunc(begun.Done)
			defer answer()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(h.base, "/v1")+wire.path,
				strings.NewReader(wire.body("iris", true, []message{{"user", "count slowly"}}, nil)))
			if err != nil {
				return
			}
			res, err := client.Do(r)
			if err != nil {
				return
			}
			defer func() { _ = res.Body.Close() }()
			lines := bufio.NewScanner(res.Body)
			for lines.Scan() {
				if soak.TextOf(lines.Text()) != "" { // two wires begin before the provider does
					answer()
				}
			}
		})
	}
	begun.Wait()
	require.Equal(t, streams, h.talker.UnderWay())
	require.GreaterOrEqual(t, h.status("iris").Leases, 1, "the control: they hold the agent awake")
	reserved, attempts := h.reserved("iris")
	require.Positive(t, reserved, "the control: they are reserved for")
	require.Equal(t, streams+1, attempts)
	hangUp()
	over.Wait()
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(soon, http.MethodPost, h.base+"/chat/completions",
		strings.NewReader(`{"model":"iris","messages":[{"role":"user","content":"and now?"}]}`))
	require.NoError(t, err)
	res, err := client.Do(r)
	require.NoError(t, err, "the next client is answered within a second")
	require.NoError(t, res.Body.Close())
	client.CloseIdleConnections()
	require.Eventually(t, func() bool { return h.talker.UnderWay() == 0 }, 10*time.Second, 10*time.Millisecond,
		"no call goes on")
	require.Eventually(t, func() bool { return h.goroutines() <= before+8 }, 20*time.Second, 100*time.Millisecond,
		"no goroutine is left of %d streams; there were %d", streams, before)
	require.Eventually(t, func() bool { return h.status("iris").Leases == 0 }, 20*time.Second, 100*time.Millisecond,
		"no lease is left")
	require.Eventually(t, func() bool { reserved, attempts = h.reserved("iris"); return reserved == 0 },
		20*time.Second, 200*time.Millisecond, "no reservation is left open")
	require.Equal(t, streams+2, attempts)
}

// talksPaid makes the model that talks a paid one as well, under the name paid/talker.
func (h *deployment) talksPaid() {
	h.Helper()
	h.paid = fmt.Sprintf(`  paid:
    profile: generic
    base_url: %s
    wires: %s
    models: [{name: talker, price: {in: "0.01", out: "0.01"}, context: 100000}]
`, h.talker.URL, h.wires())
	h.write()
}

// reserved is what is reserved for calls of an agent that are under way, and how many calls it made in all.
func (h *deployment) reserved(agent string) (reserved budget.Micros, attempts int) {
	h.Helper()
	var spent struct {
		Total struct {
			Reserved budget.Micros `json:"reserved_micros"`
			Attempts int
		}
	}
	text := h.must("--json", "spend", "--agent", agent)
	require.NoError(h, json.Unmarshal([]byte(text), &spent), text)
	return spent.Total.Reserved, spent.Total.Attempts
}
