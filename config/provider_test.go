package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

const threeProviders = `
providers:
  openai: {profile: openai, api_key_env: MY_KEY}
  house:
    profile: llamacpp
    base_url: http://127.0.0.1:8080/v1/
    local: true
    models:
      - {name: TinyLlama-1.1B, context: 2048, min_p: true}
      - plain.model-Q4
  other:
    profile: generic
    base_url: https://models.example/v1
    models:
      - {name: big-1, wire: Vendor/Big-1, price: {in: "0.15", out: 0.6}, json: prompt, max_temperature: 1.0}
roles:
  generator: other/big-1
  observer: house/TinyLlama-1.1B
  replay: house/plain.model-Q4
  imagination: openai/gpt-4.1-mini
  integration: house/whatever-is-loaded
`

func TestProvidersBecomeACatalogue(t *testing.T) {
	t.Parallel()
	c, err := load(t, "oneiros.yaml", threeProviders,
		[]string{"MY_KEY=sk-very-secret", "ONEIROS_PROVIDERS_HOUSE_BASE_URL=http://10.0.0.1:9/v1"}, nil)
	require.NoError(t, err)
	require.Equal(t, "http://10.0.0.1:9/v1", c.Providers["house"].ProviderURL())
	require.Equal(t, "https://api.openai.com/v1", c.Providers["openai"].ProviderURL())
	table := c.Catalog()

	big := table["other/big-1"]
	require.Equal(t, "Vendor/Big-1", big.Wire)
	require.Equal(t, "other", big.Provider)
	require.Equal(t, &budget.Price{In: 150_000, CachedIn: 150_000, Out: 600_000}, big.Price)
	require.Equal(t, inference.JSONPrompt, big.JSON)

	tiny := table["house/TinyLlama-1.1B"]
	require.Equal(t, &budget.Price{}, tiny.Price, "a local model costs nothing")
	require.Equal(t, 2048, tiny.Context)
	require.True(t, tiny.MinP)
	require.Equal(t, "plain.model-Q4", table["house/plain.model-Q4"].Wire)
	require.Equal(t, "whatever-is-loaded", table["house/whatever-is-loaded"].Wire,
		"a role names it, so it is in the catalogue")
	require.Equal(t, budget.Micros(400_000), table["openai/gpt-4.1-mini"].Price.In, "prices of hosted models are known")

	key, err := c.Key("openai")
	require.NoError(t, err)
	require.Equal(t, "sk-very-secret", key)
	require.NotContains(t, c.String(), "sk-very-secret")
}

func TestTheNameOfAProviderIsAName(t *testing.T) {
	t.Parallel()
	for name, fine := range map[string]bool{
		"open ai": false, "a/b": false, "": false, "-a": false, strings.Repeat("a", 65): false,
		"OpenAI": true, "open-ai_2": true, "7b": true, strings.Repeat("a", 64): true,
	} {
		_, err := loadFile(t, fmt.Sprintf("providers: {%q: {profile: openai}}", name))
		if fine {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, "providers."+name+": a provider's name is 1 to 64 of a-z")
	}
}

func TestAKeyInAFileIsRefusedWithHowToSayItRight(t *testing.T) {
	t.Parallel()
	_, err := load(t, "oneiros.yaml",
		"providers: {openai: {profile: openai, api_key: sk-very-secret}}\ntemporal: {api_key: also-secret}\n", nil, nil)
	require.ErrorContains(t, err, "api_key_env or api_key_file")
	require.NotContains(t, err.Error(), "secret\"")
	require.NotContains(t, err.Error(), "sk-very")
	require.NotContains(t, err.Error(), "also-secret")
	_, err = load(t, "oneiros.yaml", "providers: {openai: {profile: openai, api_key_env: sk-very-secret}}\n", nil, nil)
	require.ErrorContains(t, err, "must be the name of an environment variable")
	require.NotContains(t, err.Error(), "sk-very")
}

func TestAKeyMayLieInAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte("sk-1\n"), 0o600))
	c, err := load(t, "oneiros.yaml", "providers: {openai: {profile: openai, api_key_file: "+path+"}}\n", nil, nil)
	require.NoError(t, err)
	key, err := c.Key("openai")
	require.NoError(t, err)
	require.Equal(t, "sk-1", key)
	require.NoError(t, os.WriteFile(path, []byte("two\nlines\n"), 0o600))
	_, err = c.Key("openai")
	require.ErrorContains(t, err, "must hold one line")
	require.NotContains(t, err.Error(), "two")
}

func TestAPaidRoleWithoutAPriceIsRefusedWithTheLineToAdd(t *testing.T) {
	t.Parallel()
	_, err := load(t, "oneiros.yaml",
		"providers: {openai: {profile: openai}}\nroles: {generator: openai/brand-new, embedder: builtin/associative}\n",
		nil, nil)
	require.ErrorContains(t, err,
		`roles.generator: model "openai/brand-new" has no price; add it under providers.openai.models: {name: brand-new, price: {in: IN, out: OUT}}, with the dollars per million tokens of the provider's own price page`)
	require.ErrorContains(t, err,
		`roles.embedder: "builtin/associative" is the wrong sort of model: it writes, and the role needs an embedder, such as builtin/static`)
}

func TestAModelThatIsNoEmbedderIsRefusedWithTheLineToAdd(t *testing.T) {
	t.Parallel()
	const vllm = `providers: {house: {profile: vllm, base_url: "http://h/v1", local: true, models: [%s]}}` +
		"\nroles: {embedder: house/my-vectors}\n"
	_, err := load(t, "oneiros.yaml", fmt.Sprintf(vllm, "my-vectors"), nil, nil)
	require.ErrorContains(t, err,
		`it is not known as an embedder; if it is one, add under providers.house.models: {name: my-vectors, embeds: true}`)
	_, err = load(t, "oneiros.yaml", fmt.Sprintf(vllm, "{name: my-vectors, embeds: true}"), nil, nil)
	require.NoError(t, err)
	_, err = load(t, "oneiros.yaml", "roles: {embedder: builtin/minilm}\n", nil, nil)
	require.ErrorContains(t, err, "set embedder.minilm_dir to their folder")
	_, err = load(t, "oneiros.yaml", "roles: {embedder: builtin/minilm}\nembedder: {minilm_dir: /models/minilm}\n",
		nil, nil)
	require.NoError(t, err)
}

func TestProviderFaultsNameTheirPlace(t *testing.T) {
	t.Parallel()
	const file = `
providers:
  a: {profile: openia}
  b: {profile: generic}
  c: {profile: vllm, base_url: "http://me:pass@host/v1", modles: []}
  d: {profile: vllm, base_url: "localhost:80", models: {gpt-4.1: {min_p: true}}}
  e: {profile: vllm, base_url: "http://h/v1", models: [{nam: x}, {name: y, price: {in: "1"}}, {name: z, json: xml}]}
  g: {profile: vllm, base_url: "http://h/v1", pass_headers: "X-Team, Cookie, X-Forwarded-User, X Y, x-oneiros-user"}
  h: {profile: vllm, base_url: "http://h/v1", concurrent: -1}
  i: {profile: llama, model_file: "/m.gguf", concurrent: 2}
  f: 7
`
	_, err := load(t, "oneiros.yaml", file, nil, nil)
	for _, want := range []string{
		`providers.a.profile is "openia"; it must be one of`,
		"providers.b.base_url is missing",
		"providers.c.modles is no setting; did you mean models?",
		"providers.c.base_url carries a password",
		"providers.d.base_url is not an address",
		"providers.d.models must be a list",
		"providers.e.models[1].nam is no setting; did you mean name?",
		"providers.e.models[2].price needs both in and out",
		`providers.e.models[3].json is "xml"`,
		"providers.f is 7; it must be a section",
		"providers.h.concurrent is -1; it must be a number of calls from 1",
		"providers.i.concurrent does not go with the profile llama; parallel says",
		`providers.g.pass_headers names "Cookie", which is never passed on`,
		`providers.g.pass_headers names "X-Forwarded-User", which is never`,
		`providers.g.pass_headers names "x-oneiros-user", which is never`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "me:pass")
}

func TestAFoundKeyIsUsedOnlyByConsent(t *testing.T) {
	t.Parallel()
	env := []string{
		"OPENAI_API_KEY=sk-1", "OPENAI_BASE_URL=http://proxy.example/v1", "OLLAMA_HOST=0.0.0.0",
		"ANTHROPIC_API_KEY=sk-ant-1", "ANTHROPIC_BASE_URL=https://claude.example/",
	}
	c, err := load(t, "", "", env, nil)
	require.NoError(t, err)
	require.Empty(t, c.Providers)
	c, err = load(t, "", "", env,
		[]string{"--set", "consent.environment_key=true", "--set", "consent.local_ollama=true"})
	require.NoError(t, err)
	require.Equal(t, "http://proxy.example/v1", c.Providers["openai"].ProviderURL())
	require.Equal(t, "http://127.0.0.1:11434/v1", c.Providers["ollama"].ProviderURL())
	require.True(t, c.Providers["ollama"].Local)
	require.Equal(t, "https://claude.example/v1", c.Providers["anthropic"].ProviderURL())
	key, err := c.Key("anthropic")
	require.NoError(t, err)
	require.Equal(t, "sk-ant-1", key)
}

func TestAKeyOfAnthropicIsAllThatItsProviderNeeds(t *testing.T) {
	t.Parallel()
	const file = `
providers:
  anthropic: {profile: anthropic, api_key_env: ANTHROPIC_API_KEY}
roles: {generator: anthropic/claude-haiku-4-5, observer: anthropic/claude-3-5-haiku-20241022}
`
	c, err := load(t, "oneiros.yaml", file, []string{"ANTHROPIC_API_KEY=sk-ant-1"}, nil)
	require.NoError(t, err)
	require.Equal(t, "https://api.anthropic.com/v1", c.Providers["anthropic"].ProviderURL())
	spec, err := c.Lookup("anthropic/claude-haiku-4-5")
	require.NoError(t, err)
	require.NotNil(t, spec.Price)
	require.Equal(t, inference.JSONSchema, spec.JSON)
	require.InDelta(t, 1, spec.MaxTemperature, 0)
	require.False(t, spec.MinP)
	older, err := c.Lookup("anthropic/claude-3-5-haiku-20241022")
	require.NoError(t, err)
	require.Equal(t, inference.JSONPrompt, older.JSON)

	_, err = load(t, "oneiros.yaml", strings.Replace(file, "ANTHROPIC_API_KEY}",
		"ANTHROPIC_API_KEY, models: [{name: voyage, embeds: true}], steering: {vector: muse}}", 1), nil, nil)
	require.ErrorContains(t, err,
		"providers.anthropic.models: voyage has embeds, and the profile anthropic has no embeddings")
	require.ErrorContains(t, err, "providers.anthropic.steering must have an alias and no fields")
}

func TestWiresOfAProvider(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{profile: generic, base_url: "http://h/v1"}`:                                  "chat",
		`{profile: openai}`:                                                            "chat, responses",
		`{profile: openai, base_url: "https://proxy.example/v1"}`:                      "chat",
		`{profile: openai, wires: [chat]}`:                                             "chat",
		`{profile: vllm, base_url: "http://h/v1", wires: [chat, responses, messages]}`: "chat, responses, messages",
		`{profile: llamacpp, base_url: "http://h/v1", wires: "messages, chat"}`:        "chat, messages",
		`{profile: vllm, base_url: "http://h/v1", wires: [responses]}`:                 "responses",
		`{profile: openai, wires: [responses, messages]}`:                              "responses, messages",
		`{profile: vllm, base_url: "http://h/v1", wires: [messages]}`:                  "providers.p.wires lacks chat and responses",
		`{profile: anthropic, wires: [responses]}`:                                     "providers.p.wires must be [messages] or be left out",
		`{profile: openai, wires: [responses], models: [{name: m, seed: true}]}`:       "providers.p.models: m has seed: true, for which the wire responses has no field",
		`{profile: vllm, base_url: "http://h/v1", wires: [chat, gemini]}`:              `providers.p.wires: "gemini" is no wire; there are chat, responses, messages`,
		`{profile: vllm, base_url: "http://h/v1", wires: true}`:                        "providers.p.wires is true; it must be a list of wires",
	} {
		c, err := load(t, "oneiros.yaml", "providers:\n  p: "+text+"\n", nil, nil)
		if err != nil {
			require.ErrorContains(t, err, want, text)
			continue
		}
		require.Equal(t, want, strings.Join(c.Providers["p"].Speaks().Names(), ", "), text)
		spec, err := c.Spec("p/some")
		require.NoError(t, err)
		require.Equal(t, c.Providers["p"].Speaks(), spec.Wires, "the catalogue says it too")
		require.Equal(t, strings.Contains(want, "chat"), spec.Stop, "responses have no stop sequences")
	}
}
