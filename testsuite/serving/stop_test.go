package serving_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

func TestAServerReachableByOthersDoesNotStartWithoutKeys(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{}, provider.Options{}, `serve: {listen: "0.0.0.0:0", model: talk/talker}`)
	for _, command := range []string{"up", "serve"} {
		var beside bytes.Buffer
		cmd := h.command(command)
		cmd.Stderr = &beside
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Run(), &exit, command)
		require.Equal(t, 2, exit.ExitCode())
		require.Contains(t, beside.String(), "oneiros keys add NAME")
		require.Contains(t, beside.String(), "0.0.0.0:0")
	}
}

// TestAStoppingServerFinishesARunningAnswer stops a server that runs beside another, on the same data, in the middle
// of a stream.
func TestAStoppingServerFinishesARunningAnswer(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{Each: 10 * time.Millisecond, Pieces: 150}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: talk/talker}`)
	h.must("agents", "add", "iris")
	h.begin("up")
	beside := &deployment{
		TB:      t,
		dir:     h.dir,
		env:     h.env,
		talker:  h.talker,
		dreamer: h.dreamer,
	}
	beside.begin("serve")
	require.NotEqual(t, h.base, beside.base)
	res, err := http.Post(beside.base+"/chat/completions", "application/json",
		strings.NewReader(`{"model":"iris","stream":true,"messages":[{"role":"user","content":"go on"}]}`))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewReader(res.Body)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(first, "data: "), first)
	held, err := http.Get(beside.base + "/agents/iris/session")
	require.NoError(t, err)
	defer func() { _ = held.Body.Close() }()
	require.Equal(t, http.StatusOK, held.StatusCode)

	require.NoError(t, beside.up.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		_, err := new(net.Dialer).DialContext(t.Context(), "tcp",
			strings.TrimSuffix(strings.TrimPrefix(beside.base, "http://"), "/v1"))
		return errors.Is(err, syscall.ECONNREFUSED)
	}, 10*time.Second, 5*time.Millisecond, "nobody new is let in")
	_, err = io.ReadAll(held.Body)
	require.NoError(t, err, "an endless stream is ended")
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(rest), "data: [DONE]\n\n"), "the answer is complete")
	require.NoError(t, beside.up.Wait(), "%s", &beside.err)
	beside.up = nil

	status, _, body := h.ask(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusOK, status, body)
	h.end()
}
