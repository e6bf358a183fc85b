package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// The events of `oneiros up` are followed by another process, archived although up is killed meanwhile, and counted
// for Prometheus.
func TestEventsAreFollowedArchivedAndCounted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	archive := filepath.Join(h.dir, "archive")
	file := "archive:\n  url: " + archive + "\n  every: 1s\nmetrics:\n  listen: 127.0.0.1:0\n"
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "oneiros.yaml"), []byte(file), 0o600))
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	_, beside, code := h.run("events", "archive", "--set", "archive.url=")
	require.Equal(t, exit.Refused, code, beside)

	follower := h.command("events", "--follow", "--from", "1", "--json")
	result, err := follower.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, follower.Start())
	up := h.up()
	require.Contains(t, up.output.String(), archive)
	figures := regexp.MustCompile(`metrics +(http://\S+)`).FindStringSubmatch(up.output.String())
	require.NotNil(t, figures, "%s", up.output)
	h.must("dream", "--set", "dream.cycles=20")
	lines := bufio.NewScanner(result)
	for lines.Scan() && !strings.Contains(lines.Text(), "FragmentCaptured") {
	}
	shown := scraped(t, figures[1])
	require.Contains(t, shown, `oneiros_dreams_started_total{tier="hardened"} 1`)
	for _, name := range []string{
		"temporal_workflow_task_schedule_to_start_latency_seconds_bucket", "temporal_activity_execution_latency_seconds_count",
		"temporal_worker_task_slots_available", "temporal_sticky_cache_size",
	} {
		require.Contains(t, shown, "\n"+name+"{")
	}
	require.NotContains(t, shown, "otel_scope")
	require.NoError(t, up.Process.Kill())
	_ = up.Wait() // it was killed

	again := h.up()
	h.must("watch")
	for lines.Scan() && !strings.Contains(lines.Text(), "DreamEnded") {
	}
	var last event.Event
	require.NoError(t, json.Unmarshal(lines.Bytes(), &last))
	require.Equal(t, "DreamEnded", last.Type, "the follower saw the end of the dream although up was killed")
	require.NoError(t, follower.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, result)
	require.NoError(t, err)
	require.NoError(t, follower.Wait(), "Ctrl-C is how following ends")
	figures = regexp.MustCompile(`metrics +(http://\S+)`).FindStringSubmatch(again.output.String())
	require.NotNil(t, figures, "%s", again.output)
	require.Contains(t, scraped(t, figures[1]), `oneiros_dreams_total{outcome="completed"} 1`)
	require.NoError(t, again.Process.Signal(os.Interrupt))
	require.NoError(t, again.Wait(), "%s", again.output)

	var want, got bytes.Buffer
	want.WriteString(h.must("events", "--from", "1", "--json"))
	names, err := filepath.Glob(filepath.Join(archive, "events", "echo", "*", "*.jsonl"))
	require.NoError(t, err)
	require.Greater(t, len(names), 1)
	for _, name := range names {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		got.Write(body)
	}
	require.Equal(t, want.String(), got.String(),
		"each event once, byte for byte, the last pass at the end of up included")
	var status struct {
		Agents []struct{ Head, Seq, Behind int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(h.must("events", "archive", "--json")), &status))
	require.Len(t, status.Agents, 1)
	require.Zero(t, status.Agents[0].Behind)
	require.EqualValues(t, strings.Count(want.String(), "\n"), status.Agents[0].Seq)
}

func scraped(t *testing.T, address string) string {
	t.Helper()
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Get(address)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return string(body)
}
