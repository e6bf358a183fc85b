package servecmd

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hermes/remote"
)

// halting is a talk with a server whose answers begin and never end. It says when one has begun, and when one was
// given up.
func halting(t *testing.T) (c *chat, out *bytes.Buffer, signals chan os.Signal, begun, dropped chan struct{}) {
	t.Helper()
	begun, dropped = make(chan struct{}, 8), make(chan struct{}, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I beg\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
		dropped <- struct{}{}
	}))
	t.Cleanup(server.Close)
	client, err := remote.New(remote.Settings{URL: server.URL, Agent: "iris"})
	require.NoError(t, err)
	out, signals = &bytes.Buffer{}, make(chan os.Signal, 4)
	return &chat{ctx: t.Context(), client: client, out: out, signals: signals}, out, signals, begun, dropped
}

func TestCtrlCStopsTheAnswerAndTheNextOneLeaves(t *testing.T) {
	t.Parallel()
	c, _, signals, begun, dropped := halting(t)
	in, typing := io.Pipe()
	var beside bytes.Buffer
	left := make(chan error, 1)
	go func() { left <- c.lines(in, &beside) }()
	for range 2 {
		fmt.Fprintln(typing, "Go on.")
		<-begun
		signals <- os.Interrupt
		<-dropped
	}
	signals <- os.Interrupt
	require.NoError(t, <-left)
	require.Equal(t, 2, strings.Count(beside.String(), "the answer was stopped"))
}

func TestASystemThatEndsTheProcessEndsTheTalkAndOneMessageIsUnfinished(t *testing.T) {
	t.Parallel()
	c, out, signals, begun, dropped := halting(t)
	ended := make(chan error, 1)
	go func() { ended <- c.say("Go on.") }()
	<-begun
	signals <- syscall.SIGTERM
	<-dropped
	err := <-ended
	require.Equal(t, exit.Unfinished, exit.CodeOf(err))
	require.True(t, c.over)
	require.Contains(t, []string{"", "I beg\n"}, out.String(), "what came is shown, with the end of its line")
	require.Error(t, c.say("Nothing more."))
	require.NoError(t, c.lines(strings.NewReader(""), io.Discard))
}
