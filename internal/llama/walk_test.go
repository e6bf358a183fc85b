package llama

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// follow walks a text; how far it came, and whether it may end there.
func follow(t *testing.T, schema, text string) (int, walk) {
	t.Helper()
	f, err := readForm([]byte(schema))
	require.NoError(t, err)
	w := walkOf(f)
	for i := range len(text) {
		next, ok := w.after([]byte{text[i]})
		if !ok {
			return i, w
		}
		w = next
	}
	return len(text), w
}

func TestAnAnswerIsHeldToItsSchema(t *testing.T) {
	t.Parallel()
	const person = `{"type":"object","properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0,"maximum":120},"kind":{"enum":["a","ab",3,null]}}}`
	const list = `{"type":"array","minItems":1,"maxItems":2,"items":{"$ref":"#/$defs/n"},"$defs":{"n":{"anyOf":[{"type":"number","minimum":-1,"maximum":0.5}]}}}`
	for _, c := range []struct {
		schema, text string
		whole        bool
	}{
		{person, `{"name":"Ada","age":36,"kind":"ab"}`, true},
		{person, `{"name": "\u00e9\n\"", "age": 0, "kind": null}`, true},
		{person, `{"name":"é😀","age":120,"kind":3}`, true},
		{person, `{"name":""`, false},
		{person, `{"name":"x","age":121`, false},
		{person, `{"name":"x","age":-`, false},
		{person, `{"name":"x","age":01`, false},
		{person, `{"name":"x","age":1.`, false},
		{person, `{"name":"x","age":3,"kind":"abc"`, false},
		{person, `{"age"`, false},
		{person, `{"name":"\ud8`, false},
		{person, "{\"name\":\"\n", false},
		{person, "{\"name\":\"\xc3(", false},
		{list, `[0.25, -1]`, true},
		{list, `[-0.9999]`, true},
		{list, `[]`, false},
		{list, `[0.6`, false},
		{list, `[0.1,0.2,`, false},
		{`{"type":"boolean"}`, `true`, true},
		{`{"type":["null","integer"],"minimum":300,"maximum":900}`, `450`, true},
		{`{"type":"integer","minimum":300,"maximum":900}`, `299`, false},
		{`{"type":"integer","minimum":300,"maximum":900}`, `1`, false},
		{`{"const":{"a":[1,2]}}`, `{"a":[1,2]}`, true},
		{`{"type":"object"}`, `{}`, true},
		{`{"type":"string","maxLength":2}`, `"é😀"`, true},
		{`{"type":"string","maxLength":2}`, `"abc`, false},
	} {
		n, w := follow(t, c.schema, c.text)
		if c.whole {
			require.Equal(t, len(c.text), n, "%s stops at %q", c.text, c.text[:n])
			require.True(t, w.complete(), c.text)
			require.True(t, json.Valid([]byte(c.text)))
		} else {
			require.False(t, n == len(c.text) && w.complete(), c.text)
		}
	}
}

func TestSchemasThatNothingFitsAreRefused(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`[]`: "no JSON Schema", `{"type":"date"}`: "none of JSON", `{"$ref":"#/$defs/x"}`: "points nowhere",
		`{"type":"integer","minimum":3,"maximum":2}`:              "cannot be",
		`{"type":"integer","minimum":0.2,"maximum":0.8}`:          "can be written",
		`{"type":"string","minLength":3,"maxLength":2}`:           "cannot be",
		`{"type":"array","minItems":3,"maxItems":2}`:              "cannot be",
		`{"type":"object","properties":[]}`:                       "must be an object",
		`{"$ref":"#/$defs/x","$defs":{"x":{"$ref":"#/$defs/x"}}}`: "deeper",
	} {
		_, err := readForm([]byte(schema))
		require.ErrorContains(t, err, want, schema)
	}
}

// TestAnyWalkEndsInTimeAndIsJSON walks at random, letter by letter, with room for few letters: what is missing never
// outgrows it.
func TestAnyWalkEndsInTimeAndIsJSON(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"fragments":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"object","properties":{` +
		`"text":{"type":"string","minLength":2},"score":{"type":"number","minimum":0,"maximum":1},"rank":{"type":"integer","minimum":12,"maximum":40},` +
		`"sources":{"type":"array","items":{"type":"string"}}}}},"verdict":{"enum":["keep","drop"]},"ok":{"type":"boolean"}}}`
	f, err := readForm([]byte(schema))
	require.NoError(t, err)
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, 1))
		room := f.shortest + int(dice.UintN(120))
		w, text := walkOf(f), []byte{}
		for len(w.stack) > 0 {
			var open []byte
			for b := range 256 {
				if next, ok := w.after([]byte{byte(b)}); ok && next.need() < room-len(text) {
					open = append(open, byte(b))
				}
			}
			require.NotEmpty(t, open, "nothing goes on from %q with %d letters left", text, room-len(text))
			b := open[dice.IntN(len(open))]
			w, _ = w.after([]byte{b})
			text = append(text, b)
		}
		require.LessOrEqual(t, len(text), room)
		require.True(t, utf8.Valid(text))
		var v struct {
			Fragments []struct {
				Score float64
				Rank  int
			}
			Verdict string
		}
		require.NoError(t, json.Unmarshal(text, &v), "%q", text)
		require.NotEmpty(t, v.Fragments)
		for _, fragment := range v.Fragments {
			require.GreaterOrEqual(t, fragment.Rank, 12)
			require.LessOrEqual(t, fragment.Rank, 40)
			require.LessOrEqual(t, fragment.Score, 1.0)
		}
		require.Contains(t, []string{"keep", "drop"}, v.Verdict)
	}
}

func FuzzAWalkThatEndsHasMadeJSON(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"number"}}}`, `{"a": -1.5}`)
	f.Add(`{"type":"array","items":{"enum":[1,10,"x"]}}`, `[10, 1,"x"]`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		form, err := readForm([]byte(schema))
		if err != nil || len(schema) > 500 || len(text) > 500 {
			return
		}
		w := walkOf(form)
		for i := range len(text) {
			next, ok := w.after([]byte{text[i]})
			if !ok {
				return
			}
			w = next
		}
		if w.complete() && !json.Valid([]byte(text)) {
			t.Fatalf("%q is no JSON and fits %q", text, strings.ToValidUTF8(schema, "?"))
		}
	})
}

// A small schema whose parts point at others many times over would be a form of millions of parts: it is refused
// at once.
func TestASchemaThatUnfoldsWithoutMeasureIsRefused(t *testing.T) {
	t.Parallel()
	var defs []string
	for level := range 5 {
		var properties []string
		for i := range 60 {
			properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/n%d"}`, i, level+1))
		}
		defs = append(defs,
			fmt.Sprintf(`"n%d":{"type":"object","properties":{%s}}`, level, strings.Join(properties, ",")))
	}
	_, err := readForm([]byte(`{"$ref":"#/$defs/n0","$defs":{` + strings.Join(defs, ",") + `,"n5":{"type":"string"}}}`))
	require.ErrorContains(t, err, "it has more than 10000 parts")

	var wide []string
	for i := range 2000 {
		wide = append(wide, fmt.Sprintf(`"p%d":{"enum":[%d,true]}`, i, i))
	}
	_, err = readForm([]byte(`{"type":"object","properties":{` + strings.Join(wide, ",") + `}}`))
	require.NoError(t, err, "a wide one is none of those")
}
