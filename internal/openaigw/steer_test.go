package openaigw_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
)

// steered is an entry and a request for it.
func steered(s *inference.Steers) (inference.Spec, inference.Request) {
	entry, r := spec(), request("p/m")
	entry.Steers = s
	r.Steering = &inference.Steering{Vector: "muse", From: 6, To: 8, Alpha: .5}
	return entry, r
}

func TestSteeringGoesIntoTheFieldsThatTheEntryNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field, template, want string
	}{
		"vLLM with a plugin: JSON in a text": {
			"vllm_xargs",
			`{"apply_steering_vectors":"[{\"name\":\"{{vector}}\",\"layer_indices\":{{layers}},\"scale\":{{alpha}}}]"}`,
			`{"apply_steering_vectors":"[{\"name\":\"muse\",\"layer_indices\":[6,7,8],\"scale\":0.5}]"}`,
		},
		"EasySteer": {
			"steer_vector_request",
			`{"steer_vector_name":"{{vector}}","steer_vector_int_id":1,"steer_vector_local_path":"/v/{{vector}}.gguf","scale":"{{alpha}}","target_layers":"{{layers}}","algorithm":"direct"}`,
			`{"steer_vector_name":"muse","steer_vector_int_id":1,"steer_vector_local_path":"/v/muse.gguf","scale":0.5,"target_layers":[6,7,8],"algorithm":"direct"}`,
		},
	} {
		entry, r := steered(
			&inference.Steers{Vector: "muse", Fields: map[string]json.RawMessage{c.field: json.RawMessage(c.template)}})
		f, a := sent(t, entry, r)
		got, err := json.Marshal(f[c.field])
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(got), name)
		require.Equal(t, "muse x 0.5 at layers 6-8", a.Steered)
		require.Equal(t, entry.Wire, f["model"])
	}
}

func TestSteeringGoesByTheNameOfAnotherModel(t *testing.T) {
	t.Parallel()
	entry, r := steered(&inference.Steers{Vector: "muse", Alias: "small-muse"})
	f, a := sent(t, entry, r)
	require.Equal(t, "small-muse", f["model"])
	require.Equal(t, "muse x 0.5 at layers 6-8", a.Steered)
	r.Steering = nil
	f, a = sent(t, entry, r)
	require.Equal(t, entry.Wire, f["model"], "who does not ask is not steered")
	require.Empty(t, a.Steered)
}

func TestOurOwnServerIsSteeredByItsField(t *testing.T) {
	t.Parallel()
	p, err := openaigw.ProfileOf("oneiros")
	require.NoError(t, err)
	entry, r := steered(&inference.Steers{Vector: "muse"})
	f, _ := sent(t, entry, r, func(o *openaigw.Options) { o.Profile = p })
	require.Equal(t, map[string]any{"vector": "muse", "alpha": .5, "layers": []any{6.0, 8.0}}, f["steering"])
}

func TestAModelThatIsNotSteeredIsAskedAsItIs(t *testing.T) {
	t.Parallel()
	entry, r := steered(nil)
	f, a := sent(t, entry, r)
	require.NotContains(t, f, "steering")
	require.Empty(t, a.Steered)
}

func TestSteeringThatNobodyCanWriteIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]inference.Steers{
		"neither fields nor an alias": {Vector: "muse"},
		`"temperature" is written with every`: {
			Vector: "muse",
			Fields: map[string]json.RawMessage{"temperature": json.RawMessage(`1`)},
		},
		`"messages" is written with every request`: {
			Vector: "muse",
			Fields: map[string]json.RawMessage{"messages": json.RawMessage(`1`)},
		},
		"no JSON": {Vector: "muse", Fields: map[string]json.RawMessage{"steer": json.RawMessage(`{`)}},
	} {
		entry, r := steered(&s)
		g := answering(t, entry, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
		_, err := g.Generate(t.Context(), r, nil)
		require.ErrorContains(t, err, want)
	}
	require.Contains(t, openaigw.Profile{MinP: "minimum"}.Reserved(), "minimum")
	require.Contains(t, openaigw.Profile{}.Reserved(), "messages")
}
