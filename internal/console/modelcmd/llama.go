// Package modelcmd has the commands that run GGUF models and learn steering vectors.
package modelcmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// The variables with the paths of the model and the libraries, when no flag names them.
const (
	llamaModelEnv = "ONEIROS_LLAMA_MODEL"
	llamaLibEnv   = "ONEIROS_LLAMA_LIB"
)

// usualLlama is where the endpoint listens by default; llama.cpp's own server takes 8080.
const usualLlama = "127.0.0.1:8089"

// llamaFlags are the flags of every command that runs a model.
func llamaFlags(cmd *cobra.Command, m *deploy.LlamaModel) {
	f := cmd.Flags()
	f.StringVar(&m.Model, "model", "", "GGUF `file` of the model; else $"+llamaModelEnv)
	f.StringVar(&m.Lib, "lib", "", "`folder` of llama.cpp's shared libraries; else $"+llamaLibEnv)
	f.StringVar(&m.Template, "template", "",
		"chat template of llama.cpp by `name`, such as chatml; empty: the model's own")
	f.IntVar(&m.Context, "context", 0,
		"`tokens` of prompt and answer; 0: 4096, or what the model was trained on when that is less")
	f.IntVar(&m.Threads, "threads", 0,
		"`threads`; 0: one less than there are cores, at most 4. More than are free make it slower by factors")
}

// placed fills in what the environment says.
func placed(app *cli.App, m *deploy.LlamaModel) error {
	for _, p := range []struct {
		into      *string
		flag, env string
		what      string
	}{
		{&m.Model, "--model", llamaModelEnv, "a model's GGUF file"},
		{&m.Lib, "--lib", llamaLibEnv, "the folder of llama.cpp's shared libraries"},
	} {
		if *p.into == "" {
			*p.into = app.Backend.Getenv(p.env)
		}
		if *p.into == "" {
			return exit.Usagef(
				"%s is not given; it names %s (or set %s); docs/steering.md says where models and libraries come from",
				p.flag, p.what, p.env)
		}
	}
	return nil
}

// Llama builds the command oneiros llama.
func Llama(app *cli.App) *cobra.Command {
	var s deploy.LlamaServer
	var vectors []string
	var layers, key string
	var alpha float64
	cmd := &cobra.Command{
		Use: "llama", Short: "Serve a GGUF model on an OpenAI-compatible endpoint, steered by request",
		GroupID: cli.DeploymentGroup,
		Long: `Llama runs a GGUF model in this process, through llama.cpp's shared libraries, and answers the OpenAI wire until Ctrl-C:
chat completions, streamed or whole, with min_p, seed, stop, logprobs and schemas.

A request is steered by a field of ours, "steering": {"vector": "NAME", "alpha": 0.5, "layers": [6, 18]}, or by the name of
the model: NAME+VECTOR. docs/steering.md says more.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := placed(app, &s.LlamaModel); err != nil {
				return err
			}
			var err error
			s.Vectors, err = vectorFiles(vectors)
			if err != nil {
				return err
			}
			s.From, s.To, err = layerSpan(layers)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("alpha") {
				s.Alpha = &alpha
			}
			if key != "" {
				s.Key = strings.TrimSpace(app.Backend.Getenv(key))
				if s.Key == "" {
					return exit.Usagef("--key-env names %s, which is not set", key)
				}
			}
			if s.Name == "" {
				s.Name = modelName(s.Model)
			}
			return app.Backend.ServeModel(cmd.Context(), s, func(address, about string) {
				if app.Json {
					_ = app.Answer(map[string]any{"address": address, "model": s.Name, "about": about})
					return
				}
				app.Note("%s answers at http://%s/v1 as %s; Ctrl-C ends it.", about, address, s.Name)
			})
		},
	}
	llamaFlags(cmd, &s.LlamaModel)
	f := cmd.Flags()
	f.StringVar(&s.Listen, "listen", usualLlama,
		"`address` to listen on; port 0 takes a free one. One that others can reach needs --key-env")
	f.StringVar(&s.Name, "name", "", "`name` of the model on the wire; empty: its file's")
	f.StringArrayVar(&vectors, "vector", nil, "control vector, `name=file`; may be repeated")
	f.StringVar(&layers, "layers", "",
		"`layers` that a request is steered at when it does not say, such as 11 or 6-18; empty: the middle one")
	f.Float64Var(&alpha, "alpha", 0, "`strength` of a request that does not say; without this flag 1.5")
	f.IntVar(&s.Parallel, "parallel", 1, "`answers` made at once, each with a context of its own")
	f.IntVar(&s.Queue, "queue", 0, "`requests` that may wait; 0: 64")
	f.StringVar(&key, "key-env", "", "`variable` that holds the bearer token to ask for")
	return cmd
}

// modelName is a file's name without folder and extension, as a model name for requests.
func modelName(path string) string {
	path = path[strings.LastIndexAny(path, `/\`)+1:]
	path = strings.TrimSuffix(path, ".gguf")
	return strings.ReplaceAll(path, "+", "-")
}

// vectorFiles reads name=file pairs.
func vectorFiles(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range pairs {
		name, file, ok := strings.Cut(pair, "=")
		if !ok || name == "" || file == "" || strings.ContainsAny(name, "+/ ") {
			return nil, exit.Usagef("--vector %q should be name=file, the name without blanks, + and /", pair)
		}
		if _, twice := out[name]; twice {
			return nil, exit.Usagef("--vector names %q twice", name)
		}
		out[name] = file
	}
	return out, nil
}

// layerSpan parses 11 or 6-18; zeros for nothing.
func layerSpan(text string) (from, to int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	first, last, span := strings.Cut(text, "-")
	from, err = strconv.Atoi(first)
	to = from
	if err == nil && span {
		to, err = strconv.Atoi(last)
	}
	if err != nil || from < 1 || to < from {
		return 0, 0,
			exit.Usagef("--layers %q should be one layer such as 11, or the first and the last such as 6-18", text)
	}
	return from, to, nil
}

// strengths parses comma-separated numbers, without repetitions, sorted.
func strengths(text string) ([]float64, error) {
	var out []float64
	for _, word := range strings.Split(text, ",") {
		alpha, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || alpha != alpha || alpha < -100 || alpha > 100 {
			return nil,
				exit.Usagef("--alphas %q should be numbers from -100 to 100 between commas, such as 0.5,1,1.5", text)
		}
		if !slices.Contains(out, alpha) {
			out = append(out, alpha)
		}
	}
	return out, nil
}

// spanWords names layers.
func spanWords(from, to int) string {
	if from == to {
		return fmt.Sprintf("layer %d", from)
	}
	return fmt.Sprintf("layers %d-%d", from, to)
}
