package config

import (
	"fmt"
	"strings"
)

//go:generate env UPDATE=1 go test -run TestReferenceIsWhatTheTableSays .

// Reference returns docs/configuration.md, generated from the table.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	section := ""
	for _, k := range table() {
		name, _, nested := strings.Cut(k.Key, ".")
		if !nested {
			name = "places"
		} else if name == "store" {
			name = "places"
		}
		if name != section {
			section = name
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| knob | default | unit, limits | reason |\n|---|---|---|---|\n",
				section, about[section])
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Key, defaultText(k), limitsText(k), cell(reasonText(k)))
	}
	b.WriteString(referenceTail)
	return b.String()
}

func defaultText(k Knob) string {
	value, err := k.read(k.Default)
	if err != nil || text(value) == "" {
		return "empty"
	}
	return "`" + text(value) + "`"
}

func limitsText(k Knob) string {
	unit := k.Unit
	switch k.Sort {
	case Choice:
		return cell(strings.Join(k.Choices, " or "))
	case YesNo:
		return "true or false"
	case Span:
		unit = "duration"
	case Dollars:
		if k.Unlimited {
			unit += ` or "unlimited"`
		}
	case Whole:
		unit = "whole, " + unit
	}
	switch {
	case !k.bounded():
		return unit
	case k.Sort == Span:
		return fmt.Sprintf("%s, %s to %s", unit, spanOf(k.Low), spanOf(k.High))
	}
	return fmt.Sprintf("%s, %s to %s", unit, plain(k.Low), plain(k.High))
}

func reasonText(k Knob) string {
	text := k.Reason
	if k.Flag != "" {
		text += " Flag: --" + k.Flag + "."
	}
	if k.Was != "" {
		text += " Formerly `" + k.Was + "`."
	}
	return text
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

var about = map[string]string{
	"places":      "Where things lie on this machine.",
	"temporal":    "How to reach the Temporal cluster that runs the dreams.",
	"seal":        "Which keys seal what Temporal stores of a dream. docs/sealing.md says what that is, and how to make and change keys.",
	"worker":      "How much one process takes on.",
	"serve":       "The server that clients talk to: OpenAI's wire, MCP and the dreams API. docs/serving.md says how.",
	"roles":       "Which model does what. Each names `provider/model`; an agent may name its own with `oneiros agents edit`.",
	"embedder":    "What the built-in embedders need. docs/models.md compares them.",
	"money":       "Hard caps. A call whose worst case does not fit under every cap is not made.",
	"agent":       "When agents dream by themselves, how long a client or an alarm holds them awake, and how much of a dream they can afford.",
	"predictions": "What resolves predictions. docs/predictions.md says how.",
	"rooms":       "What agents may cost in rooms. docs/rooms.md says how rooms work.",
	"feed":        "Where the readings come in that alarms watch.",
	"archive":     "Where events are kept outside the store (docs/events.md).",
	"metrics":     "Where metrics are served (docs/events.md).",
	"policy":      "What no dream may develop. It is frozen into a dream's request when it begins. docs/policy.md says how a text is checked.",
	"log":         "What the process says about itself.",
	"consent":     "What may be used without asking again.",
	"dream":       "Every number that shapes a dream. They are frozen into a dream's request when it begins: a change never alters one that is running.",
}

const referenceHead = `# Configuration

This page is generated from ` + "`config/knobs.yaml`" + ` by ` + "`go generate ./config`" + `; a test keeps it true.

Oneiros needs no configuration. Settings are read once, at the start; a later place of this list wins over an earlier:

1. the defaults below;
2. a file: ` + "`--config FILE`, else `ONEIROS_CONFIG`, else `oneiros.yaml`, `oneiros.yml` or `oneiros.toml`" +
	` in the working
   directory, else the same names in ` + "`$XDG_CONFIG_HOME/oneiros` (`~/.config/oneiros`)" + `;
3. the environment: ` + "`ONEIROS_` and the knob in capitals, dots as underscores: `ONEIROS_DREAM_CYCLES=2`" + `;
4. flags: the few named below, and ` + "`--set dream.cycles=2`" + ` for any knob.

` + "`oneiros config check`" + ` names every fault at once; ` + "`oneiros config show`" +
	` shows each setting with its value and its source.
Amounts of money are dollars ("0.50"); durations carry their unit (90s, 30m, 12h, 7d).

A name that a knob had before 0.1.0 is refused, wherever it stands; the error gives the name of today.
`

const referenceTail = `
## providers

One section per provider, named as you like in lower case. ` + "`builtin`" + ` is always there and needs none.

` + "```yaml" + `
providers:
  openai:
    profile: openai              # or openrouter, venice, ollama, llamacpp, vllm, sglang, oneiros, llama, generic
    api_key_env: OPENAI_API_KEY  # or api_key_file: /run/secrets/openai; the key itself is refused here
  house:
    profile: llamacpp
    base_url: http://127.0.0.1:8080/v1
    local: true                  # its models cost nothing
    models:
      - name: tinyllama
        context: 2048
  other:
    profile: generic
    base_url: https://models.example/v1
    api_key_file: ~/keys/other
    models:
      - name: big-1              # named in roles as other/big-1
        wire: vendor/big-1       # as the server knows it; the name when absent
        price: {in: "0.15", cached_in: "0.075", out: "0.60"}  # dollars per million tokens
roles:
  generator: other/big-1
  observer: house/tinyllama
` + "```" + `

| setting | meaning |
|---|---|
| ` + "`profile`" + ` | the kind of server; it decides which sampling fields are sent |
| ` + "`base_url`" + ` | the address that ends in /v1; openai, openrouter, venice and ollama have one of their own |
| ` + "`api_key_env`, `api_key_file`" + ` | where the key lies; neither for servers that want none |
| ` + "`local`" + ` | true: every model of this provider costs nothing |
| ` + "`model_file`, `lib_dir`, `vectors`, `threads`, `parallel`" +
	` | of the profile llama: a model that the worker runs itself; see steering.md |
| ` + "`pass_headers`" +
	` | headers of clients that this provider sees beside the usual ones (docs/serving.md), such as "X-Team, X-Tenant"; headers that say who somebody is never go |
| ` + "`steering`" + ` | how its models are steered; a model's section may have one of its own; see steering.md |
| ` + "`models`" + ` | what is known better here than in the built-in data: a name alone, or a section |

A model's section takes ` +
	"`name`, `wire`, `price`, `context` (tokens of prompt and answer), `tokenizer` (o200k_base or cl100k_base), `max_temperature` (0: temperature is refused; formerly `max_heat`), `min_p`, `top_p`, `seed`, `stop`, `json` (json_schema, json_object or prompt), `reasoning`, `embeds`, `log_probs` (it reports how likely each token was) and `judges`" +
	`
(false: its scores mean nothing, measure with the embedder instead). A model that is neither local nor priced is refused, with the line to add.

The environment reaches providers too: ` + "`ONEIROS_PROVIDERS_HOUSE_BASE_URL`" +
	` is providers.house.base_url. Models are for files only.

## rules of the policy

Rules of your own stand in the file, each by a name of lower-case letters, digits, - and _.

` + "```yaml" + `
policy:
  assets: "ETH, WETH, USDC"
  leverage: 3
  position: 0.2
  caps:
    gas: {most: 80, unit: gwei, words: "gas, priority fee*"}  # or unit: multiple, share, dollars; a star leaves endings open
  forbidden:
    no-acme: '\bacme\b'          # RE2; capitals and spellings do not matter
    no-dares: {match: 'dare (him|her)', spare: true}  # spare: what only forbids it, or warns of it, passes
  rules:                         # in words, judged by the observer in one call a night
    kind: "Nothing that would shame a person by name."
  worth: {link: 5}               # dollars that one is worth at the least, for the cap on amounts
  agents:
    echo: {leverage: 2}          # added for one agent; it can only make the rules stricter
` + "```" + `

The environment reaches them too: ` +
	"`ONEIROS_POLICY_FORBIDDEN_NO_ACME`, `ONEIROS_POLICY_RULES_KIND`, `ONEIROS_POLICY_CAPS_GAS_MOST`, `ONEIROS_POLICY_WORTH_LINK`" +
	`.

## hooks

One section per hook, named as you like in lower case: a service of yours that is asked at the borders of every dream. docs/hooks.md says what it is shown and may answer.

` + "```yaml" + `
hooks:
  night-watch:
    url: https://guard.example/oneiros
    secret_env: NIGHT_WATCH_SECRET  # or secret_file; at least 16 bytes, the questions are signed with it
    at: [entry, capture, exit]      # all three unless said
    timeout: 2s                     # 100ms to 8s
    silent: allow                   # what stands for an answer that does not come: allow or refuse
    text: false                     # true: it is shown what fragments say, not only their numbers
` + "```" + `

## Temporal's own environment

While ` + "`temporal.address`" + ` is empty, the standard Temporal client environment is honoured: ` +
	"`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS`" + `
and its relatives, ` + "`TEMPORAL_CONFIG_FILE` and `TEMPORAL_PROFILE`" + `, and the TOML file they share with the ` +
	"`temporal`" + ` command.

## Other variables

| variable | meaning |
|---|---|
| ` + "`ONEIROS_CONFIG`" + ` | the configuration file to read |
| ` + "`ONEIROS_TEMPORALD`" + ` | the server that ` + "`oneiros up`" + ` starts when no cluster is configured |
| ` + "`ONEIROS_KEY`" + ` | the key that ` + "`oneiros mcp`" +
	` speaks with (mcp.md); unset: as a client without a key |
| ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" +
	` | where traces go, with the other variables of OpenTelemetry's exporter (serving.md); unset: none are made |
| ` + "`NO_COLOR`" + ` | set to anything: no colour |
`
