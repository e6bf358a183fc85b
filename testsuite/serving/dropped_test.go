package serving_test

import (
	"bufio"
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
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

// TestTwoHundredDroppedStreamsLeaveNothingBehind ends 200 connections whose answers would last for minutes. The next
// client is answered within a second, no call of the provider continues, and no goroutine of the server is left.
func TestTwoHundredDroppedStreamsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	const streams = 200
	h := build(t, talker.Options{Each: 20 * time.Millisecond, Say: slowly}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, key_streams: 300}`)
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
	for range streams {
		over.Go(func() {
			answer := sync.OnceFunc(begun.Done)
			defer answer()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+"/chat/completions",
				strings.NewReader(
					`{"model":"iris","stream":true,"messages":[{"role":"user","content":"count slowly"}]}`))
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
				answer()
			}
		})
	}
	begun.Wait()
	require.Equal(t, streams, h.talker.UnderWay())
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
}
