package responseshttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// storing is a server that keeps responses, with two principals and a key that reaches another agent alone.
type storing struct {
	*server
	handler *responseshttp.Handler
	keys    map[string]string
	now     time.Time
	as      string // whose key is sent
}

func openKeeping(t *testing.T) *storing {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	k := &storing{
		server: &server{T: t, being: &being{turns: make(chan psyche.Turn, 100), kind: written, status: http.StatusOK}},
		keys:   map[string]string{},
		now:    time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC),
		as:     "ann",
	}
	var all []access.Key
	for name, agents := range map[string][]string{"ann": nil, "bob": nil, "narrow": {"tally"}} {
		key, secret := access.New(name, access.Client, agents, k.now)
		if name == "narrow" {
			key.Principal = "ann"
		}
		if name == "ann" {
			key.Principal = "ann"
		}
		all, k.keys[name] = append(all, key), secret
	}
	k.handler = &responseshttp.Handler{
		Turns: turnhttp.Turns{Talk: k.being, Now: func() time.Time { return k.now }},
		Kept:  store,
		For:   24 * time.Hour,
		Most:  50,
	}
	served, err := front.New(front.Options{Routes: k.handler.Routes(), Keys: accesstest.With(all...), Now: k.clock})
	require.NoError(t, err)
	listens := httptest.NewServer(served)
	t.Cleanup(listens.Close)
	k.url = listens.URL
	return k
}

func (k *storing) clock() time.Time { return k.now }

// ask sends a request and returns the status and the answer.
func (k *storing) ask(method, path, body string, header ...string) (int, string) {
	k.Helper()
	k.body = strings.NewReader(one)
	return k.request(method, path, body, header...)
}

// request sends a request, whose answer the provider has ready.
func (k *storing) request(method, path, body string, header ...string) (int, string) {
	k.Helper()
	r, err := http.NewRequestWithContext(k.Context(), method, k.url+"/v1/responses"+path, strings.NewReader(body))
	require.NoError(k, err)
	r.Header.Set("Authorization", "Bearer "+k.keys[k.as])
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(k, err)
	defer func() { _ = answer.Body.Close() }()
	var text json.RawMessage
	require.NoError(k, json.NewDecoder(answer.Body).Decode(&text))
	return answer.StatusCode, string(text)
}

// made creates a response and returns its id and the messages that the provider was messages with.
func (k *storing) made(body string) (id, messages string) {
	k.Helper()
	status, text := k.ask(http.MethodPost, "", body)
	require.Equal(k, http.StatusOK, status, text)
	var r struct{ ID string }
	require.NoError(k, json.Unmarshal([]byte(text), &r))
	turn := <-k.turns
	var chat struct{ Messages json.RawMessage }
	require.NoError(k, json.Unmarshal(turn.Body.Bytes(), &chat))
	return r.ID, string(chat.Messages)
}

func TestARequestGoesOnFromAKeptResponse(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	first, _ := k.made(`{"model":"iris","input":"One.","instructions":"Be brief."}`)
	second, messages := k.made(`{"model":"iris","input":"Two.","previous_response_id":"` + first + `"}`)
	require.JSONEq(t,
		`[{"role":"user","content":"One."},{"role":"assistant","content":"Yes."},{"role":"user","content":"Two."}]`, messages,
		"instructions are of one response")
	_, messages = k.made(`{"model":"iris","input":"Three.","previous_response_id":"` + second + `"}`)
	require.Equal(t, 5, strings.Count(messages, `"role"`))
	_, messages = k.made(`{"model":"iris","input":"Other.","previous_response_id":"` + first + `"}`)
	require.Equal(t, 3, strings.Count(messages, `"role"`), "two may go on from one")

	status, text := k.ask(http.MethodGet, "/"+second, "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `"previous_response_id":"`+first+`"`)
	require.Contains(t, text, `"text":"Yes."`)
}

// Clients send the whole conversation after this code, which is OpenAI's.
func TestAPreviousResponseThatIsMissingIsNamedAsTheClientNamedIt(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	first, _ := k.made(`{"model":"iris","input":"One."}`)
	second, _ := k.made(`{"model":"iris","input":"Two.","previous_response_id":"` + first + `"}`)
	third, _ := k.made(`{"model":"iris","input":"Three.","previous_response_id":"` + second + `"}`)
	status, _ := k.ask(http.MethodDelete, "/"+first, "")
	require.Equal(t, http.StatusOK, status)
	for _, id := range []string{first, second, third, "resp_none"} {
		status, text := k.ask(http.MethodPost, "", `{"model":"iris","input":"x","previous_response_id":"`+id+`"}`)
		require.Equal(t, http.StatusBadRequest, status, text)
		require.Contains(t, text, `"param":"previous_response_id","code":"previous_response_not_found"`)
		require.Contains(t, text, id)
	}
	status, text := k.ask(http.MethodGet, "/"+third+"/input_items", "")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, text, `"response_not_found"`)
	require.Contains(t, text, third)
	status, text = k.ask(http.MethodGet, "/resp_none", "")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, text, `"response_not_found"`)
}

// TestATalkWithOneAgentIsNotCarriedToAnother uses a key that reaches both.
func TestATalkWithOneAgentIsNotCarriedToAnother(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	id, _ := k.made(`{"model":"iris","input":"One."}`)
	item := "msg_" + strings.TrimPrefix(id, "resp_") + "_0"
	for further, code := range map[string]string{
		`"input":"Two.","previous_response_id":"` + id + `"`:      "previous_response_not_found",
		`"input":[{"type":"item_reference","id":"` + item + `"}]`: "item_not_found",
	} {
		_, text := k.ask(http.MethodPost, "", `{"model":"tally",`+further+`}`)
		require.Contains(t, text, `"code":"`+code+`"`)
		for _, name := range []string{"oneiros/iris", "Iris", "a1"} {
			k.made(`{"model":"` + name + `",` + further + `}`)
		}
	}
	status, _ := k.ask(http.MethodGet, "/"+id, "")
	require.Equal(t, http.StatusOK, status)
}

func TestAnItemOfAKeptResponseIsPutInPlace(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	id, _ := k.made(`{"model":"iris","input":"One."}`)
	item := "msg_" + strings.TrimPrefix(id, "resp_") + "_0"
	_, messages := k.made(`{"model":"iris","input":[{"role":"user","content":"One."},{"type":"item_reference","id":"` + item + `"}]}`)
	require.JSONEq(t, `[{"role":"user","content":"One."},{"role":"assistant","content":"Yes."}]`, messages)
	for _, ref := range []string{"msg_none_0", "other", item + "9", "msg_" + strings.TrimPrefix(id, "resp_") + "_1"} {
		status, text := k.ask(http.MethodPost, "",
			`{"model":"iris","input":[{"type":"item_reference","id":"`+ref+`"}]}`)
		require.Equal(t, http.StatusNotFound, status, ref)
		require.Contains(t, text, "item_not_found")
	}
	k.as = "bob"
	status, _ := k.ask(http.MethodPost, "", `{"model":"iris","input":[{"type":"item_reference","id":"`+item+`"}]}`)
	require.Equal(t, http.StatusNotFound, status)
}

// TestATalkGoesOnWhereItsAgentsProviderChanges goes on from a kept response, and refers to its thoughts, after the
// agent has moved from a provider that speaks this wire to one that does not, and back.
func TestATalkGoesOnWhereItsAgentsProviderChanges(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	const natively = `{"id":"resp_1","object":"response","status":"completed","output":[
		{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},
		{"type":"message","id":"msg_1","status":"completed","role":"assistant",
			"content":[{"type":"output_text","text":"Natively.","annotations":[]}]}]}`
	const translated = `{"choices":[{"message":{"content":"By chat.","reasoning_content":"I ponder."},
		"finish_reason":"stop"}]}`
	say := func(answer, input, previous string) (id, sent string) {
		k.body = strings.NewReader(answer)
		k.spec = inference.Spec{}
		if answer == natively {
			k.spec = speaking(0)
		}
		status, text := k.request(http.MethodPost, "", `{"model":"iris","input":`+input+previous+`}`)
		require.Equal(t, http.StatusOK, status, text)
		var r struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		return r.ID, string((<-k.turns).Body.Bytes())
	}
	on := func(id string) string { return `,"previous_response_id":"` + id + `"` }
	thought := func(id string) string {
		return `[{"type":"item_reference","id":"rs_` + strings.TrimPrefix(id, "resp_") +
			`_0"},{"role":"user","content":"y"}]`
	}
	id, _ := say(natively, `"x"`, "")
	next, sent := say(translated, `"y"`, on(id))
	require.Contains(t, sent, "Natively.")
	require.NotContains(t, sent, "gAAA")
	_, sent = say(translated, thought(id), "")
	require.NotContains(t, sent, "gAAA")

	_, sent = say(natively, `"z"`, on(next))
	require.Contains(t, sent, "By chat.")
	require.Contains(t, sent, "gAAA", "its own thoughts go back to it")
	require.NotContains(t, sent, "oneiros1.")
	require.NotContains(t, sent, "ponder")
	_, sent = say(natively, thought(next), "")
	require.NotContains(t, sent, "oneiros1.")

	k.spec = inference.Spec{}
	status, text := k.request(http.MethodPost, "", `{"model":"iris","input":[{"type":"reasoning","summary":[],
		"encrypted_content":"gAAA"},{"role":"user","content":"x"}]}`)
	require.Equal(t, http.StatusBadRequest, status, "a client can leave out what it sends itself")
	require.Contains(t, text, "leave the item out")
}

// TestNoProviderIsSentWhatAnotherSealed moves an agent between two providers of one wire: what the one sealed of its
// thoughts goes back to it, and not to the other, whether a chain or a reference brings it.
func TestNoProviderIsSentWhatAnotherSealed(t *testing.T) {
	t.Parallel()
	const question = `{"role":"user","content":"y"}`
	for name, c := range map[string]struct {
		spec   inference.Spec
		answer string // with the provider's name as its seal
	}{
		"natively": {speaking(0), `{"id":"resp_1","object":"response","status":"completed","output":[
			{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"seal of NAME"},
			{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"I am NAME."}]}]}`},
		"by translation": {inference.Spec{}, `{"choices":[{"finish_reason":"stop",
			"message":{"content":"I am NAME.","thought_signature":"seal of NAME"}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := openKeeping(t)
			say := func(provider, input, previous string) (id, sent string) {
				k.body = strings.NewReader(strings.ReplaceAll(c.answer, "NAME", provider))
				k.spec = c.spec
				k.spec.Provider = provider
				if previous != "" {
					previous = `,"previous_response_id":"` + previous + `"`
				}
				status, text := k.request(http.MethodPost, "", `{"model":"iris","input":[`+input+`]`+previous+`}`)
				require.Equal(t, http.StatusOK, status, text)
				var r struct{ ID string }
				require.NoError(t, json.Unmarshal([]byte(text), &r))
				return r.ID, string((<-k.turns).Body.Bytes())
			}
			first, _ := say("A", question, "")
			second, sent := say("B", question, first)
			require.Contains(t, sent, "I am A.")
			require.NotContains(t, sent, "seal of A")
			_, sent = say("A", question, second)
			require.Contains(t, sent, "seal of A", "its own goes back")
			require.NotContains(t, sent, "seal of B")

			thought := `{"type":"item_reference","id":"rs_` + strings.TrimPrefix(first, "resp_") + `_0"},` + question
			third, sent := say("B", thought, "")
			require.NotContains(t, sent, "seal of A")
			_, sent = say("A", thought, "")
			require.Contains(t, sent, "seal of A")
			_, sent = say("B", question, third)
			require.NotContains(t, sent, "seal of A", "the reference keeps whose it is")
			require.Contains(t, sent, "seal of B")
		})
	}
}

// TestAKeptCallOfABuiltInToolIsRefusedClearly goes on, by translation, from a response in which an earlier provider
// ran a tool.
func TestAKeptCallOfABuiltInToolIsRefusedClearly(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	k.spec = speaking(0)
	k.body = strings.NewReader(`{"id":"resp_1","object":"response","status":"completed","output":[
		{"type":"web_search_call","id":"ws_1","status":"completed"}]}`)
	_, text := k.request(http.MethodPost, "", `{"model":"iris","input":"x"}`)
	var r struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	k.spec = inference.Spec{}
	status, text := k.request(http.MethodPost, "", `{"model":"iris","input":"y","previous_response_id":"`+r.ID+`"}`)
	require.Equal(t, http.StatusBadRequest, status)
	for _, words := range []string{
		`previous_response_id[1] is of the type \"web_search_call\"`, "an earlier provider ran",
		"in place of previous_response_id send the conversation as input, without that item",
	} {
		require.Contains(t, text, words)
	}
}

// TestAKeptResponseIsReachedByItsPrincipalAlone is the isolation of kept responses: to everybody else they are as if
// they were not there.
func TestAKeptResponseIsReachedByItsPrincipalAlone(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	id, _ := k.made(`{"model":"iris","input":"My secret.","user":"carl"}`)
	for _, who := range []struct {
		as     string
		header []string
		status int
	}{
		{"ann", nil, http.StatusOK},
		{"ann", []string{"X-Oneiros-User", "carl"}, http.StatusOK},
		{"ann", []string{"X-Oneiros-User", "dora"}, http.StatusNotFound},
		{"bob", nil, http.StatusNotFound},
		{"narrow", nil, http.StatusNotFound}, // of the same principal, for another agent
	} {
		k.as = who.as
		for _, request := range []struct{ method, path, body string }{
			{http.MethodGet, "/" + id, ""},
			{http.MethodGet, "/" + id + "/input_items", ""},
			{http.MethodPost, "", `{"model":"iris","input":"x","previous_response_id":"` + id + `"}`},
		} {
			status, text := k.ask(request.method, request.path, request.body, who.header...)
			want, code := who.status, `"response_not_found"`
			if request.method == http.MethodPost && (who.as != "ann" || who.header == nil || who.status != http.StatusOK) {
				want, code = http.StatusBadRequest, `"previous_response_not_found"` // without a user it may read, and not go on
			}
			require.Equal(t, want, status, "%+v %+v: %s", who, request, text)
			if status != http.StatusOK {
				require.NotContains(t, text, "secret")
				require.Contains(t, text, code)
			}
		}
		if who.status == http.StatusNotFound {
			status, _ := k.ask(http.MethodDelete, "/"+id, "", who.header...)
			require.Equal(t, http.StatusNotFound, status)
			status, _ = k.ask(http.MethodPost, "/"+id+"/cancel", "", who.header...)
			require.Equal(t, http.StatusNotFound, status)
		}
	}
	k.as = "ann"
	status, _ := k.ask(http.MethodGet, "/"+id, "")
	require.Equal(t, http.StatusOK, status, "nobody else removed it")
}

func TestTheItemsOfAnInputAreListedInPages(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	first, _ := k.made(`{"model":"iris","input":[{"role":"user","content":"One."},{"role":"assistant","content":"Two."}]}`)
	second, _ := k.made(`{"model":"iris","input":"Four.","previous_response_id":"` + first + `"}`)
	read := func(query string) (texts []string, page struct {
		Data    []struct{ ID, Type string }
		LastID  string `json:"last_id"`
		HasMore bool   `json:"has_more"`
	},
	) {
		status, text := k.ask(http.MethodGet, "/"+second+"/input_items"+query, "")
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &page))
		for _, part := range strings.Split(text, `"text":"`)[1:] {
			text, _, _ := strings.Cut(part, `"`)
			texts = append(texts, text)
		}
		return texts, page
	}
	texts, page := read("?order=asc")
	require.Equal(t, []string{"One.", "Two.", "Yes.", "Four."}, texts)
	require.False(t, page.HasMore)
	for _, item := range page.Data {
		require.NotEmpty(t, item.ID)
		require.Equal(t, "message", item.Type)
	}
	texts, page = read("?limit=3")
	require.Equal(t, []string{"Four.", "Yes.", "Two."}, texts, "the newest first")
	require.True(t, page.HasMore)
	texts, page = read("?after=" + page.LastID)
	require.Equal(t, []string{"One."}, texts)
	require.False(t, page.HasMore)
	for _, query := range []string{"?limit=0", "?limit=101", "?order=up", "?after=none", "?page=2"} {
		status, _ := k.ask(http.MethodGet, "/"+second+"/input_items"+query, "")
		require.Equal(t, http.StatusBadRequest, status, query)
	}
}

// Libraries repeat the name of a list, with brackets (openai-node, openai-go) or without.
func TestAListInAQueryMayHaveSeveralValues(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	id, _ := k.made(`{"model":"iris","input":"One."}`)
	for query, want := range map[string]int{
		"?include=a&include=b":         http.StatusOK,
		"?include[]=a&include[]=b":     http.StatusOK,
		"?include%5B%5D=a&include=b":   http.StatusOK,
		"?include[0]=a":                http.StatusBadRequest,
		"?includes=a":                  http.StatusBadRequest,
		"?include[]=a&user=a&user=b":   http.StatusBadRequest,
		"?include[]=a&include[][]=b":   http.StatusBadRequest,
		"?include[]=a&include[]=b&a[]": http.StatusBadRequest,
	} {
		for _, path := range []string{"/" + id, "/" + id + "/input_items"} {
			status, text := k.ask(http.MethodGet, path+query, "")
			require.Equal(t, want, status, "%s%s: %s", path, query, text)
		}
	}
	for path, twice := range map[string]string{
		"/" + id:                  "?stream=false&stream=false",
		"/" + id + "/input_items": "?limit=1&limit=2",
	} {
		status, text := k.ask(http.MethodGet, path+twice, "")
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, text, "given twice")
	}
}

func TestAResponseIsRemovedAndEnds(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	id, _ := k.made(`{"model":"iris","input":"One."}`)
	status, text := k.ask(http.MethodPost, "/"+id+"/cancel", "")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "not_in_background")
	status, _ = k.ask(http.MethodGet, "/"+id+"?stream=true", "")
	require.Equal(t, http.StatusBadRequest, status)
	status, text = k.ask(http.MethodDelete, "/"+id, "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, fmt.Sprintf(`{"id":%q,"object":"response","deleted":true}`, id), text)
	status, _ = k.ask(http.MethodGet, "/"+id, "")
	require.Equal(t, http.StatusNotFound, status)

	id, _ = k.made(`{"model":"iris","input":"One."}`)
	k.now = k.now.Add(24 * time.Hour)
	status, _ = k.ask(http.MethodGet, "/"+id, "")
	require.Equal(t, http.StatusNotFound, status)
}

func TestWhatIsNotToBeKeptIsNot(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	id, _ := k.made(`{"model":"iris","input":"One.","store":false}`)
	status, _ := k.ask(http.MethodGet, "/"+id, "")
	require.Equal(t, http.StatusNotFound, status)
}

// failing is a store that keeps nothing.
type failing struct{ memory.Responses }

func (failing) PutResponse(context.Context, memory.KeptResponse, int) error {
	return errors.New("no room")
}

func TestAResponseThatCannotBeKeptSaysSo(t *testing.T) {
	t.Parallel()
	k := openKeeping(t)
	var failure error
	k.handler.Kept, k.handler.Failed = failing{}, func(err error) { failure = err }
	status, text := k.ask(http.MethodPost, "", `{"model":"iris","input":"One."}`)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `"store":false`)
	require.ErrorContains(t, failure, "no room")
}
