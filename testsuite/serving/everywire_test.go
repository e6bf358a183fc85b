package serving_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	"github.com/seed-56a03226/oneiros/testsuite/soak"
)

// asks has one turn of a conversation on a wire.
func (h *deployment) asks(w wire, agent, text string, stream bool, header ...string) (http.Header, string) {
	h.Helper()
	status, result, answer := h.ask(http.MethodPost, w.path, w.body(agent, stream, []message{{"user", text}}, nil),
		header...)
	require.Equal(h, http.StatusOK, status, answer)
	require.True(h, w.ended(stream, answer), answer)
	return result, answer
}

// TestEveryWireWakesRemembersAndPaysOnce has an agent for each wire that sleeps and one that dreams, and a paid model.
// The wire wakes both; the next conversation recalls what was said in the first; a repeated key is answered once,
// remembered once and paid once; and what was said before a stream was cut is remembered, without the cut answer.
func TestEveryWireWakesRemembersAndPaysOnce(t *testing.T) {
	t.Parallel()
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native=%v", native), func(t *testing.T) {
			t.Parallel()
			everyWire(t, native)
		})
	}
}

// everyWire has the wires beside chat completions passed on, or translated.
func everyWire(t *testing.T, native bool) {
	t.Helper()
	// an agent that was woken stays awake: its dream pays for nothing more, and no later request wakes it again
	h := build(t, talker.Options{Each: time.Millisecond, Say: slowly}, slow, strings.NewReplacer(
		"model: talk/talker", "model: paid/talker, recall_budget: 5s", "client_timeout: 1s", "client_timeout: 1h",
	).Replace(quick))
	h.native = native
	h.talksPaid()
	dreaming, asleep := []string{"iris", "fern", "moss"}, []string{"ash", "elm", "oak"}
	for i := range wires {
		h.must("agents", "add", asleep[i])
		h.must("agents", "add", dreaming[i])
		h.must("memory", "import", "--agent", dreaming[i], diary(t))
	}
	h.begin("up")
	for i, wire := range wires {
		header, _ := h.asks(wire, asleep[i], "Good morning.", i%2 == 0)
		require.Equal(t, "true", header.Get("X-Oneiros-Woke"), wire.path)
		taken := h.talker.Requests()
		require.Equal(t, native || i == 0, taken[len(taken)-1].Path == wire.path, "%s: it is passed on as it is",
			wire.path)
		header, _ = h.asks(wire, asleep[i], "And again.", i%2 == 1)
		require.Empty(t, header.Get("X-Oneiros-Woke"), "%s: the control", wire.path)

		h.dreams(dreaming[i])
		h.until(dreaming[i], "dreaming")
		const fact = "My boat is called Zephyrine, she is blue."
		header, answer := h.asks(wire, dreaming[i], fact, true, "X-Oneiros-Conversation", "first")
		require.Equal(t, "true", header.Get("X-Oneiros-Woke"), wire.path)
		require.Equal(t, "1", header.Get("X-Oneiros-Epoch"))
		require.Equal(t, "I heard: "+fact, soak.TextOf(answer))
		h.until(dreaming[i], "awake")
		h.recalls(wire, dreaming[i], "What is my boat called, and what colour has she?", fact)
		h.paysOnce(wire, dreaming[i])
		h.keepsWhatWasSaid(wire, dreaming[i])
	}
	h.end()
}

// recalls asks in new conversations until the provider is sent what was said in another.
func (h *deployment) recalls(w wire, agent, question, fact string) {
	h.Helper()
	require.Eventually(h, func() bool {
		h.talker.Forget()
		h.asks(w, agent, question, false)
		return strings.Contains(string(h.talker.Requests()[0].Body), fact)
	}, 20*time.Second, 50*time.Millisecond, "%s: %s recalls %q\n%s", w.path, agent, fact, &h.err)
}

// remembered is how many memories of an agent contain a text.
func (h *deployment) remembered(agent, text string) int {
	h.Helper()
	return strings.Count(h.must("--json", "memory", "list", "--agent", agent, "-k", "episode", "-n", "0"), text)
}

// paysOnce repeats requests under one Idempotency-Key, whole and as a stream.
func (h *deployment) paysOnce(w wire, agent string) {
	h.Helper()
	for name, stream := range map[string]bool{"Marten": true, "Heron": false} {
		text := "My neighbour is called " + name + ", she repairs bicycles."
		_, before := h.reserved(agent)
		h.talker.Forget()
		header, first := h.asks(w, agent, text, stream, "Idempotency-Key", agent+name)
		require.Empty(h, header.Get("Idempotent-Replayed"))
		for range 2 {
			header, again := h.asks(w, agent, text, stream, "Idempotency-Key", agent+name)
			require.Equal(h, "true", header.Get("Idempotent-Replayed"), w.path)
			require.Equal(h, first, again)
		}
		require.Len(h, h.talker.Requests(), 1, w.path)
		_, after := h.reserved(agent)
		require.Equal(h, before+1, after, "%s: one call is paid", w.path)
		h.recalls(w, agent, "What is my neighbour "+name+" doing?", text)
		require.Equal(h, 1, h.remembered(agent, text), "%s: it is remembered once", w.path)
	}
}

// keepsWhatWasSaid hangs up in the middle of a stream.
func (h *deployment) keepsWhatWasSaid(w wire, agent string) {
	h.Helper()
	const fact = "My dog is called Rufus, he is brown."
	ctx, hangUp := context.WithCancel(h.Context())
	defer hangUp()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(h.base, "/v1")+w.path,
		strings.NewReader(w.body(agent, true, []message{{"user", fact + " Now count slowly"}}, nil)))
	require.NoError(h, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.Contains(soak.TextOf(lines.Text()), "one") {
		continue
	}
	require.NoError(h, lines.Err(), w.path)
	hangUp()
	require.Eventually(h, func() bool { return h.remembered(agent, fact) == 1 }, 20*time.Second, 100*time.Millisecond,
		"%s: what was said stays", w.path)
	require.Zero(h, h.remembered(agent, "and one and one"), "%s: an answer that was cut is none", w.path)
	require.Eventually(h, func() bool { reserved, _ := h.reserved(agent); return reserved == 0 }, 20*time.Second,
		100*time.Millisecond, "%s: nothing stays reserved", w.path)
}
