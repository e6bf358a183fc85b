package config_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/config"
)

const steeredProviders = `
providers:
  farm:
    profile: vllm
    base_url: http://10.0.0.7:8000/v1
    local: true
    steering:
      vector: muse
      depth: 32
      fields:
        vllm_xargs: {apply_steering_vectors: '[{"vector":"{{vector}}","scale":{{alpha}},"layer_indices":{{layers}}}]'}
    models:
      - small
      - {name: large, steering: {vector: bright, depth: 80, layers: 30-40, alpha: 0.5, fields: '{"steerRequest":{"Scale":"{{alpha}}"}}'}}
  router:
    profile: llamacpp
    base_url: http://127.0.0.1:8080/v1
    local: true
    models:
      - {name: tiny, steering: {vector: muse, alias: tiny-muse, layers: 11}}
  near:
    profile: oneiros
    base_url: http://127.0.0.1:8089/v1
    local: true
    steering: {vector: creativity}
  here:
    profile: llama
    model_file: ~/models/tiny.gguf
    lib_dir: /opt/llama
    threads: 2
    vectors: {creativity: ~/models/v.gguf}
    steering: {vector: creativity, depth: 22}
`

func TestAModelIsSteeredAsItSaysOrAsItsProvider(t *testing.T) {
	t.Parallel()
	c, err := load(t, "oneiros.yaml", steeredProviders, []string{"HOME=/home/ada"}, nil)
	require.NoError(t, err)
	request := func(model string) *inference.Steering {
		spec, err := c.Lookup(model)
		require.NoError(t, err)
		return spec.Steers.Ask(c.Dream.SteerLayer, c.Dream.SteerAlpha)
	}
	require.Equal(t, "muse x 1.5 at layer 16", request("farm/small").String())
	require.Equal(t, "bright x 0.5 at layers 30-40", request("farm/large").String())
	require.Equal(t, "muse x 1.5 at layer 11", request("router/tiny").String())
	require.Nil(t, request("router/other"))
	require.Equal(t, "creativity x 1.5 at layer 16", request("near/any").String())
	require.Equal(t, "creativity x 1.5 at layer 11", request("here/any").String())

	large, err := c.Lookup("farm/large")
	require.NoError(t, err)
	require.JSONEq(t, `{"Scale":"{{alpha}}"}`, string(large.Steers.Fields["steerRequest"]), "a text keeps its capitals")
	small, err := c.Lookup("farm/small")
	require.NoError(t, err)
	filled, err := request("farm/small").Fill(small.Steers.Fields["vllm_xargs"])
	require.NoError(t, err)
	var args map[string]string
	require.NoError(t, json.Unmarshal(filled, &args))
	require.JSONEq(t, `[{"vector":"muse","scale":1.5,"layer_indices":[16]}]`, args["apply_steering_vectors"])

	here, err := c.Lookup("here/any")
	require.NoError(t, err)
	require.Equal(t, &budget.Price{}, here.Price, "a model in this process costs nothing")
	require.True(t, here.MinP && here.LogProbs)
	require.Equal(t, "providers.here", c.InProcess())
	require.Equal(t, config.Engine{
		Model: "/home/ada/models/tiny.gguf", Lib: "/opt/llama", Threads: 2,
		Vectors: map[string]string{"creativity": "/home/ada/models/v.gguf"},
	}, c.Home(c.Providers["here"].Engine))
	require.Contains(t, c.String(), "providers.here.model_file: ~/models/tiny.gguf")
	require.Contains(t, c.String(), "providers.router.models: tiny (steered: muse at 11-11 as tiny-muse)")
}

func TestSteeringThatCannotBeIsNamed(t *testing.T) {
	t.Parallel()
	for want, section := range map[string]string{
		"providers.x.steering is \"muse\"":            "{profile: vllm, base_url: 'http://h/v1', steering: muse}",
		"providers.x.steering: vector is missing":     "{profile: oneiros, base_url: 'http://h/v1', steering: {alpha: 1}}",
		"neither fields of a request nor an alias":    "{profile: vllm, base_url: 'http://h/v1', steering: {vector: muse}}",
		"providers.x.steering.strength is no setting": "{profile: oneiros, base_url: 'http://h/v1', steering: {vector: muse, strength: 3}}",
		"layers is \"18-6\"":                          "{profile: oneiros, base_url: 'http://h/v1', steering: {vector: muse, layers: 18-6}}",
		"fields.temperature is written":               "{profile: vllm, base_url: 'http://h/v1', steering: {vector: muse, fields: {temperature: 1}}}",
		"fields must be a section":                    "{profile: vllm, base_url: 'http://h/v1', steering: {vector: muse, fields: '[1]'}}",
		"alpha is 500":                                "{profile: oneiros, base_url: 'http://h/v1', steering: {vector: muse, alpha: 500}}",
		"models[1].steering":                          "{profile: vllm, base_url: 'http://h/v1', models: [{name: m, steering: {vector: muse}}]}",
		"needs neither":                               "{profile: llama, model_file: m, lib_dir: l, steering: {vector: muse, alias: x}}",
		"providers.x.model_file is missing":           "{profile: llama, lib_dir: l}",
		"providers.x.lib_dir is missing":              "{profile: llama, model_file: m}",
		"providers.x.base_url: a model in this":       "{profile: llama, model_file: m, lib_dir: l, base_url: 'http://h/v1'}",
		"providers.x.model_file is for the profile":   "{profile: vllm, base_url: 'http://h/v1', model_file: m}",
		"threads is 65":                               "{profile: llama, model_file: m, lib_dir: l, threads: 65}",
		"vectors.v is 3":                              "{profile: llama, model_file: m, lib_dir: l, vectors: {v: 3}}",
	} {
		_, err := load(t, "oneiros.yaml", "providers:\n  x: "+section+"\n", nil, nil)
		require.ErrorContains(t, err, want)
	}
}

func TestEveryExampleOfTheHandbookIsAConfiguration(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/steering.md")
	require.NoError(t, err)
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		example, _, _ := strings.Cut(block, "```")
		c, err := load(t, "oneiros.yaml", example, []string{"HOME=/home/ada"}, nil)
		require.NoError(t, err, example)
		for name, p := range c.Providers {
			model := "any"
			if len(p.Models) > 0 {
				model = p.Models[0].Name
			}
			spec, err := c.Lookup(name + "/" + model)
			require.NoError(t, err)
			request := spec.Steers.Ask(c.Dream.SteerLayer, c.Dream.SteerAlpha)
			require.NotNil(t, request, name)
			for field, template := range spec.Steers.Fields {
				_, err := request.Fill(template)
				require.NoError(t, err, field)
			}
		}
	}
}
