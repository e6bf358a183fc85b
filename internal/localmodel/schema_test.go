package localmodel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// fits is a small validator: it names the first place where a value breaks its schema.
func fits(schema map[string]any, value any, at string) error {
	if choices, ok := schema["enum"].([]any); ok && !slices.Contains(choices, value) {
		return fmt.Errorf("%s: %v is none of %v", at, value, choices)
	}
	switch schema["type"] {
	case "object":
		object, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %T is no object", at, value)
		}
		props, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := object[name.(string)]; !ok {
				return fmt.Errorf("%s: %v is missing", at, name)
			}
		}
		for name, inner := range object {
			part, ok := props[name].(map[string]any)
			if !ok {
				return fmt.Errorf("%s: %s is not in the schema", at, name)
			}
			if err := fits(part, inner, at+"."+name); err != nil {
				return err
			}
		}
	case "array":
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s: %T is no array", at, value)
		}
		if low, ok := schema["minItems"].(float64); ok && float64(len(list)) < low {
			return fmt.Errorf("%s: %d items", at, len(list))
		}
		if high, ok := schema["maxItems"].(float64); ok && float64(len(list)) > high {
			return fmt.Errorf("%s: %d items", at, len(list))
		}
		for i, element := range list {
			if err := fits(schema["items"].(map[string]any), element, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "string":
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%s: %T is no string", at, value)
		}
		if low, ok := schema["minLength"].(float64); ok && float64(utf8.RuneCountInString(text)) < low {
			return fmt.Errorf("%s: %q is too short", at, text)
		}
		if high, ok := schema["maxLength"].(float64); ok && float64(utf8.RuneCountInString(text)) > high {
			return fmt.Errorf("%s: %q is too long", at, text)
		}
		if p, ok := schema["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(text) {
			return fmt.Errorf("%s: %q does not match %s", at, text, p)
		}
	case "number", "integer":
		n, ok := value.(float64)
		if !ok {
			return fmt.Errorf("%s: %T is no number", at, value)
		}
		if low, ok := schema["minimum"].(float64); ok && n < low {
			return fmt.Errorf("%s: %v is too low", at, n)
		}
		if high, ok := schema["maximum"].(float64); ok && n > high {
			return fmt.Errorf("%s: %v is too high", at, n)
		}
		if schema["type"] == "integer" && n != float64(int64(n)) {
			return fmt.Errorf("%s: %v is no integer", at, n)
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("%s: %T is no boolean", at, value)
		}
	}
	return nil
}

func prompts() []prompt.Text {
	self := prompt.Self{Handle: "echo", Interests: []string{"the harbour"}}
	rules := prompt.Lines("p", "When Mara cannot sleep, keep her company first.",
		"Read the tide table aloud before any plan.")
	lines := prompt.Lines("r", memories...)
	return []prompt.Text{
		prompt.Induce(prompt.OnsetInput{Self: self, Lines: lines, Theme: "the sea"}),
		prompt.Judge(
			prompt.JudgeInput{
				Self: self, Text: memories[1], Near: prompt.Lines("m", memories[2:6]...),
				Playbook: rules,
			}),
		prompt.Capture(prompt.CaptureInput{
			Self: self, Fragments: prompt.Lines("f", memories[:12]...),
			Playbook: rules,
		}),
		prompt.Replay(prompt.ReplayInput{Self: self, Lines: lines}),
		prompt.LastLook(self, lines),
		prompt.Imagine(prompt.ImagineInput{
			Self:     self,
			Seed:     memories[3],
			Context:  memories[4],
			Action:   memories[5],
			Outcome:  memories[6],
			Playbook: rules,
		}),
		prompt.Weigh(prompt.WeighInput{Self: self, Lines: prompt.Lines("s", memories[:3]...)}),
		prompt.Consolidate(prompt.ConsolidateInput{Self: self, Lines: lines, Playbook: rules, Most: 2}),
		prompt.Surface(prompt.ConsolidateInput{Self: self, Lines: lines, Playbook: rules, Most: 3}),
	}
}

func structured(p prompt.Text, temperature float64, seed int64, most int) inference.Request {
	r := request(temperature, .1, seed, "")
	r.Messages = []inference.Message{{Role: "system", Content: p.System}, {Role: "user", Content: p.User()}}
	r.Schema, r.MaxTokens = &inference.Schema{Name: p.Name, JSON: p.Schema}, most
	return r
}

func TestAnswersFitTheirSchemaAndTheirRoom(t *testing.T) {
	t.Parallel()
	for _, p := range prompts() {
		var schema map[string]any
		require.NoError(t, json.Unmarshal(p.Schema, &schema))
		most := 600
		if p.Name == "verdict" {
			most = 60 // the observer has 60 tokens
		}
		for seed := range int64(200) {
			temperature := []float64{0, .4, 1, 1.4}[seed%4]
			a, _ := generate(t, structured(p, temperature, seed, most))
			require.Equal(t, inference.Stopped, a.Finish, p.Name)
			var value any
			require.NoError(t, json.Unmarshal([]byte(a.Text), &value), a.Text)
			require.NoError(t, fits(schema, value, p.Name), a.Text)
			text := unclaimed.ReplaceAllString(a.Text, "")
			require.NotContains(t, text, `""`, "no string is left blank but a claim, where no regularity was counted")
		}
	}
}

func TestEveryAnswerForAllIsAskedForAll(t *testing.T) {
	t.Parallel()
	for _, p := range prompts() {
		if p.Name != "ratings" && p.Name != "scores" {
			continue
		}
		a, _ := generate(t, structured(p, .5, 7, 600))
		for i := range map[string]int{"ratings": 12, "scores": 3}[p.Name] {
			ref := fmt.Sprintf("%q", fmt.Sprintf("%s%d", map[string]string{"ratings": "f", "scores": "s"}[p.Name], i+1))
			require.Equal(t, 1, strings.Count(a.Text, ref), "%s in %s", ref, a.Text)
		}
		require.NotContains(t, a.Text, `"p1"`, "rules already acted by are not rated")
	}
}

var unclaimed = regexp.MustCompile(`"(claim|criterion)":""`)

var letters = regexp.MustCompile(`[A-Za-z]{3,}`)

func TestSourcesAreTheMemoriesReallyDrawnOn(t *testing.T) {
	t.Parallel()
	p := prompts()[0]
	for seed := range int64(200) {
		a, _ := generate(t, structured(p, 1.2, seed, 600))
		var got struct {
			Fragments []struct {
				Text    string
				Sources []string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(a.Text), &got))
		for _, f := range got.Fragments {
			require.GreaterOrEqual(t, len(f.Sources), 2, "an association joins at least two: %s", f.Text)
			for _, ref := range f.Sources {
				var n int
				_, err := fmt.Sscanf(ref, "r%d", &n)
				require.NoError(t, err)
				own := letters.FindAllString(strings.ToLower(memories[n-1]), -1)
				texts := letters.FindAllString(strings.ToLower(f.Text), -1)
				require.True(t, slices.ContainsFunc(own, func(w string) bool { return slices.Contains(texts, w) }),
					"%s is not in %q", ref, f.Text)
			}
		}
	}
}

func TestHowSureToBeIsTakenFromThePrompt(t *testing.T) {
	t.Parallel()
	for _, p := range prompts() {
		bounds, ok := map[string][2]float64{"patterns": {.25, .40}, "scenario": {.20, .35}, "hypotheses": {.20, .30}}[p.Name]
		if !ok {
			continue
		}
		for seed := range int64(50) {
			a, _ := generate(t, structured(p, 1, seed, 600))
			for _, m := range regexp.MustCompile(`"confidence":([\d.]+)`).FindAllStringSubmatch(a.Text, -1) {
				var sure float64
				require.NoError(t, json.Unmarshal([]byte(m[1]), &sure))
				require.GreaterOrEqual(t, sure, bounds[0], p.Name)
				require.LessOrEqual(t, sure, bounds[1], p.Name)
			}
		}
	}
}

func TestOtherSchemasAreFilledToo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"type":"string"}`,
		`{"type":"string","minLength":5,"maxLength":12}`,
		`{"type":"integer","minimum":3,"maximum":4}`,
		`{"type":"number","minimum":-2,"maximum":-1}`,
		`{"type":"boolean"}`,
		`{"type":"array","items":{"type":"number"},"minItems":4,"maxItems":4}`,
		`{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":9}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]},"id":{"type":"string","pattern":"^r\\d+$"}},"required":["a","id"]}`,
		`{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"sources":{"type":"array","items":{"type":"string"},"minItems":3,"maxItems":3},"optional":{"type":"string"}},"required":["sources"]}`,
	} {
		var schema map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &schema))
		for seed := range int64(40) {
			r := request(1, .1, seed, asking())
			r.Schema, r.MaxTokens = &inference.Schema{Name: "x", JSON: []byte(text)}, 100
			a, _ := generate(t, r)
			var value any
			require.NoError(t, json.Unmarshal([]byte(a.Text), &value), "%s: %s", text, a.Text)
			require.NoError(t, fits(schema, value, "x"), a.Text)
		}
	}
}

func TestReferencesIntoDefsAreFollowed(t *testing.T) {
	t.Parallel()
	r := request(1, .1, 1, asking())
	r.Schema = &inference.Schema{
		Name: "x",
		JSON: []byte(
			`{"$defs":{"n":{"type":"integer","minimum":2,"maximum":2}},"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"anyOf":[{"type":["boolean","null"]},{"type":"null"}]}}}`),
	}
	a, _ := generate(t, r)
	require.Regexp(t, `^{"a":2,"b":(true|false)}$`, a.Text)
	r.Schema.JSON = []byte(`{"$defs":{"n":{"$ref":"#/$defs/n"}},"$ref":"#/$defs/n"}`)
	_, err := localmodel.New().Generate(context.Background(), r, nil)
	require.ErrorContains(t, err, "deeper")
}

func TestALittleRoomStillGivesWholeJSON(t *testing.T) {
	t.Parallel()
	for _, p := range prompts() {
		for _, most := range []int{100, 150, 200, 300} {
			for seed := range int64(10) {
				a, _ := generate(t, structured(p, 1, seed, most))
				require.True(t, json.Valid([]byte(a.Text)), "%s in %d tokens: %s", p.Name, most, a.Text)
			}
		}
	}
}

func TestWhatCannotFitSaysSo(t *testing.T) {
	t.Parallel()
	a, _ := generate(t, structured(prompts()[0], 1, 1, 5))
	require.Equal(t, inference.Length, a.Finish)
}

func FuzzSchema(f *testing.F) {
	for _, p := range prompts() {
		f.Add(string(p.Schema), 200)
	}
	f.Add(`{"type":"array","minItems":3}`, 20)
	f.Add(
		`{"type":"object","properties":{"id":{"enum":[1,"r2",null]},"n":{"type":"number","exclusiveMinimum":0,"maximum":0.001}}}`,
		20)
	text := asking()
	f.Fuzz(func(t *testing.T, schema string, most int) {
		if most < 1 || most > 2000 || len(schema) > 10_000 {
			t.Skip("no request that a caller could make")
		}
		r := request(1, .1, 1, text)
		r.Schema, r.MaxTokens = &inference.Schema{Name: "x", JSON: []byte(schema)}, most
		a, err := localmodel.New().Generate(context.Background(), r, nil)
		if err != nil {
			_, ok := inference.AsFailure(err)
			require.True(t, ok)
			return
		}
		if a.Finish == inference.Stopped {
			require.True(t, json.Valid([]byte(a.Text)), a.Text)
		}
	})
}

func TestACallIsAnsweredWhereSomethingIsRemembered(t *testing.T) {
	t.Parallel()
	w := prompt.WakeInput{
		Trigger: prompt.ByMention, Room: "hall",
		Caller: prompt.Speech{Author: "Ada", Text: "@iris when do you sail?"},
	}
	for _, remembered := range [][]string{nil, {"Ada keeps a boat at the pier.", "Ada sails on Saturdays."}} {
		w.Memory = prompt.Lines("m", remembered...)
		text := prompt.Wake(w)
		for seed := range int64(10) {
			answer, err := localmodel.New().Generate(t.Context(), inference.Request{
				Model: localmodel.Associative, MaxTokens: 1024, Sampling: inference.Sampling{Seed: &seed},
				Messages: []inference.Message{{Role: "system", Content: text.System}, {Role: "user", Content: text.User()}},
				Schema:   &inference.Schema{Name: text.Name, JSON: text.Schema},
			}, func(string) bool { return true })
			require.NoError(t, err)
			var says prompt.WakeAnswer
			require.NoError(t, inference.ReadJSON(answer.Text, &says))
			require.Equal(t, len(remembered) == 0, says.Silent, answer.Text)
		}
	}
}
