package responseshttp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// recorded is a stream of a provider that speaks this wire.
func recorded(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../testdata/answers/responses.events")
	require.NoError(t, err)
	return string(raw)
}

// wholeOf is the finished response of a stream.
func wholeOf(t *testing.T, stream string) string {
	t.Helper()
	_, last, found := strings.Cut(stream, `"sequence_number":9,"response":`)
	require.True(t, found)
	return strings.TrimSuffix(strings.TrimSpace(last), "}")
}

// speaking is a model whose provider speaks this wire.
func speaking(price budget.Micros) inference.Spec {
	return inference.Spec{
		Price: &budget.Price{In: price},
		Wires: inference.ChatWire | inference.ResponsesWire,
	}
}

// TestAResponseThatIsNotKeptIsPassedOnByteForByte sends what no chat completion can say.
func TestAResponseThatIsNotKeptIsPassedOnByteForByte(t *testing.T) {
	t.Parallel()
	stream := recorded(t)
	s := open(t, events, "")
	s.spec = speaking(0)
	s.body = iotest.OneByteReader(strings.NewReader(stream))
	const body = `{ "model":"iris", "stream":true, "store":false, "fresh":[1.50], "tools":[{"type":"web_search"}],
		"input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]},{"type":"web_search_call","id":"ws_1"}]}`
	answer, text := s.create(body)
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.Equal(t, stream, text)
	require.Equal(t, "iris", answer.Header.Get("X-Oneiros-Agent"))
	turn := <-s.turns
	require.Equal(t, body, string(turn.Body.Bytes()), "the body is as it was sent")
	require.Equal(t, "/responses", turn.Path)
	require.Equal(t, "/responses", (<-s.passed).Path)

	s.body, s.kind = strings.NewReader(wholeOf(t, stream)), written
	_, text = s.create(strings.Replace(body, `"stream":true`, `"stream":false`, 1))
	require.Equal(t, wholeOf(t, stream), text)

	s.body, s.kind, s.status = strings.NewReader(`{"error":{"message":"No.","type":"t"}}`), written, 422
	answer, text = s.create(body)
	require.Equal(t, 422, answer.StatusCode)
	require.JSONEq(t, `{"error":{"message":"No.","type":"t"}}`, text)

	s.body, s.kind, s.status = io.MultiReader(strings.NewReader(stream[:900]),
		iotest.ErrReader(io.ErrUnexpectedEOF)), events, 200
	_, text = s.create(body)
	rest, found := strings.CutPrefix(text, stream[:900])
	require.True(t, found)
	require.True(t, strings.HasPrefix(rest, "\n\nevent: error\ndata: {\"code\":\"upstream_broken\""), rest)

	for _, refused := range []string{`"background":true`, `"conversation":"c"`} {
		answer, text = s.create(`{"model":"iris","input":"x",` + refused + `}`)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, text)
	}
}

// TestAKeptResponseOfTheProvidersHasOurIDs has the provider keep nothing: the response, what it goes on from and the items
// that a client refers to are this server's.
func TestAKeptResponseOfTheProvidersHasOurIDs(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	stream := recorded(t)
	k.spec = speaking(1)
	k.spec.Reasoning = true
	say := func(body string, header ...string) (status int, text string, sent map[string]any) {
		k.body, k.kind = strings.NewReader(stream), events
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.url+"/v1/responses",
			strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+k.keys[k.as])
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		raw, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		if answer.StatusCode == http.StatusOK {
			turn := <-k.turns
			require.NoError(t, json.Unmarshal(turn.Body.Bytes(), &sent))
		}
		return answer.StatusCode, string(raw), sent
	}
	status, text, sent := say(`{"model":"iris","stream":true,"input":"One."}`)
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, map[string]any{
		"model": "iris", "stream": true, "store": false, "include": []any{"reasoning.encrypted_content"},
		"input": []any{map[string]any{"role": "user", "content": "One."}},
	}, sent)
	require.NotContains(t, text, "resp_67c9fdcecf488190bdd9a0409de3a1ec")
	require.NotContains(t, text, "msg_67c9fdcf37fc8190ba82116e33fb28c5")
	id, item := "", ""
	for line := range strings.Lines(text) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e sdk.ResponseStreamEventUnion
		require.NoError(t, json.Unmarshal([]byte(data), &e))
		require.NotNil(t, e.AsAny(), data)
		if e.Type == "response.completed" {
			id, item = e.Response.ID, e.Response.Output[0].ID
			require.Contains(t, data, `"store":true`)
		}
	}
	require.True(t, strings.HasPrefix(id, "resp_"))
	require.Equal(t, "msg_"+strings.TrimPrefix(id, "resp_")+"_0", item)
	again := strings.NewReplacer(id, "resp_67c9fdcecf488190bdd9a0409de3a1ec", item,
		"msg_67c9fdcf37fc8190ba82116e33fb28c5",
		`"store":true`, `"store":false`).Replace(text)
	require.Equal(t, stream, again, "nothing else is edited")

	words := map[string]any{
		"type": "message", "status": "completed", "role": "assistant", "content": []any{map[string]any{
			"type": "output_text", "annotations": []any{}, "logprobs": []any{},
			"text": "Note that the harbour master has her at the quay of Skagen, next to the lighthouse.",
		}},
	}
	status, text, sent = say(`{"model":"iris","stream":true,"previous_response_id":"` + id + `","input":"Two."}`)
	require.Equal(t, http.StatusOK, status, text)
	require.Nil(t, sent["previous_response_id"], "the provider knows no response")
	input := sent["input"].([]any)
	require.Len(t, input, 3)
	require.Equal(t, words, input[1], "without the id that this server gave")
	require.Equal(t, map[string]any{"role": "user", "content": "Two."}, input[2])
	require.Contains(t, text, `"previous_response_id":"`+id+`"`)

	_, _, sent = say(`{"model":"iris","stream":true,"store":false,"input":[{"type":"item_reference","id":"` + item +
		`"},` +
		`{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"And?"}]}`)
	require.Equal(t, []any{words, map[string]any{"role": "user", "content": "And?"}}, sent["input"],
		"thoughts that the provider cannot read are left out")
	require.NotContains(t, sent, "include")

	for _, who := range []struct {
		name          string
		want, goingOn int
	}{{"ann", http.StatusOK, http.StatusOK}, {"bob", http.StatusNotFound, http.StatusBadRequest}} {
		k.as = who.name
		got, _ := k.ask(http.MethodGet, "/"+id, "")
		require.Equal(t, who.want, got)
		status, _, _ = say(`{"model":"iris","stream":true,"previous_response_id":"` + id + `","input":"Two."}`)
		require.Equal(t, who.goingOn, status)
		status, _, _ = say(`{"model":"iris","stream":true,"input":[{"type":"item_reference","id":"` + item + `"}]}`)
		require.Equal(t, who.want, status)
	}
	k.as = "ann"
	status, _, _ = say(`{"model":"iris","stream":true,"previous_response_id":"`+id+`","input":"x"}`, "X-Oneiros-User",
		"eve")
	require.Equal(t, http.StatusBadRequest, status, "no user goes on from what is another's")
}

// The server of llama.cpp does not say the places of items: each gets an id of its own all the same.
func TestAKeptResponseOfLlamaCppHasOurIDs(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"events", "json"} {
		k := openKeeping(t)
		raw, err := os.ReadFile("../testdata/answers/llamacpp-responses." + form)
		require.NoError(t, err)
		k.spec = speaking(0)
		k.body, k.kind = strings.NewReader(string(raw)), map[string]string{"events": events, "json": written}[form]
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.url+"/v1/responses", strings.NewReader(
			`{"model":"iris","input":"One.","stream":`+strconv.FormatBool(form == "events")+`}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+k.keys[k.as])
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		sent, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		text := string(sent)
		require.Equal(t, http.StatusOK, answer.StatusCode, text)
		id := regexp.MustCompile(`resp_[a-z0-9]{26}`).FindString(text)
		status, kept := k.ask(http.MethodGet, "/"+id, "")
		require.Equal(t, http.StatusOK, status, kept)
		for place, kind := range []string{"rs", "msg", "fc", "fc"} {
			item := kind + "_" + strings.TrimPrefix(id, "resp_") + "_" + strconv.Itoa(place)
			require.Contains(t, text, `"id":"`+item+`"`)
			require.Contains(t, kept, `"id":"`+item+`"`)
		}
		require.NotRegexp(t, `"(rs|msg|fc)_[A-Za-z0-9]{32}"`, text)
	}
}

func TestBuiltInToolsBesideTheClientsAreLeftOutForAPaidModel(t *testing.T) {
	t.Parallel()
	const own = `{"type":"function","name":"f"}`
	for tools, want := range map[string]string{
		`[` + own + `, {"type":"web_search"}]`: `[` + own + `]`,
		`[{"type":"web_search"},` + own + `]`:  `[` + own + `]`,
		`[{"type":"web_search"}, {"type":"mcp"},` + own + `,{"type":"local_shell"} ]`: `[` + own +
			`,{"type":"local_shell"} ]`,
		`[` + own + `,{"type":"web_search"},{"type":"custom","name":"p"}]`: `[` + own +
			`,{"type":"custom","name":"p"}]`,
		`[{"type":"web_search"}]`: `[{"type":"web_search"}]`,
	} {
		s := open(t, events, recorded(t))
		s.spec = speaking(1)
		answer, text := s.create(`{"model":"iris","stream":true,"store":false,"input":[],"tools":` + tools + `}`)
		require.Equal(t, http.StatusOK, answer.StatusCode, text)
		turn := <-s.turns
		require.Contains(t, string(turn.Body.Bytes()), `"tools":`+want+`}`)
		require.Equal(t, tools != want, answer.Header.Get("X-Oneiros-Tools-Left-Out") != "")
	}
}

// post asks for a response, which the provider answers as k.body says.
func (k *storing) post(body string) string {
	k.Helper()
	r, err := http.NewRequestWithContext(k.Context(), http.MethodPost, k.url+"/v1/responses", strings.NewReader(body))
	require.NoError(k, err)
	r.Header.Set("Authorization", "Bearer "+k.keys[k.as])
	answer, err := http.DefaultClient.Do(r)
	require.NoError(k, err)
	raw, err := io.ReadAll(answer.Body)
	require.NoError(k, err)
	require.NoError(k, answer.Body.Close())
	require.Equal(k, http.StatusOK, answer.StatusCode, string(raw))
	return string(raw)
}

// TestAPassedOnResponseThatCannotBeKeptSaysSo has a store that takes no writes.
func TestAPassedOnResponseThatCannotBeKeptSaysSo(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	k.spec = speaking(0)
	k.handler.Kept = failing{k.handler.Kept}
	k.kind = written
	whole := wholeOf(t, recorded(t))
	k.body = strings.NewReader(whole)
	require.Contains(t, k.post(`{"model":"iris","input":"One."}`), `"store":false`)
}

// A response in which the provider says that it failed is not kept, and says so, whole or at the end of a stream.
func TestAPassedOnResponseThatFailedIsNotKept(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"failed", "cancelled", "completed"} {
		response := `{"id":"resp_theirs","object":"response","status":"` + status + `","store":false,` +
			`"previous_response_id":null,"error":null,"output":[]}`
		for body, kind := range map[string]string{
			response: written,
			`data: {"type":"response.created","response":{"id":"resp_theirs","status":"in_progress","store":false}}` +
				"\n\ndata: {\"type\":\"response." + status + "\",\"response\":" + response + "}\n\n": events,
		} {
			k := openKeeping(t)
			k.spec = speaking(0)
			k.body, k.kind = strings.NewReader(body), kind
			stream := strings.Contains(body, "data:")
			text := k.post(`{"model":"iris","input":"One.","stream":` + strconv.FormatBool(stream) + `}`)
			if stream {
				if status == "cancelled" {
					continue // no stream ends so
				}
				text = text[strings.LastIndex(text, `"response":`):]
			}
			ids := regexp.MustCompile(`resp_[a-z0-9]+`).FindAllString(text, -1)
			require.Len(t, ids, 1, text)
			require.NotEqual(t, "resp_theirs", ids[0])
			code, _ := k.ask(http.MethodGet, "/"+ids[0], "")
			if status == "completed" {
				require.Equal(t, http.StatusOK, code, "the control")
				require.Contains(t, text, `"store":true`)
				continue
			}
			require.Equal(t, http.StatusNotFound, code, "%s is not kept", status)
			require.Contains(t, text, `"store":false`)
		}
	}
}
