package config

import (
	"sync"
)

const day = 24 * 3600 // seconds

// Knobs returns the whole table, in the order of the reference.
func Knobs() []Knob {
	return append([]Knob(nil), table()...)
}

var table = sync.OnceValue(func() []Knob {
	var all []Knob
	for _, part := range [][]Knob{
		placeKnobs(), storeKnobs(), temporalKnobs(), sealKnobs(), workerKnobs(),
		serveKnobs(), roleKnobs(), moneyKnobs(), agentKnobs(), feedKnobs(), policyKnobs(), eventKnobs(), logKnobs(),
		consentKnobs(), dreamKnobs(),
	} {
		all = append(all, part...)
	}
	return all
})

func placeKnobs() []Knob {
	return []Knob{
		{
			Key:     "data_dir",
			Sort:    Text,
			Default: "",
			Unit:    "path",
			Flag:    "data-dir",
			Reason:  "Where the store, the embedded Temporal server's file and the demo live. Empty: $XDG_DATA_HOME/oneiros, else ~/.local/share/oneiros, else .oneiros.",
		},
	}
}

func temporalKnobs() []Knob {
	return []Knob{
		{
			Key:     "temporal.address",
			Sort:    Text,
			Default: "",
			Unit:    "host:port",
			Flag:    "address",
			Reason:  "The cluster's frontend. Empty: the standard Temporal client environment (TEMPORAL_ADDRESS, TEMPORAL_PROFILE, its TOML file); when that names none either, `oneiros up` starts a server of its own.",
		},
		{
			Key:     "temporal.namespace",
			Sort:    Text,
			Default: "",
			Unit:    "name",
			Flag:    "namespace",
			Reason:  "Empty: what the standard Temporal client environment says, else \"default\".",
		},
		{
			Key:     "temporal.task_queue",
			Sort:    Text,
			Default: "oneiros",
			Unit:    "name",
			Flag:    "task-queue",
			Reason:  "Workers and starters meet here. One queue for workflows and activities keeps eager activities possible (31 % less CPU per dream).",
		},
		{
			Key:     "temporal.profile",
			Sort:    Text,
			Default: "",
			Unit:    "name",
			Flag:    "profile",
			Reason:  "The profile of the standard Temporal client environment to read when temporal.address is empty. Empty: TEMPORAL_PROFILE, else \"default\".",
		},
		{
			Key: "temporal.child", Sort: Choice, Default: "auto", Choices: []string{"auto", "never"},
			Reason: "auto: start a Temporal server as a child when no address is known. never: fail instead, for production.",
		},
		{
			Key: "temporal.api_key_env", Sort: Text, Default: "", Unit: "variable",
			Reason: "The environment variable that holds the cluster's API key. The key itself is never written into a file.",
		},
		{
			Key: "temporal.api_key_file", Sort: Text, Default: "", Unit: "path",
			Reason: "The file that holds the cluster's API key, as secrets are mounted in containers.",
		},
		{
			Key: "temporal.tls.enabled", Sort: YesNo, Default: false,
			Reason: "Speak TLS to temporal.address. An API key or a certificate turns it on as well.",
		},
		{
			Key: "temporal.tls.ca_file", Sort: Text, Default: "", Unit: "path",
			Reason: "Certificates of the authority to trust. Empty: those of the system.",
		},
		{
			Key:     "temporal.tls.cert_file",
			Sort:    Text,
			Default: "",
			Unit:    "path",
			Reason:  "This client's certificate, for mTLS; goes with key_file.",
		},
		{
			Key:     "temporal.tls.key_file",
			Sort:    Text,
			Default: "",
			Unit:    "path",
			Reason:  "The key of cert_file.",
		},
		{
			Key: "temporal.tls.server_name", Sort: Text, Default: "", Unit: "name",
			Reason: "The name to expect in the server's certificate, when it is not the one in the address.",
		},
	}
}

func sealKnobs() []Knob {
	return []Knob{
		{
			Key: "seal.keys_file", Sort: Text, Default: "", Unit: "path",
			Reason: "The file of the keys that seal what Temporal stores: a line for each, \"<key id> <base64 of 32 bytes>\", newest first, as `oneiros codec new-key` prints it. Empty, and keys_env too: nothing is sealed (docs/sealing.md).",
		},
		{
			Key: "seal.keys_env", Sort: Text, Default: "", Unit: "variable",
			Reason: "The environment variable that holds the same lines. The keys themselves are never written into this configuration.",
		},
	}
}

func workerKnobs() []Knob {
	return []Knob{
		{
			Key:     "worker.concurrent",
			Sort:    Whole,
			Default: 32,
			Unit:    "activities",
			Low:     1,
			High:    10_000,
			Reason:  "Activities that run at once in one process: eight dreams whose four partials run side by side. An activity mostly waits for its model.",
		},
		{
			Key:     "worker.cache",
			Sort:    Whole,
			Default: 500,
			Unit:    "workflows",
			Low:     1,
			High:    100_000,
			Reason:  "Workflows kept in memory. 500 cost about 53 MiB; the workflow of an idle agent beyond that is replayed when it is needed.",
		},
		{
			Key:     "worker.stop_within",
			Sort:    Span,
			Default: "20s",
			Low:     1,
			High:    600,
			Reason:  "How long a stopping worker lets its activities reach a token boundary. The SDK's own default is zero.",
		},
	}
}

func roleKnobs() []Knob {
	const words, meaning = "builtin/associative", "builtin/static"
	return []Knob{
		{
			Key:     "roles.generator",
			Sort:    Text,
			Default: words,
			Unit:    "provider/model",
			Reason:  "Dreams the onset: the induction and the Dali partials. The built-in model needs no provider and says what it is.",
		},
		{
			Key:     "roles.observer",
			Sort:    Text,
			Default: words,
			Unit:    "provider/model",
			Reason:  "Judges each fragment in at most dream.observer_tokens; a small model is enough.",
		},
		{
			Key:     "roles.replay",
			Sort:    Text,
			Default: words,
			Unit:    "provider/model",
			Reason:  "Reads episodes forward and backward in NREM, and takes the last look.",
		},
		{
			Key:     "roles.imagination",
			Sort:    Text,
			Default: words,
			Unit:    "provider/model",
			Reason:  "Imagines the scenarios of REM.",
		},
		{
			Key:     "roles.integration",
			Sort:    Text,
			Default: words,
			Unit:    "provider/model",
			Reason:  "Weaves what was kept into hypotheses, and words the return.",
		},
		{
			Key:     "roles.embedder",
			Sort:    Text,
			Default: meaning,
			Unit:    "provider/model",
			Reason:  "Places memories in a space. Every agent's vectors belong to one embedder; a change means to embed again.",
		},
		{
			Key: "embedder.minilm_dir", Sort: Text, Default: "", Unit: "path",
			Reason: "The folder of all-MiniLM-L6-v2 (config.json, tokenizer.json, model.safetensors or model.fp16.safetensors) for the embedder builtin/minilm, which this process runs itself. Empty: there is none. docs/models.md says where to get it.",
		},
	}
}

func moneyKnobs() []Knob {
	return []Knob{
		{
			Key:     "money.dream",
			Sort:    Dollars,
			Default: "0.50",
			Unit:    "USD",
			Reason:  "Hard cap of one dream, and the cap a new agent starts with.",
		},
		{
			Key:     "money.day",
			Sort:    Dollars,
			Default: "2.00",
			Unit:    "USD",
			Reason:  "Hard cap of one agent in one day of its own time zone.",
		},
		{
			Key:     "money.month",
			Sort:    Dollars,
			Default: "15.00",
			Unit:    "USD",
			Reason:  "Hard cap of one agent in one month.",
		},
		{
			Key:       "money.fleet_day",
			Sort:      Dollars,
			Default:   "unlimited",
			Unit:      "USD",
			Unlimited: true,
			Reason:    "Hard cap of all agents together in one day; each pays on the day of its own zone. Unlimited, because the caps of the agents already bound it.",
		},
	}
}

func logKnobs() []Knob {
	return []Knob{
		{
			Key:     "log.level",
			Sort:    Choice,
			Default: "warn",
			Choices: []string{"debug", "info", "warn", "error"},
			Flag:    "log-level",
			Reason:  "Least level written to standard error. At warn, a healthy night is silent beside its own timeline.",
		},
		{
			Key:     "log.format",
			Sort:    Choice,
			Default: "text",
			Choices: []string{"text", "json"},
			Flag:    "log-format",
			Reason:  "text for people, json for collectors.",
		},
	}
}

func consentKnobs() []Knob {
	return []Knob{
		{
			Key: "consent.environment_key", Sort: YesNo, Default: false,
			Reason: "Use OPENAI_API_KEY and OPENAI_BASE_URL found in the environment as provider \"openai\". A key that merely lies about is never used.",
		},
		{
			Key: "consent.local_ollama", Sort: YesNo, Default: false,
			Reason: "Use an Ollama on this machine as provider \"ollama\" (OLLAMA_HOST, else 127.0.0.1:11434). It costs nothing but this machine's time.",
		},
		{
			Key: "consent.auto_paid", Sort: YesNo, Default: false,
			Reason: "Dreams that nobody asked for may spend money, within every cap. Off: they begin only where every model costs nothing.",
		},
		{
			Key:     "consent.confirm_above",
			Sort:    Dollars,
			Default: "0.00",
			Unit:    "USD",
			Reason:  "A dream whose estimate is above this asks before it begins; where nobody can answer, --yes is the answer. At 0 every paid dream asks.",
		},
	}
}
