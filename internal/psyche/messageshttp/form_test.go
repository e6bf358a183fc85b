package messageshttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// What the server itself answers on the paths of this wire, and below them, has the wire's form.
func TestAnswersOfTheServerHaveAnthropicsForm(t *testing.T) {
	t.Parallel()
	talk := &being{turns: make(chan psyche.Turn, 16), agents: []string{"iris"}}
	handler := &messageshttp.Handler{Turns: turnhttp.Turns{Talk: talk, Now: time.Now}, Meter: talk}
	book := &accesstest.Book{}
	k, secret := access.New("test", access.Client, nil, time.Now())
	k.Rate = 10
	require.NoError(t, book.PutKey(t.Context(), k))
	server, err := front.New(front.Options{Routes: handler.Routes(), Keys: book})
	require.NoError(t, err)
	send := func(method, at, key string, more ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, at, strings.NewReader(asking(`"model":"iris"`)))
		r.Header.Set("X-Api-Key", key)
		for i := 0; i < len(more); i += 2 {
			r.Header.Set(more[i], more[i+1])
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
	ofAnthropic := []string{"Anthropic-Version", "2023-06-01"}
	for _, c := range []struct {
		method, at, key string
		more            []string
		status          int
		kind            string
	}{
		{"POST", path, "none", nil, 401, "authentication_error"},
		{"POST", path + "/batches", "none", nil, 401, "authentication_error"},
		{"POST", path, secret, []string{"Origin", "https://elsewhere.example"}, 403, "permission_error"},
		{"GET", path, secret, nil, 405, "invalid_request_error"},
		{"GET", path + "/count_tokens", secret, nil, 405, "invalid_request_error"},
		{"POST", path + "/batches", secret, nil, 404, "not_found_error"},
		{"GET", path + "/batches/b1/results", secret, nil, 404, "not_found_error"},
		{"POST", path + "/", secret, nil, 404, "not_found_error"},
		{"GET", "/v1/models", "none", ofAnthropic, 401, "authentication_error"},
		{"GET", "//v1/models/nobody", secret, ofAnthropic, 404, "not_found_error"},
		{"POST", "//v1//messages/batches", secret, nil, 404, "not_found_error"},
		{"POST", path, secret, []string{"Content-Encoding", "gzip"}, 415, "invalid_request_error"},
		{"POST", path + "/count_tokens", secret, nil, 200, ""},
		{"POST", path + "/count_tokens", secret, nil, 200, ""},
		{"POST", path, secret, nil, 429, "rate_limit_error"},
		{"POST", path + "/batches", secret, nil, 429, "rate_limit_error"},
		{"POST", "/v1/files", "none", ofAnthropic, 401, "authentication_error"},
	} {
		w := send(c.method, c.at, c.key, c.more...)
		require.Equal(t, c.status, w.Code, "%s %s: %s", c.method, c.at, w.Body)
		id := w.Header().Get("X-Request-Id")
		require.NotEmpty(t, id)
		require.Equal(t, id, w.Header().Get("Request-Id"), "%s %s: Anthropic's SDKs look for it there", c.method, c.at)
		if c.status == 200 {
			continue
		}
		var answer struct {
			Type    string
			Error   struct{ Type, Message string }
			Request string `json:"request_id"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.Equal(t, []string{"error", c.kind, id}, []string{answer.Type, answer.Error.Type, answer.Request},
			"%s %s: %s", c.method, c.at, w.Body)
		require.NotEmpty(t, answer.Error.Message)
	}
	for _, at := range []string{"/v1/responses", "/v1/embeddings", "/v1/chat/completions"} {
		other := send("POST", at, "none", ofAnthropic...)
		require.Contains(t, other.Body.String(), `"code":"invalid_api_key"`, "the control: another path, %s", at)
	}
	other := send("GET", "/v1/models", "none")
	require.Contains(t, other.Body.String(), `"code":"invalid_api_key"`, "the control: another client")
}

// An answer that is too large to be kept is repeated as an error of this wire.
func TestAnAnswerThatIsTooLargeToBeKeptIsToldInAnthropicsForm(t *testing.T) {
	t.Parallel()
	talk := &being{turns: make(chan psyche.Turn, 16), agents: []string{"iris"}}
	h := &testServer{T: t, being: talk}
	large := `{"choices":[{"message":{"content":"` + strings.Repeat("x", 5<<20) + `"},"finish_reason":"stop"}]}`
	h.answers(http.StatusOK, "application/json", strings.NewReader(large))
	handler := &messageshttp.Handler{Turns: turnhttp.Turns{Talk: talk, Now: time.Now}, Meter: talk}
	server, err := front.New(front.Options{Routes: handler.Routes(), Keys: &accesstest.Book{}, Keyless: true})
	require.NoError(t, err)
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	h.url = s.URL
	res, _ := h.send(path, asking(`"model":"iris"`), "Idempotency-Key", "a")
	require.Equal(t, http.StatusOK, res.StatusCode)
	res, again := h.send(path, asking(`"model":"iris"`), "Idempotency-Key", "a")
	require.Equal(t, http.StatusConflict, res.StatusCode)
	require.Equal(t, res.Header.Get("X-Request-Id"), res.Header.Get("Request-Id"), "of a repetition, too")
	require.Contains(t, again, `{"type":"error","error":{"type":"invalid_request_error","message":"the request was done`)
}
