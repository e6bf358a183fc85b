package serving_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// slow makes dreams that last for seconds, so that clients can interrupt them.
var slow = provider.Options{Each: 15 * time.Millisecond, AtLeast: 40}

// until waits for an agent to be in a state. Reading the state does not wake it.
func (h *deployment) until(agent, state string) {
	h.Helper()
	is := func() string {
		_, _, status := h.ask(http.MethodGet, "/v1/agents/"+agent+"/status", "")
		return status
	}
	require.Eventually(h, func() bool { return strings.Contains(is(), `"state":"`+state+`"`) }, 30*time.Second,
		20*time.Millisecond, "%s is to be %s: %s\n%s", agent, state, later(func() string {
			_, _, dreams := h.ask(http.MethodGet, "/v1/dreams", "")
			return is() + dreams
		}), &h.err)
}

// later is evaluated when it is printed.
type later func() string

func (l later) String() string { return l() }

// client is a plain OpenAI client.
func (h *deployment) client() *openai.Client {
	c := openai.DefaultConfig("none")
	c.BaseURL = h.base
	return openai.NewClientWithConfig(c)
}

// says streams one turn and reads it to its end.
func (h *deployment) says(c *openai.Client, agent, text string) (answer string, header http.Header) {
	h.Helper()
	s, err := c.CreateChatCompletionStream(h.Context(), openai.ChatCompletionRequest{
		Model: agent, Stream: true, Messages: []openai.ChatCompletionMessage{{Role: "user", Content: text}},
	})
	require.NoError(h, err)
	defer func() { _ = s.Close() }()
	for {
		piece, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return answer, s.Header()
		}
		require.NoError(h, err)
		if len(piece.Choices) > 0 {
			answer += piece.Choices[0].Delta.Content
		}
	}
}

func TestAnUnchangedClientWakesADreamingAgentWhichRemembersAndDreamsAgain(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{}, slow, quick)
	h.must("agents", "add", "iris", "--persona", "a quiet research companion")
	h.must("memory", "import", "--agent", "iris", diary(t))
	h.begin("up")
	h.dreams("iris")
	h.until("iris", "dreaming")
	require.Eventually(t, func() bool { return h.dreamer.Billing.Streamed() > 20 }, 20*time.Second, 5*time.Millisecond)
	c := h.client()
	answer, header := h.says(c, "iris", "My boat is called Zephyrine, she is blue.")
	require.Equal(t, "I heard: My boat is called Zephyrine, she is blue.", answer)
	require.Equal(t, "true", header.Get("X-Oneiros-Woke"))
	require.Equal(t, "1", header.Get("X-Oneiros-Epoch"))
	require.Equal(t, "iris", header.Get("X-Oneiros-Agent"))
	h.until("iris", "awake")
	require.Positive(t, h.status("iris").Leases)

	h.talker.Forget()
	require.Eventually(t, func() bool {
		_, header = h.says(c, "iris", "What is my boat called, and what colour has she?")
		request := h.talker.Requests()
		return strings.Contains(string(request[len(request)-1].Body), "Zephyrine")
	}, 10*time.Second, 100*time.Millisecond, "what was said in one talk is recalled in the next")
	require.Empty(t, header.Get("X-Oneiros-Woke"))
	require.Empty(t, header.Get("X-Oneiros-Recall-Skipped"))
	models, err := c.ListModels(t.Context())
	require.NoError(t, err)
	require.Len(t, models.Models, 1)

	for i, replayed := range []string{"", "true"} {
		const twice = `{"model":"iris","stream":true,"messages":[{"role":"user","content":"once and no more"}]}`
		status, header, answer := h.ask(http.MethodPost, "/v1/chat/completions", twice, "Idempotency-Key", "the-same")
		require.Equal(t, http.StatusOK, status, answer)
		require.True(t, strings.HasSuffix(answer, "data: [DONE]\n\n"), answer)
		require.Equal(t, replayed, header.Get("Idempotent-Replayed"), "%d", i)
	}
	bought := 0
	for _, request := range h.talker.Requests() {
		if request.Last().Text == "once and no more" {
			bought++
		}
	}
	require.Equal(t, 1, bought)

	before := h.status("iris").Dreams
	h.until("iris", "dreaming")
	require.GreaterOrEqual(t, h.status("iris").Dreams, before, "left alone, it dreams again")
	require.Empty(t, h.dreamer.Billing.Failed())
	h.end()
}
