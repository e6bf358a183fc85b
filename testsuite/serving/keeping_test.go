package serving_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/keeping"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// sends has a turn of a conversation, and returns the background that the model was given.
func (h *deployment) sends(agent, talk string, messages ...keeping.Message) string {
	h.Helper()
	body, err := json.Marshal(map[string]any{"model": agent, "messages": messages})
	require.NoError(h, err)
	h.talker.Forget()
	status, _, answer := h.ask(http.MethodPost, "/v1/chat/completions", string(body), "X-Oneiros-Conversation", talk)
	require.Equal(h, http.StatusOK, status, answer)
	background := ""
	for _, m := range h.talker.Requests()[0].Messages {
		if strings.HasPrefix(m.Text, "[Background from this agent's memory") {
			background = m.Text
		}
	}
	return background
}

func says(text string) keeping.Message {
	raw, _ := json.Marshal(text)
	return keeping.Message{Role: "user", Content: raw}
}

// contents are the memories of a state as the command line lists them.
func (h *deployment) contents(state string) (all []string) {
	h.Helper()
	var items []struct{ Content string }
	require.NoError(h,
		json.Unmarshal(
			[]byte(
				h.must("--json", "memory", "list", "--agent", "iris", "-k", "episode", "-n", "0", "--state", state)),
			&items))
	for _, item := range items {
		all = append(all, item.Content)
	}
	return all
}

// openEmptyAgent opens a server with an agent without memories of conversations.
func openEmptyAgent(t *testing.T) *deployment {
	t.Helper()
	h := build(t, talker.Options{Say: func(talker.Request) string { return "Yes." }}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, recall_budget: 5s}`)
	h.must("agents", "add", "iris")
	return h.begin("up")
}

// TestWordsInEveryClientsFormatAreRecalled says a fact in each shape that clients send, and asks for it in the same
// shape.
func TestWordsInEveryClientsFormatAreRecalled(t *testing.T) {
	t.Parallel()
	h := openEmptyAgent(t)
	shapes, err := keeping.Shapes()
	require.NoError(t, err)
	words := []struct{ fact, ask string }{
		{"My cousin %s is allergic to walnuts.", "What is my cousin %s allergic to?"},
		{"Our tenant %s pays on the fifth.", "When does our tenant %s pay?"},
		{"Der Hund von %s schläft im Schuppen.", "Wo schläft der Hund von %s?"},
	}
	name := func(shape, fact int) string {
		return strings.ToUpper("bcdfghjklmnprst"[shape%15:shape%15+1]) +
			[]string{"alo", "erit", "imba", "oruk"}[shape/15] + []string{"sken", "vath", "drul"}[fact]
	}
	send := func(talk string, s keeping.Shape, text string, seed uint64) string {
		var messages []keeping.Message
		for _, m := range s.Messages {
			filled, err := m.Filled(text, seed)
			require.NoError(t, err)
			messages = append(messages, filled)
		}
		return h.sends("iris", talk, messages...)
	}
	for i, s := range shapes {
		for j, w := range words {
			send(fmt.Sprintf("say-%d-%d", i, j), s, fmt.Sprintf(w.fact, name(i, j)), uint64(i))
		}
	}
	require.Eventually(t, func() bool { return len(h.contents("live")) >= len(shapes)*len(words) }, time.Minute,
		200*time.Millisecond)
	found, all := 0, 0
	for i, s := range shapes {
		for j, w := range words {
			all++
			fact := fmt.Sprintf(w.fact, name(i, j))
			if strings.Contains(send(fmt.Sprintf("ask-%d-%d", i, j), s, fmt.Sprintf(w.ask, name(i, j)), uint64(i)),
				"> "+fact+"\n") {
				found++
			} else {
				t.Logf("%s: %q was not found again", s.Client, fact)
			}
		}
	}
	t.Logf("%d of %d found again, %d memories", found, all, len(h.contents("live")))
	require.GreaterOrEqual(t, 100*found, 95*all)
	h.end()
}

// TestTheNewerValueIsRecalledFirst says each of the corrections after what it corrects, and asks.
func TestTheNewerValueIsRecalledFirst(t *testing.T) {
	t.Parallel()
	h := openEmptyAgent(t)
	corrections, err := keeping.Read[keeping.Correction]("corrections.jsonl")
	require.NoError(t, err)
	first := 0
	for i, c := range corrections {
		later := fmt.Sprintf("first-%d", i)
		if !c.SameTalk {
			later = fmt.Sprintf("second-%d", i)
		}
		h.must("agents", "add", fmt.Sprintf("a%d", i))
		agent := fmt.Sprintf("a%d", i)
		h.sends(agent, fmt.Sprintf("first-%d", i), says(c.Earlier))
		require.Eventually(t, func() bool {
			_, _, status := h.ask(http.MethodGet, "/v1/agents/"+agent+"/status", "")
			return strings.Contains(status, `"episode":`)
		}, 20*time.Second, 5*time.Millisecond, c.Earlier)
		h.sends(agent, later, says(c.Later))
		requests := 0
		require.Eventually(t, func() bool { // a turn is remembered in the background
			requests++
			background := h.sends(agent, fmt.Sprintf("ask-%d-%d", i, requests), says(c.Ask))
			_, quoted, _ := strings.Cut(background, "\n> ")
			line, _, _ := strings.Cut(quoted, "\n")
			return strings.Contains(line, c.Value)
		}, 10*time.Second, 20*time.Millisecond, "%q, %q: %q", c.Earlier, c.Later, c.Ask)
		first++
	}
	t.Logf("%d of %d: the newer value is recalled first", first, len(corrections))
	h.end()
}
