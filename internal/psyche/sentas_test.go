package psyche_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// keyless is a store without keys.
type keyless struct{ access.Store }

func (keyless) Keys(context.Context) ([]access.Key, error) { return nil, nil }
func (keyless) KeysRequired(context.Context) (bool, error) { return false, nil }

// translates serves both translated wires over a paid model.
func translates(t *testing.T, window int) (ask func(path, body string) (status int, param, message string)) {
	t.Helper()
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		o.Talker = "p/dear"
		table := catalogue()
		spec := table["p/dear"]
		spec.Context, spec.Guessed = window, window == 0
		table["p/dear"] = spec
		p.Guard.Catalog = table
	})
	turns := turnhttp.Turns{Talk: r.Service, Now: time.Now}
	routes := (&responseshttp.Handler{Turns: turns}).Routes()
	routes = append(routes, (&messageshttp.Handler{Turns: turns, Meter: r.Service}).Routes()...)
	served, err := front.New(front.Options{Routes: routes, Keys: keyless{}, Keyless: true})
	require.NoError(t, err)
	s := httptest.NewServer(served)
	t.Cleanup(s.Close)
	return func(path, body string) (status int, param, message string) {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(q)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		var e struct {
			Error struct{ Param, Message string }
		}
		require.NoError(t, json.Unmarshal(text, &e), "%s", text)
		return answer.StatusCode, e.Error.Param, e.Error.Message
	}
}

// stands reports whether a path such as input[0].content[1].text, or messages.0.content, exists in a body. What is
// missing has the path that it should have.
func stands(t *testing.T, body, path string, missing bool) bool {
	t.Helper()
	var at any
	require.NoError(t, json.Unmarshal([]byte(body), &at))
	steps := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	for i, step := range steps {
		found := false
		switch v := at.(type) {
		case map[string]any:
			at, found = v[step]
		case []any:
			n, err := strconv.Atoi(step)
			found = err == nil && n < len(v)
			if found {
				at = v[n]
			}
		}
		if !found {
			return missing && i == len(steps)-1
		}
	}
	return len(steps) > 0
}

// TestATranslatedRefusalNamesWhatTheClientSent asks both wires, translated for a paid model, for what is refused: by
// the translation, and by the turn that bounds the price of the chat completion.
func TestATranslatedRefusalNamesWhatTheClientSent(t *testing.T) {
	t.Parallel()
	const pdf = `data:application/pdf;base64,JVBERg==`
	responses := func(content string, more ...string) string {
		return `{"model":"echo","input":[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"input_text","text":"hi"},` +
			content + `]}]` + strings.Join(more, "") + `}`
	}
	const text = `{"type":"input_text","text":"hi"}`
	messages := func(content string, more ...string) string {
		return `{"model":"echo","max_tokens":99` + strings.Join(more, "") +
			`,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},` + content + `]}]}`
	}
	const block = `{"type":"text","text":"hi"}`
	document := func(source string) string { return `{"type":"document","source":` + source + `}` }
	result := func(content string) string {
		return `{"model":"echo","max_tokens":99,"messages":[{"role":"user","content":"hi"},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[` + content + `]}]}],` +
			`"tools":[{"name":"f","input_schema":{"type":"object"}}]}`
	}
	base64PDF := document(`{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}`)
	for _, c := range []struct{ path, body, names string }{
		{"/v1/responses", responses(`{"type":"input_file","filename":"a.pdf","file_data":"` + pdf + `"}`), "input[1].content[1]"},
		{"/v1/responses", responses(`{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}`), "input[1].content[1]"},
		{"/v1/responses", responses(`{"type":"input_file","file_id":"f"}`), "input[1].content[1].file_id"},
		{"/v1/responses", responses(`{"type":"input_image","file_id":"f"}`), "input[1].content[1].file_id"},
		{"/v1/responses", responses(`{"type":"input_film"}`), "input[1].content[1].type"},
		{"/v1/responses", responses(text, `,"max_output_tokens":100001`), "max_output_tokens"},
		{"/v1/responses", responses(text, `,"max_output_tokens":1.5`), "max_output_tokens"},
		{"/v1/responses", responses(text, `,"service_tier":"priority"`), "service_tier"},
		{"/v1/responses", responses(text, `,"background":true`), "background"},
		{"/v1/responses", responses(text, `,"tools":[{"type":"web_search"}]`), "tools[0]"},
		{"/v1/responses", responses(text, `,"text":{"format":{"type":"xml"}}`), "text.format.type"},
		{"/v1/responses", responses(text, `,"reasoning":{"mode":"pro"}`), "reasoning.mode"},
		{"/v1/responses", responses(text, `,"plugins":[{"id":"web"}]`), "plugins"},
		{"/v1/responses", responses(text, `,"models":["other"]`), "models"},
		{"/v1/messages", messages(base64PDF), "messages.0.content.1"},
		{"/v1/messages", result(base64PDF), "messages.2.content.0.content.0"},
		{"/v1/messages", messages(document(`{"type":"file","file_id":"f"}`)), "messages.0.content.1.source"},
		{"/v1/messages", messages(`{"type":"film"}`), "messages.0.content.1.type"},
		{"/v1/messages", messages(block, `,"mcp_servers":[{"name":"m"}]`), "mcp_servers"},
		{"/v1/messages", messages(block, `,"speed":"fast"`), "speed"},
		{"/v1/messages", messages(block, `,"plugins":[{"id":"web"}]`), "plugins"},
		{"/v1/messages", messages(block, `,"tools":[{"type":"web_search_20250305","name":"web_search"}]`), "tools.0"},
		{"/v1/messages", messages(block, `,"thinking":{"type":"loud"}`), "thinking.type"},
		{
			"/v1/messages", strings.Replace(messages(block), `"max_tokens":99`, `"max_tokens":100001`, 1), "max_tokens",
		},
	} {
		ask := translates(t, 100_000)
		status, param, message := ask(c.path, c.body)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", c.body, message)
		if c.path == "/v1/messages" { // its errors have no other field
			param = pathIn(message)
		}
		require.Equal(t, c.names, param, "%s: %s", c.body, message)
		require.True(t, stands(t, c.body, param, strings.Contains(message, "required")), "%s: %s: %s", c.body, param, message)
	}
}

var firstPath = regexp.MustCompile(`^(?:[a-z_]+ at )?([a-z_]+(?:\.[a-z_0-9]+)*)(?::| is )`)

// pathIn is the path with which a message begins.
func pathIn(message string) string {
	if found := firstPath.FindStringSubmatch(message); found != nil {
		return found[1]
	}
	return ""
}

// TestContentOfUnknownLengthIsNamedAsItWasSent has a model whose window is not known, so that a picture elsewhere can
// not be bounded.
func TestContentOfUnknownLengthIsNamedAsItWasSent(t *testing.T) {
	t.Parallel()
	ask := translates(t, 0)
	status, param, message := ask("/v1/responses",
		`{"model":"echo","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x/y.png"}]}]}`)
	require.Equal(t, http.StatusBadRequest, status, message)
	require.Equal(t, "input[0].content[0]", param, message)
	status, _, message = ask("/v1/messages", `{"model":"echo","max_tokens":9,"messages":[{"role":"user","content":[`+
		`{"type":"image","source":{"type":"url","url":"https://x/y.png"}}]}]}`)
	require.Equal(t, http.StatusBadRequest, status, message)
	require.Contains(t, message, "image at messages.0.content.0")
}

// TestACapNamesTheFieldThatBoundsTheAnswer asks for more than an agent has left.
func TestACapNamesTheFieldThatBoundsTheAnswer(t *testing.T) {
	t.Parallel()
	ask := translates(t, 100_000)
	for path, body := range map[string]string{
		"/v1/responses": `{"model":"echo","input":"hi","max_output_tokens":99999}`,
		"/v1/messages":  `{"model":"echo","max_tokens":99999,"messages":[{"role":"user","content":"hi"}]}`,
	} {
		for status := 200; status != http.StatusTooManyRequests; {
			var message string
			status, _, message = ask(path, body)
			if status == http.StatusTooManyRequests {
				require.Contains(t, message, "A smaller "+map[string]string{
					"/v1/responses": "max_output_tokens", "/v1/messages": "max_tokens",
				}[path]+" asks for less.")
			}
		}
	}
}
