package messageshttp_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/shared"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/conform"
)

// uncited is called required, although the service leaves it out where nothing is cited. The AI SDK takes no null there.
var uncited = []string{"TextBlock.citations", "ContentBlockStartEventContentBlockUnion.citations"}

// TestEveryMemberIsOneOfThePublishedWire reads translated answers of every kind with Anthropic's library, whole and as
// events: each member is known to it, and none that it calls required is missing.
func TestEveryMemberIsOneOfThePublishedWire(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for _, name := range answersOf {
		raw, err := os.ReadFile(filepath.Join("testdata", name+".chat"))
		require.NoError(t, err)
		h := open(t)
		h.answers(http.StatusOK, "text/event-stream", strings.NewReader(string(raw)))
		_, events := h.send(path, asking(`"model":"iris","max_tokens":9,"stream":true,"thinking":{"type":"adaptive"}`))
		for event := range strings.SplitSeq(strings.TrimSuffix(events, "\n\n"), "\n\n") {
			head, data, _ := strings.Cut(event, "\ndata: ")
			kind := strings.TrimPrefix(head, "event: ")
			kinds[kind] = true
			switch kind {
			case "ping": // the library reads over it
				require.Equal(t, `{"type":"ping"}`, data)
			case "error":
				readError(t, data)
			default:
				var e anthropic.MessageStreamEventUnion
				require.NoError(t, json.Unmarshal([]byte(data), &e))
				require.Equal(t, kind, e.Type)
				require.Empty(t, conform.Faults(e, uncited...), "%s: %s", name, data)
				if e.Type == "content_block_delta" {
					kinds[e.Delta.Type] = true
				}
				if e.Type == "content_block_start" {
					kinds[e.ContentBlock.Type] = true
				}
			}
		}
		if name == "error" {
			continue
		}
		h.answers(http.StatusOK, "text/event-stream", strings.NewReader(string(raw)))
		_, whole := h.send(path, asking(`"model":"iris","max_tokens":9,"thinking":{"type":"adaptive"}`))
		var m anthropic.Message
		require.NoError(t, json.Unmarshal([]byte(whole), &m))
		require.Empty(t, conform.Faults(m, uncited...), "%s: %s", name, whole)
		require.Contains(t, whole, `"id":"msg_`)
		kinds[string(m.StopReason)] = true
	}
	for kind := range strings.FieldsSeq(`message_start content_block_start content_block_delta content_block_stop
		message_delta message_stop ping error text thinking tool_use text_delta thinking_delta signature_delta
		input_json_delta end_turn max_tokens tool_use refusal`) {
		require.True(t, kinds[kind], "no case has %s", kind)
	}
}

// readError reads an error as the library does.
func readError(t *testing.T, body string) {
	t.Helper()
	var e anthropic.ErrorResponse
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	require.Empty(t, conform.Faults(e, uncited...), body)
	require.NotNil(t, e.Error.AsAny(), body)
}

// TestEveryErrorIsOneOfThePublishedWire refuses in each way, with and without a provider.
func TestEveryErrorIsOneOfThePublishedWire(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]shared.ErrorType{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 413: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 502: "api_error",
		503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error",
	} {
		h := open(t)
		h.answers(status, "application/json", strings.NewReader(`{"error":{"message":"no"}}`))
		_, body := h.send(path, asking(`"model":"iris","max_tokens":9`))
		if status == 413 {
			continue // the library has no type for it, and Anthropic's documentation has
		}
		readError(t, body)
		require.Contains(t, body, `"type":"`+string(kind)+`"`, "%d", status)
	}
	h := open(t)
	for _, each := range []string{`{`, `{"model":"nobody","messages":[]}`, `{"model":"iris","messages":7}`} {
		for _, at := range []string{path, path + "/count_tokens"} {
			res, body := h.send(at, each)
			require.Equal(t, 4, res.StatusCode/100, body)
			readError(t, body)
		}
	}
}
