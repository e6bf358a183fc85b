package dreamhttp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// refusedWell checks that an error is the caller's, in one sentence that can be shown.
func refusedWell(t *testing.T, err error) {
	t.Helper()
	var f *psyche.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, http.StatusBadRequest, f.Status)
	require.NotEmpty(t, f.Message)
	require.True(t, utf8.ValidString(f.Message))
	require.Less(t, len(f.Message), 2000, "it quotes little of what was sent")
	require.LessOrEqual(t, len(f.Param), 64)
}

// FuzzARequestIsReadWholeOrRefused: whatever the body of POST /v1/dreams is, it is read correctly or refused, and no
// unknown field is ignored.
func FuzzARequestIsReadWholeOrRefused(f *testing.F) {
	for _, body := range []string{
		`{"agent":"iris"}`,
		`{"agent":"iris","instructions":"the harbour","tier":"core","model":"house/large","models":{"observer":"house/small"},"budget_micros":250000,"seed":"18446744073709551615"}`,
		`{"agent":"iris","theme":"\ud800","seed":1e3}`, `{"agent":null,"seed":7}`, `{"agent":"iris","agent":7}`,
		`[{}]`, "null", "", "{", `{"a":{"b":[[[]]]}}`,
		`{"agent":"iris"}{}`, `{"AGENT":"iris"}`, "\xef\xbb\xbf{}", `{"seed":"-0"}`, `{"models":{"":""}}`,
		`{"budget_micros":9223372036854775808}`,
	} {
		f.Add([]byte(body))
	}
	existing := map[string]bool{
		"agent": true, "instructions": true, "theme": true, "tier": true, "model": true,
		"models": true, "budget_micros": true, "seed": true,
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in Begin
		var request psyche.DreamRequest
		err := params.Object(httptest.NewRequest(http.MethodPost, "/v1/dreams", strings.NewReader(string(body))), &in)
		if err == nil {
			request, err = in.request()
		}
		if err != nil {
			refusedWell(t, err)
			return
		}
		var given map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(body, &given), "what is no JSON object is refused")
		for name := range given {
			require.True(t, existing[name], "%q was passed over", name)
		}
		require.False(t, strings.ContainsFunc(request.Theme, unprintable))
		if n := request.Seed; n != nil {
			require.Contains(t, string(given["seed"]), strconv.FormatUint(*n, 10)[1:])
		}
		require.Equal(t, request.Budget != nil,
			len(given["budget_micros"]) > 0 && string(given["budget_micros"]) != "null")
		var model string
		if len(given["model"]) > 0 && json.Unmarshal(given["model"], &model) == nil && model != "" {
			require.NotEmpty(t, request.Models[dream.Generator])
		}
	})
}

// FuzzAQueryIsReadOrRefused does the same for query strings.
func FuzzAQueryIsReadOrRefused(f *testing.F) {
	for _, raw := range []string{
		"", "limit=7&after=x", "limit=-1", "limit=1e2", "after=%zz", "a;b",
		"limit=1&limit=2", "text=true&type=A,B", "after=9223372036854775808", "=", "&&&",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/dreams", nil)
		r.URL.RawQuery = raw
		q, err := params.QueryOf(r, "after", "limit", "type", "text")
		if err != nil {
			refusedWell(t, err)
			return
		}
		limit, after := q.Limit(psyche.LargestPage), q.WholeNumber("after", 0)
		q.Bool("text")
		q.List("type")
		if q.Fault != nil {
			refusedWell(t, q.Fault)
			return
		}
		require.True(t, limit >= 0 && limit <= psyche.LargestPage)
		require.GreaterOrEqual(t, after, int64(0))
	})
}

// FuzzADreamIsNamedOneWay: a parsed name is the name of one dream, and its two spellings name the same one.
func FuzzADreamIsNamedOneWay(f *testing.F) {
	for _, name := range []string{
		"dream/iris/0001", "dream_iris_0001", "dream_a_b_0001", "dream/a_0001/0002",
		"dream__0001", "dream/iris/00010/0001", "dream_iris_99999999999999999999",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		id, handle, ok := psyche.DreamID(name)
		if !ok {
			return
		}
		require.True(t, strings.HasPrefix(id, "dream/"+handle+"/"), id)
		public := psyche.PublicID(id)
		require.NotContains(t, public, "/")
		require.Contains(t, []string{id, public}, name)
		again, whose, ok := psyche.DreamID(public)
		require.True(t, ok)
		require.Equal(t, id, again)
		require.Equal(t, handle, whose)
	})
}
