package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// upstreamEnv makes this test program a scripted provider: it holds a providerSpeed as JSON.
const upstreamEnv = "ONEIROS_BENCH_TILL"

// providerSpeed is how fast a provider in a process of its own answers.
type providerSpeed struct {
	Each    time.Duration `json:"each"`     // before every token
	AtLeast int           `json:"at_least"` // tokens of an answer
}

// runProvider runs a provider in a process of its own, as a real one would. It prints its address; then for every
// line on its standard input it prints how many calls have had a first token and are still being served. It ends when
// its standard input ends.
func runProvider(text string) error {
	var t providerSpeed
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	s, err := provider.Start(provider.Options{Seed: 1, Each: t.Each, AtLeast: t.AtLeast})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println(s.URL)
	request := bufio.NewReader(os.Stdin)
	for {
		if _, err := request.ReadString('\n'); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		open := 0
		for _, c := range s.Billing.Calls() {
			if c.Open && c.Completion > 0 {
				open++
			}
		}
		fmt.Println(open)
	}
}

// billedServer is a scripted provider that runs as a child.
type billedServer struct {
	URL   string
	child *exec.Cmd

	mu    sync.Mutex
	ask   io.WriteCloser
	lines *bufio.Reader
}

func openBilledServer(b *testing.B, each providerSpeed) *billedServer {
	b.Helper()
	body, err := json.Marshal(each)
	require.NoError(b, err)
	t := &billedServer{child: exec.Command(os.Args[0])}
	t.child.Env = append(os.Environ(), upstreamEnv+"="+string(body))
	t.child.Stderr = os.Stderr
	t.ask, err = t.child.StdinPipe()
	require.NoError(b, err)
	out, err := t.child.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, t.child.Start())
	b.Cleanup(func() { _ = t.ask.Close(); _ = t.child.Wait() })
	t.lines = bufio.NewReader(out)
	line, err := t.lines.ReadString('\n')
	require.NoError(b, err)
	t.URL = strings.TrimSpace(line)
	return t
}

// served returns how many calls are being served.
func (t *billedServer) served(tb testing.TB) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := fmt.Fprintln(t.ask)
	require.NoError(tb, err)
	line, err := t.lines.ReadString('\n')
	require.NoError(tb, err)
	n, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(tb, err)
	return n
}
