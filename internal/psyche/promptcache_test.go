package psyche_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/anthropicgw"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// cachingProvider bills as Anthropic's prompt cache does: a token for four bytes, prompts from 1,024 tokens on, up to
// each mark, found again within 20 blocks before a mark.
type cachingProvider struct {
	t      *testing.T
	kept   map[string]bool // beginnings of prompts
	bill   budget.Micros
	marked int // requests with a mark
	most   int // marks of a request
}

const keptFrom = 1024

var sonnet = budget.Price{In: 3_000_000, CachedIn: 300_000, Out: 15_000_000}

func (c *cachingProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Tools, System []map[string]any
		Messages      []struct {
			Role    string
			Content []map[string]any
		}
	}
	if !c.checked(json.NewDecoder(r.Body).Decode(&request)) {
		return
	}
	blocks := append(request.Tools, request.System...)
	for _, m := range request.Messages {
		for _, b := range m.Content {
			b["role"] = m.Role
			blocks = append(blocks, b)
		}
	}
	var beginning strings.Builder
	var beginnings []string
	var marks []int
	for i, b := range blocks {
		if b["cache_control"] != nil {
			marks = append(marks, i)
			delete(b, "cache_control")
		}
		text, err := json.Marshal(b)
		if !c.checked(err) {
			return
		}
		beginning.Write(text)
		beginnings = append(beginnings, beginning.String())
	}
	read, written := 0, 0
	for _, mark := range marks {
		for i := mark; i >= max(0, mark-20); i-- {
			if c.kept[beginnings[i]] {
				read = max(read, len(beginnings[i])/4)
			}
		}
	}
	for _, mark := range marks {
		if n := len(beginnings[mark]) / 4; n >= keptFrom {
			c.kept[beginnings[mark]] = true
			written = max(written, n-read)
		}
	}
	if len(marks) > 0 {
		c.marked++
	}
	c.most = max(c.most, len(marks))
	all, out := beginning.Len()/4, 150
	c.bill += sonnet.Cost(budget.Tokens{In: int64(all), Cached: int64(read), Out: int64(out)}) +
		sonnet.Cost(budget.Tokens{In: int64(written+3) / 4})
	w.Header().Set("Content-Type", "application/json")
	_, err := fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"text",
		"text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":%d,"cache_read_input_tokens":%d,
		"cache_creation_input_tokens":%d,
		"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},
		"output_tokens":%d}}`, answerOfTalk, all-read-written, read, written, written, out)
	c.checked(err)
}

// checked fails the test for an error.
func (c *cachingProvider) checked(err error) bool {
	if err != nil {
		c.t.Error(err)
	}
	return err == nil
}

var (
	answerOfTalk = strings.Repeat("The harbour is quiet. ", 27)
	rulesOfTalk  = strings.Repeat("Answer as the harbour master would. ", 170)
)

// talkOf has a talk of so many turns with a model that caches from so many tokens on, and returns what was billed.
func talkOf(t *testing.T, turns, from int, more string) *cachingProvider {
	t.Helper()
	c := &cachingProvider{t: t, kept: map[string]bool{}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	table := inference.Table{}
	maps.Copy(table, catalogue())
	table["p/claude"] = inference.Spec{
		Name:      "p/claude",
		Provider:  "p",
		Wire:      "claude",
		Price:     &sonnet,
		Context:   200_000,
		CacheFrom: from,
	}
	g, err := anthropicgw.New(anthropicgw.Options{Name: "p", BaseURL: s.URL, Catalog: table})
	require.NoError(t, err)
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		p.Guard.Catalog, p.Relay = table, g
		o.Talker = "p/claude"
	})
	spoken := []string{fmt.Sprintf(`{"role":"system","content":%q}`, rulesOfTalk)}
	for i := range turns {
		question := strings.Repeat(fmt.Sprintf("What happened on day %d at the quay? ", i), 8)
		spoken = append(spoken, fmt.Sprintf(`{"role":"user","content":%q}`, question))
		r.talk(turn(ann, `{"model":"echo","max_tokens":400,`+more+`"messages":[`+strings.Join(spoken, ",")+`]}`))
		spoken = append(spoken, fmt.Sprintf(`{"role":"assistant","content":%q}`, answerOfTalk))
	}
	r.settle()
	rows, err := r.store.Ledger().Rows(t.Context(), spend.Query{Agent: r.agent.ID})
	require.NoError(t, err)
	require.Len(t, rows, turns)
	counted := budget.Micros(0)
	for _, row := range rows {
		require.Equal(t, spend.Settled, row.State)
		require.LessOrEqual(t, row.Counted, row.Reserved)
		counted += row.Counted
	}
	require.InDelta(t, float64(c.bill), float64(counted), float64(turns), "the ledger has what was billed, rounded up")
	require.GreaterOrEqual(t, counted, c.bill-budget.Micros(turns))
	return c
}

// A talk on Anthropic's wire marks what it begins with, from its second turn on, or where it has tools. Twenty turns
// cost less than half of what they would without.
func TestATalkIsReadFromTheProvidersCache(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","function":{"name":"f"}}],`
	cached, plain := talkOf(t, 20, keptFrom, ""), talkOf(t, 20, 0, "")
	require.Equal(t, 19, cached.marked, "the first turn may be the only one")
	require.Equal(t, 3, cached.most)
	require.Zero(t, plain.marked)
	require.Less(t, cached.bill, plain.bill/2)
	t.Logf("20 turns: %s with the provider's cache, %s without", cached.bill, plain.bill)
	require.Equal(t, 20, talkOf(t, 20, keptFrom, tools).marked)
	require.Zero(t, talkOf(t, 2, 100_000, tools).marked, "it is too short to be kept")
	require.Zero(t, talkOf(t, 1, keptFrom, "").marked)
	two := talkOf(t, 2, keptFrom, "")
	t.Logf("2 turns: %s with the provider's cache, %s without", two.bill, talkOf(t, 2, 0, "").bill)
}
