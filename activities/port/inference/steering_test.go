package inference_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestAModelIsAskedToBeSteeredAsItsEntrySays(t *testing.T) {
	t.Parallel()
	alpha, none := .25, 0.0
	for want, s := range map[string]*inference.Steers{
		"c x 1.5 at layer 16": {Vector: "c"},
		"c x 1.5 at layer 11": {Vector: "c", Depth: 22},
		"c x 1.5 at layer 40": {Vector: "c", Depth: 80},
		"c x 0.25 at layers 6-18": {
			Vector: "c",
			Depth:  22,
			From:   6,
			To:     18,
			Alpha:  &alpha,
		},
		"c x 0.25 at layer 9":       {Vector: "c", From: 9, Alpha: &alpha},
		"c x 1.5 at layer 1":        {Vector: "c", Depth: 1},
		"other x 1.5 at layers 2-3": {Vector: "other", From: 2, To: 3},
	} {
		require.Equal(t, want, s.Ask(inference.SteerLayer, inference.SteerAlpha).String())
		require.NoError(t, s.Ask(inference.SteerLayer, inference.SteerAlpha).Validate())
	}
	require.Nil(t, (*inference.Steers)(nil).Ask(16, 1.5))
	require.Nil(t, (&inference.Steers{}).Ask(16, 1.5), "no vector, no steering")
	require.Nil(t, (&inference.Steers{Vector: "c"}).Ask(16, 0), "a deployment may want none")
	require.Nil(t, (&inference.Steers{Vector: "c", Alpha: &none}).Ask(16, 1.5), "and so may one model")
}

func TestATemplateIsFilledWithValuesAndWithJSONInText(t *testing.T) {
	t.Parallel()
	s := inference.Steering{Vector: "muse", From: 6, To: 8, Alpha: -.5}
	for template, want := range map[string]string{
		`{"name":"{{vector}}","scale":"{{alpha}}","layers":"{{layers}}","at":["{{from}}","{{to}}","{{span}}"],"keep":[1,true,null,"{{ alpha }}"]}`: `{"name":"muse","scale":-0.5,"layers":[6,7,8],"at":[6,8,[6,8]],"keep":[1,true,null,"{{ alpha }}"]}`,
		`"[{\"vector\":\"{{vector}}\",\"layer_indices\":{{layers}},\"scale\":{{alpha}}}]"`:                                                         `"[{\"vector\":\"muse\",\"layer_indices\":[6,7,8],\"scale\":-0.5}]"`,
		`"vectors/{{vector}}.gguf"`: `"vectors/muse.gguf"`,
		`12345678901234567890`:      `12345678901234567890`,
	} {
		got, err := s.Fill(json.RawMessage(template))
		require.NoError(t, err)
		require.JSONEq(t, want, string(got))
	}
	_, err := s.Fill(json.RawMessage(`{`))
	require.ErrorContains(t, err, "no JSON")
}

func TestAnEntryThatCannotSteerSaysWhy(t *testing.T) {
	t.Parallel()
	huge := 1e3
	for want, s := range map[string]inference.Steers{
		"vector is missing":        {},
		"no braces":                {Vector: `a"b`},
		"depth is -1":              {Vector: "c", Depth: -1},
		"layers 6 to 3":            {Vector: "c", From: 6, To: 3},
		"end below the depth (22)": {Vector: "c", Depth: 22, From: 6, To: 22},
		"alpha is 1000":            {Vector: "c", Alpha: &huge},
		"fields.model is written": {
			Vector: "c",
			Fields: map[string]json.RawMessage{"model": json.RawMessage(`"x"`)},
		},
		"fields.steer: steering template ": {
			Vector: "c",
			Fields: map[string]json.RawMessage{"steer": json.RawMessage(`{`)},
		},
	} {
		require.ErrorContains(t, s.Validate("model"), want)
	}
	require.NoError(t, inference.Steers{Vector: "c", Alias: "small-c"}.Validate("model"))
}
