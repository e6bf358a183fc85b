package params_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

type inner struct {
	Name string `json:"name"`
}

type outer struct {
	Text    string            `json:"text"`
	On      *bool             `json:"on"`
	Count   int               `json:"count"`
	Score   *float64          `json:"score,omitempty"`
	At      time.Time         `json:"at"`
	Words   []string          `json:"words"`
	Meta    map[string]string `json:"meta"`
	One     *inner            `json:"one"`
	Many    []inner           `json:"many"`
	Ignored string            `json:"-"`
}

func object(body string) (outer, error) {
	var v outer
	err := params.Object(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), &v)
	return v, err
}

func TestAnObjectIsReadIntoAStruct(t *testing.T) {
	t.Parallel()
	on, score := false, .5
	got, err := object(`{"text":"a","on":false,"count":-2,"score":0.5,"at":"2026-11-23T08:00:00Z","words":["b","c"],
		"meta":{"d":"e"},"one":{"name":"f"},"many":[{"name":"g"},{}]}`)
	require.NoError(t, err)
	require.Equal(t, outer{
		Text:  "a",
		On:    &on,
		Count: -2,
		Score: &score,
		At:    time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC),
		Words: []string{"b", "c"},
		Meta:  map[string]string{"d": "e"},
		One:   &inner{"f"},
		Many:  []inner{{"g"}, {}},
	}, got)
	got, err = object(`{"text":null,"on":null,"one":null,"many":null}`)
	require.NoError(t, err)
	require.Equal(t, outer{}, got)
}

func TestAFaultOfAnObjectNamesTheFieldAndWhatIsRight(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][2]string{
		`{"text":7}`:                    {"text", "text must be a string"},
		`{"Text":"a"}`:                  {"Text", `field "Text" is unknown; fields are at, count, many, meta, on, one, score`},
		`{"Ignored":"a"}`:               {"Ignored", "is unknown"},
		`{"on":0}`:                      {"on", "on must be true or false"},
		`{"count":1.5}`:                 {"count", "count must be a whole number"},
		`{"score":"1"}`:                 {"score", "score must be a number"},
		`{"at":"noon"}`:                 {"at", `at is "noon"; it must be a time of RFC 3339`},
		`{"words":"a"}`:                 {"words", "words must be a list"},
		`{"words":["a", null]}`:         {"words[1]", "words[1] must be a string"},
		`{"meta":[]}`:                   {"meta", "meta must be an object of strings"},
		`{"one":[]}`:                    {"one", "one must be an object"},
		`{"one":{"name":"a","age":1}}`:  {"one.age", `field "one.age" is unknown; fields are name`},
		`{"one":{"name":"a","name":1}}`: {"one.name", `field "one.name" is given twice`},
		`{"many":[{},{"name":1}]}`:      {"many[1].name", "many[1].name must be a string"},
		`{"many":[{},null]}`:            {"many[1]", "many[1] must be an object"},
		`{"count":"x","text":1}`:        {"count", "count must be a whole number; text must be a string"},
	} {
		_, err := object(body)
		var f *psyche.Fault
		require.ErrorAs(t, err, &f, body)
		require.Equal(t, []any{http.StatusBadRequest, "invalid_value", want[0]}, []any{f.Status, f.Code, f.Param}, body)
		require.Contains(t, f.Message, want[1], body)
	}
}
