package openaihttp_test

import (
	"bufio"
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func (b *being) Status(_ context.Context, _ psyche.Caller, agent string) (psyche.Status, error) {
	if agent != "iris" {
		return psyche.Status{},
			&psyche.Fault{
				Status: http.StatusNotFound, Type: "not_found_error", Code: "agent_not_found",
				Message: "There is no agent.",
			}
	}
	return psyche.Status{Agent: agent, State: "sleeping"}, nil
}

func (b *being) Emotion(context.Context, psyche.Caller, string) (psyche.Emotion, error) {
	return psyche.Emotion{PAD: mood.PAD{Pleasure: .25}, Word: "calm"}, nil
}

func (b *being) Feel(_ context.Context, _ psyche.Caller, _, event string, intensity float64) (psyche.Emotion, error) {
	return psyche.Emotion{Cause: event, Intensity: intensity}, nil
}

func TestASessionIsOpenedRenewedAndEndedByItsId(t *testing.T) {
	t.Parallel()
	h := open(t)
	res, answer := h.send(http.MethodPost, "/v1/agents/iris/session", "")
	require.Equal(t, 200, res.StatusCode, answer)
	require.JSONEq(t, `{"id":"session_1","agent":"iris","until":"1970-01-01T00:00:00Z","woke":true}`, answer)
	require.Empty(t, <-h.opened)
	_, answer = h.send(http.MethodPost, "/v1/agents/iris/session", `{"id":"session_1","ttl":90}`)
	require.Contains(t, answer, "00:01:30")
	require.Equal(t, "session_1", <-h.opened)
	res, _ = h.send(http.MethodDelete, "/v1/agents/iris/session?id=session_1", "")
	require.Equal(t, http.StatusNoContent, res.StatusCode)
	require.Equal(t, "session_1", <-h.left)
	for wrong, says := range map[string]string{
		`{"ttl":-1}`: "ttl is -1; it must be from 1 to 3600 seconds, or absent",
		`{"ttl":0}`:  "ttl is 0; it must be from 1", `{"ttl":0.5}`: "ttl is 0.5",
		`{"ttl":4000}`: "ttl is 4000", `{"ttl":"1m"}`: "ttl must be a number",
		`{"id":7}`: "id must be a string", `{"tttl":1}`: "",
		`[]`: "", `{`: "",
	} {
		res, answer = h.send(http.MethodPost, "/v1/agents/iris/session", wrong)
		require.Equal(t, http.StatusBadRequest, res.StatusCode, "%s: %s", wrong, answer)
		require.Contains(t, answer, says)
	}
	res, answer = h.send(http.MethodPost, "/v1/agents/iris/session", `{"ttl":null}`)
	require.Equal(t, 200, res.StatusCode, answer)
	require.Empty(t, <-h.opened)
	res, _ = h.send(http.MethodDelete, "/v1/agents/iris/session", "")
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
	require.Empty(t, h.opened)
}

func TestASessionThatIsHeldByItsStreamEndsWithIt(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/v1/agents/iris/session", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	lines := bufio.NewScanner(res.Body)
	require.True(t, lines.Scan())
	require.Equal(t, "event: session", lines.Text())
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), `"id":"session_1"`)
	require.Empty(t, <-h.opened)
	require.Equal(t, "session_1", <-h.opened, "it is renewed")
	hangUp()
	require.Equal(t, "session_1", <-h.left)
}

func TestStatusAndEmotionCanBeReadAndChanged(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, answer := h.send(http.MethodGet, "/v1/agents/iris/status", "")
	require.Contains(t, answer, `"state":"sleeping"`)
	res, answer := h.send(http.MethodGet, "/v1/agents/nobody/status", "")
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.Contains(t, answer, "agent_not_found")
	_, answer = h.send(http.MethodGet, "/v1/agents/iris/emotion", "")
	require.Contains(t, answer, `"pleasure":0.25`)
	_, answer = h.send(http.MethodPost, "/v1/agents/iris/emotion", `{"event":"success","intensity":0.5}`)
	require.Contains(t, answer, `"cause":"success"`)
	require.Contains(t, answer, `"intensity":0.5`)
	res, answer = h.send(http.MethodPost, "/v1/agents/iris/emotion", `{"event":7}`)
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
	require.Contains(t, answer, `"param":"event"`)
}
