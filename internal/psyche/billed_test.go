package psyche

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

var listPrice = budget.Price{In: 1_000_000, CachedIn: 1_000_000, Out: 2_000_000}

// risingPrice is dearer for a prompt above some hundred tokens, as drawn bodies have them.
var risingPrice = budget.Price{
	In:           1_000_000,
	CachedIn:     1_000_000,
	Out:          2_000_000,
	LongFrom:     300,
	LongIn:       3_000_000,
	LongCachedIn: 3_000_000,
	LongOut:      5_000_000,
}

// billing are the models of a provider that charges: one that answers at once, one that thinks first and whose price
// rises with the prompt.
var billing = []provider.Model{{Name: "wire", Price: &listPrice}, {Name: "thinker", Price: &risingPrice, Thinks: 1}}

// sentAndReserved is what a provider would be sent for a body, and what would be reserved for it; an error where the
// body is refused.
func sentAndReserved(raw []byte, spec inference.Spec) (r inference.RelayRequest, reserved budget.Micros, err error) {
	b, err := readBody(raw)
	if err != nil {
		return r, 0, err
	}
	if !b.chat {
		return r, 0, errors.New("no array of messages")
	}
	service := new(Service)
	service.o = Options{}.filled()
	t := &turn{service: service, Turn: Turn{Body: b, Path: "/chat/completions"}, spec: spec}
	t.ceiling, err = b.costBound(t.limits())
	if err != nil {
		return r, 0, err
	}
	w, changes := t.worst()
	price := spec.Price.Dearer(w.Times)
	r = inference.RelayRequest{Body: spliced(raw, append(changes, b.model(spec.Wire)))}
	t.cached(&w, &r)
	return r, price.Worst(w.In, plus(w.Out, spend.Overrun)), nil
}

// overbilled is a reading by which a provider could charge more than this percentage of what was reserved; empty when
// there is none.
func overbilled(raw []byte, percent budget.Micros) (how provider.Reading, text string, refused error) {
	for _, spec := range []inference.Spec{
		{
			Name:     "p/wire",
			Provider: "p",
			Wire:     "wire",
			Price:    &listPrice,
			Context:  window,
		},
		{
			Name:      "p/thinker",
			Provider:  "p",
			Wire:      "thinker",
			Price:     &risingPrice,
			Context:   window,
			Reasoning: true,
		},
	} {
		r, reserved, err := sentAndReserved(raw, spec)
		if err != nil {
			refused = err
			continue
		}
		sent := r.Body
		if len(sent) < 1<<20 && !json.Valid(sent) {
			return "none", fmt.Sprintf("%q became %q", raw, sent), nil
		}
		for _, how := range provider.Readings() {
			bill := how.Bill(sent, billing, window, defaultThinking)
			if cost := bill.Cost(); cost > reserved/100*percent+reserved%100*percent/100 {
				return how,
					fmt.Sprintf("%s: %q as %q could cost %s (%+v), reserved was %s", spec.Name, raw, sent, cost, bill,
						reserved), nil
			}
		}
	}
	return "", "", refused
}

// bodies draws requests with odd fields: duplicate names, other cases and escapes, values of any kind.
func bodies() *rapid.Generator[string] {
	names := []string{
		"model", "messages", "max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of", "stream",
		"stream_options", "tools",
		"reasoning", "reasoning_effort", "thinking", "prediction", "service_tier", "models", "plugins", "modalities",
		"web_search_options",
		"unknown", "metadata",
	}
	usual := map[string][]string{
		"model": {`"echo"`, "null"}, "max_tokens": {"1", "500", "8000", "null", "128000"},
		"max_completion_tokens": {"7", "9000", "null"},
		"max_output_tokens":     {"70000", "null"}, "n": {"1", "3", "128", "null"}, "best_of": {"2", "128"},
		"stream":         {"true", "false", "null"},
		"stream_options": {`{"include_usage":true}`, "{}", "null"},
		"tools":          {`[{"type":"function","function":{"name":"f"}}]`, "[]", "null"},
		"reasoning":      {`{"max_tokens":60000}`, `{"effort":"high"}`}, "reasoning_effort": {`"high"`, `"none"`},
		"thinking":     {`{"type":"enabled","budget_tokens":50000}`},
		"prediction":   {`{"type":"content","content":"abcabcabc"}`},
		"service_tier": {`"default"`, "null"}, "models": {"null", "[]"}, "plugins": {"[]"}, "modalities": {`["text"]`},
		"web_search_options": {"null"}, "unknown": {"7", `{"a":[1,{"b":null}]}`}, "metadata": {`{"model":"x"}`},
	}
	odd := []string{
		"null", "0", "-1", "-9007199254740992", "9007199254740992", "99999999999999999999999999", "1e18", "1.5",
		"7.0", `"7"`, `"100000"`, "true",
		"[]", "[7]", "{}", `"priority"`, `["gpt-5-pro"]`, `[{"type":"web_search"}]`, `[{"id":"web"}]`,
		`{"max_tokens":1e6}`, `["text","audio"]`,
		`"gpt-5-pro"`, `{"include_usage":null}`, `{"budget_tokens":"90000"}`,
	}
	parts := []string{
		`{"type":"text","text":"one two three"}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}`,
		`{"type":"text","text":"a","text":"bbbbbbbbbbbbbbbbbbbbb"}`,
		`{"type":"text","Text":"cccccccccccccc","text":"c"}`,
		`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`,
		`{"type":"video_url","video_url":{"url":"https://x"}}`,
		`{"type":"hologram"}`, `{"type":"image_url","image_url":{"url":"https://example.org/film.mp4"}}`, `"bare"`,
		`{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}`,
		`{"type":"image_url","image_url":{"url":"data:image/svg+xml;utf8,<svg/>"}}`,
		`{"type":"folder","id":"1","image_url":"data:image/png;base64,AA"}`,
		`{"type":"text","type":"file"}`,
		`{"text":"y","image_url":{"url":"data:image/png;base64,AA"}}`,
	}
	spelling := func(r *rapid.T, name string) string {
		i := rapid.IntRange(0, len(name)-1).Draw(r, "letter")
		switch rapid.IntRange(0, 19).Draw(r, "spelling") {
		case 0:
			return name[:i] + strings.ToUpper(name[i:i+1]) + name[i+1:]
		case 1:
			return name[:i] + fmt.Sprintf(`\u%04x`, name[i]) + name[i+1:]
		case 2:
			return strings.Replace(strings.Replace(name, "s", "ſ", 1), "k", "\u212a", 1)
		}
		return name
	}
	return rapid.Custom(func(r *rapid.T) string {
		message := func() string {
			role, text := spelling(r, "role"), spelling(r, "content")
			content := `"` + strings.Repeat("word ", rapid.IntRange(0, 2000).Draw(r, "words")) + `"`
			if rapid.Bool().Draw(r, "in parts") {
				content = "[" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 3).Draw(r, "parts"), ",") + "]"
			}
			return fmt.Sprintf(`{"%s":"user","%s":%s}`, role, text, content)
		}
		fields := []string{fmt.Sprintf(`"messages":[%s]`, message())}
		for range rapid.IntRange(0, 5).Draw(r, "fields") {
			name := rapid.SampledFrom(names).Draw(r, "name")
			values := usual[name]
			if len(values) == 0 || rapid.IntRange(0, 5).Draw(r, "odd") == 0 {
				values = odd
			}
			if name == "messages" {
				values = []string{"[" + message() + "," + message() + "]", "null", `"Hi"`}
			}
			fields = append(fields,
				fmt.Sprintf(`"%s":%s`, spelling(r, name), rapid.SampledFrom(values).Draw(r, "value")))
		}
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "order"), 0))
		dice.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		return "{" + strings.Join(fields, ",") + "}"
	})
}

func TestNoProviderCouldBillMoreThanWasReserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		how, text, _ := overbilled([]byte(bodies().Draw(r, "body")), 100)
		require.Empty(r, how, "%s", text)
	})
}

// The control: with half the reservation the generated bodies would exceed it, and many of them are not refused.
func TestHalfOfAReservationWouldNotDo(t *testing.T) {
	t.Parallel()
	all := bodies()
	taken, over := 0, 0
	for seed := range 1000 {
		how, _, refused := overbilled([]byte(all.Example(seed)), 50)
		if refused == nil {
			taken++
		}
		if how != "" {
			over++
		}
	}
	require.Greater(t, taken, 200, "enough bodies are taken")
	require.Greater(t, over, 50, "half is not enough")
}

// FuzzBodyBill looks for a body that some provider could charge beyond its reservation.
func FuzzBodyBill(f *testing.F) {
	inputs, err := filepath.Glob("testdata/bodies/*/in.json")
	require.NoError(f, err)
	for _, in := range inputs {
		raw, err := os.ReadFile(in)
		require.NoError(f, err)
		f.Add(raw)
	}
	all := bodies()
	for seed := range 50 {
		f.Add([]byte(all.Example(seed)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if how, text, _ := overbilled(raw, 100); how != "" {
			t.Fatal(text)
		}
	})
}
