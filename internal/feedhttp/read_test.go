package feedhttp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

func n(metric string, number float64) dream.Reading {
	return dream.Reading{Metric: metric, Number: &number}
}

func quote(metric string, number float64, state string) dream.Reading {
	return dream.Reading{Metric: metric, Number: &number, State: state}
}

func TestReadingsAreFoundWhereThePathSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, document, path string
		want                 []dream.Reading
	}{
		{"a number", `{"data":{"rates":[1,2.5]}}`, "$.data.rates[1]", []dream.Reading{n("", 2.5)}},
		{"without the dollar", `{"data":{"rates":[1,2.5]}}`, "data.rates[0]", []dream.Reading{n("", 1)}},
		{"the document itself", `7`, "", []dream.Reading{n("", 7)}},
		{"a name with a dash", `{"eth-usd":3}`, "$['eth-usd']", []dream.Reading{n("", 3)}},
		{"the last one", `[1,2,3]`, "$[-1]", []dream.Reading{n("", 3)}},
		{
			"a number in quotes", `{"symbol":"ETH","price":"3120.10"}`, "price",
			[]dream.Reading{quote("", 3120.1, "3120.10")},
		},
		{"a word", `{"status":"paused"}`, "status", []dream.Reading{{State: "paused"}}},
		{"a truth", `{"paused":true}`, "paused", []dream.Reading{{State: "true"}}},
		{
			"an object by its members", `{"eth":{"usd":3120.1,"change":null,"name":"Ether","of":{}}}`, "eth",
			[]dream.Reading{{Metric: "name", State: "Ether"}, n("usd", 3120.1)},
		},
		{
			"readings that name themselves",
			`[{"metric":"price","value":"5"},{"metric":"pool","state":"open"},{"metric":"gas","number":3}]`, "",
			[]dream.Reading{quote("price", 5, "5"), {Metric: "pool", State: "open"}, n("gas", 3)},
		},
		{
			"one that names itself and its time", `{"metric":"gas","number":3,"at":"2026-10-19T22:00:00Z"}`, "$",
			[]dream.Reading{
				{At: time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC), Metric: "gas", Number: n("", 3).Number},
			},
		},
		{
			"a filter", `[{"s":"BTC","metric":"x","value":1},{"s":"ETH","metric":"y","value":2}]`, "$[?(@.s == 'ETH')]",
			[]dream.Reading{n("y", 2)},
		},
		{"no number but looks like one", `{"v":"0x10"}`, "v", []dream.Reading{{State: "0x10"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Read([]byte(c.document), c.path)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAnErrorAboutAReadingNamesItsPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ document, path, want string }{
		{`{"a":1}`, "b", `path "b": it leads to nothing`},
		{`{"a":null}`, "a", `path "a": it leads to null`},
		{`{"a":{}}`, "a", "the object there has neither a number nor a word"},
		{`{"a":[1,2]}`, "a", "element 0 of the array: it is no object with a metric and a number or a state"},
		{`{"a":[1,2]}`, "a[*]", "it leads to 2 numbers or words without names"},
		{`{"a":"` + strings.Repeat("x", 65) + `"}`, "a", "a state is a word"},
		{`[{"metric":"a","value":1,"at":"yesterday"}]`, "", "the time of a reading must be like"},
		{`{"a":1} x`, "a", "its answer is not JSON"},
		{``, "", "its answer is not JSON"},
		{`{"a":1e999}`, "a", "its answer is not JSON"},
		{`1`, strings.Repeat("a", 501), "the path is 501 bytes long"},
	} {
		_, err := Read([]byte(c.document), c.path)
		require.ErrorContains(t, err, c.want, c.document)
	}
}

func TestAPushIsOneReadingOrAnArrayOfThem(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]dream.Reading{
		`{"metric":"price","number":100}`: {n("price", 100)},
		` [{"number":1},{"number":2}] `:   {n("", 1), n("", 2)},
		`{"state":"paused"}`:              {{State: "paused"}},
		`{"number":0,"at":"2026-10-19T22:00:00Z"}`: {
			{At: time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC), Number: n("", 0).Number},
		},
	} {
		got, err := ParsePush([]byte(body))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for body, want := range map[string]string{
		``:                                "it is empty",
		`[]`:                              "there are 0 readings; 1 to 64 at once",
		`{}`:                              "has neither a number nor a state",
		`null`:                            "has neither a number nor a state",
		`{"value":3}`:                     `unknown field "value"; it must be one reading`,
		`{"number":"3"}`:                  "number is a string",
		`{"number":3} {"number":4}`:       "something follows the JSON value",
		`{"number":3,"at":"yesterday"}`:   "read the body: ",
		`[{"number":1},{"metric":"eth"}]`: `the reading of "eth" has neither a number nor a state`,
		"[" + strings.Repeat(`{"number":1},`, 64) + `{"number":1}]`: "there are 65 readings",
	} {
		_, err := ParsePush([]byte(body))
		require.ErrorContains(t, err, want, body)
	}
}

func FuzzPushed(f *testing.F) {
	for _, seed := range []string{
		`{"metric":"price","number":100}`, `[{"state":"paused"}]`, `[`,
		`{"at":"2026-10-19T22:00:00Z","number":1e308}`, "null",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		readings, err := ParsePush(body)
		if err != nil {
			return
		}
		require.NotEmpty(t, readings)
		require.LessOrEqual(t, len(readings), alarm.MostReadings)
		for _, r := range readings {
			require.NoError(t, alarm.ValidateReading(r))
		}
		_, err = json.Marshal(readings)
		require.NoError(t, err)
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"data":[{"price":"67000.5","metric":"x"}]}`), "$.data[0].price")
	f.Add([]byte(`[{"metric":"a","value":1,"at":"2026-10-19T22:00:00Z"}]`), "$[?(@.metric == 'a')]")
	f.Add([]byte(`{"a":[1,[2,{"b":null}]]}`), "$..b")
	f.Add([]byte(`{"a":1}`), "$[?(@ =~ /a/)]")
	f.Fuzz(func(t *testing.T, document []byte, path string) {
		readings, err := Read(document, path)
		if err != nil {
			return
		}
		for _, r := range readings {
			require.NoError(t, alarm.ValidateReading(r))
		}
		_, err = json.Marshal(readings)
		require.NoError(t, err)
	})
}
