package console_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/steering"
)

// bench is a console with fake models.
type bench struct {
	*testing.T
	served  deploy.LlamaServer
	lesson  deploy.TrainRequest
	trial   deploy.TrialRequest
	env     map[string]string
	out     bytes.Buffer
	width   int
	answers error
}

// modelRunner is a backend that remembers what it was asked to run.
type modelRunner struct {
	cli.Backend
	*bench
}

func (b modelRunner) Getenv(name string) string { return b.env[name] }

func (b modelRunner) ServeModel(_ context.Context, s deploy.LlamaServer, ready func(string, string)) error {
	b.served = s
	ready("127.0.0.1:8089", "llama 1B Q4, 22 layers of 2048")
	return b.answers
}

func (b modelRunner) Train(_ context.Context, l deploy.TrainRequest) (deploy.TrainResult, error) {
	b.lesson = l
	return deploy.TrainResult{
		Vector: steering.Vector{Model: "llama", Layers: map[int][]float32{10: {1, 0}, 11: {0, 1}}},
		About:  "llama 1B Q4, 22 layers of 2048",
		Layers: []steering.Layer{
			{Layer: 10, Length: .807, Agree: .86},
			{Layer: 11, Length: .9577, Agree: .875},
		},
	}, b.answers
}

func (b modelRunner) TryVector(_ context.Context, t deploy.TrialRequest) (deploy.TrialResult, error) {
	b.trial = t
	return deploy.TrialResult{
		About:    "llama 1B Q4, 22 layers of 2048",
		Embedder: t.Embedder,
		From:     11,
		To:       11,
		Rows: []steering.Row{
			{
				Alpha:    0,
				Answers:  12,
				Words:    27.2,
				Distinct: .5,
				Pairs:    .877,
				Distance: .638,
				Surface:  1,
				LogProb:  -1.47,
				Plain:    -1.476,
				Example:  "An old key is a tool\nthat opens doors.",
			},
			{
				Alpha:    1.5,
				Answers:  12,
				Words:    24.6,
				Distinct: .42,
				Pairs:    .678,
				Distance: .866,
				Moved:    .628,
				Surface:  .985,
				LogProb:  -1.33,
				Plain:    -1.55,
				Example:  "It is a key to a secret from the past.",
			},
		},
	}, b.answers
}

func (b *bench) run(args ...string) int {
	b.Helper()
	b.out.Reset()
	clock := now
	app := &cli.App{
		In: strings.NewReader(""), Out: &b.out, Err: &b.out, Width: b.width,
		Now:     func() time.Time { clock = clock.Add(28 * time.Second); return clock },
		Backend: modelRunner{bench: b},
	}
	return console.Run(b.Context(), app, args)
}

func (b *bench) golden(name string) {
	b.Helper()
	path := filepath.Join("testdata", name+".txt")
	if os.Getenv("UPDATE") != "" {
		require.NoError(b, os.WriteFile(path, b.out.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(b, err)
	require.Equal(b, string(want), b.out.String())
}

var here = map[string]string{"ONEIROS_LLAMA_MODEL": "/models/tiny.gguf", "ONEIROS_LLAMA_LIB": "/opt/llama"}

func TestAVectorThatWasLearnedIsWrittenWhole(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		b := &bench{T: t, env: here, width: width}
		out := filepath.Join(t.TempDir(), "v.gguf")
		require.Equal(t, exit.OK, b.run("steering", "train", "-o", out, "--layers", "10-11"), b.out.String())
		text := strings.Join(strings.Fields(strings.ReplaceAll(b.out.String(), out, "v.gguf")), " ")
		require.Contains(t, text,
			"LAYER LENGTH HALVES AGREE 10 0.807 0.86 11 0.958 0.88 llama 1B Q4, 22 layers of 2048, 48 pairs, 28s.")
		require.Contains(t, text, "Written to v.gguf. What it does: oneiros steering check --vector v.gguf")
		require.Equal(
			t,
			[]int{10, 11, len(steering.Pairs())},
			[]int{b.lesson.From, b.lesson.To, len(b.lesson.Pairs)},
		)
		raw, err := os.ReadFile(out)
		require.NoError(t, err)
		v, err := steering.Decode(bytes.NewReader(raw), int64(len(raw)))
		require.NoError(t, err)
		require.Len(t, v.Layers, 2)
		require.Equal(t, exit.Usage, b.run("steering", "train", "-o", out))
		require.Contains(t, b.out.String(), "add --force")
		require.Equal(t, exit.OK, b.run("steering", "train", "-o", out, "--force", "--json"))
		require.Contains(t, b.out.String(), `"agree": 0.86`)
		left, err := os.ReadDir(filepath.Dir(out))
		require.NoError(t, err)
		require.Len(t, left, 1)
	}
}

func TestPairsArePrintedAsTheyAreRead(t *testing.T) {
	t.Parallel()
	b := &bench{T: t, env: here}
	require.Equal(t, exit.OK, b.run("steering", "pairs", "--json"))
	require.Contains(t, b.out.String(), `"ask": "`)
	require.Contains(t, b.out.String(), `"analytical": "`)
	require.Equal(t, exit.OK, b.run("steering", "pairs"))
	file := filepath.Join(t.TempDir(), "pairs.txt")
	require.NoError(t, os.WriteFile(file, b.out.Bytes(), 0o600))
	require.Equal(t, exit.OK,
		b.run("steering", "train", "--pairs", file, "-o", filepath.Join(t.TempDir(), "v.gguf")), b.out.String())
	require.Equal(t, steering.Pairs(), b.lesson.Pairs)
}

func TestAServerGetsWhatItsFlagsSay(t *testing.T) {
	t.Parallel()
	b := &bench{T: t, env: map[string]string{"KEY": " sesame\n"}, width: 80}
	require.Equal(t, exit.OK,
		b.run(
			"llama",
			"--model",
			"/m/tiny+1.gguf",
			"--lib",
			"/l",
			"--vector",
			"a=x.gguf",
			"--vector",
			"b=y.gguf",
			"--alpha",
			"0",
			"--layers",
			"6-18",
			"--parallel",
			"2",
			"--queue",
			"9",
			"--threads",
			"3",
			"--context",
			"512",
			"--key-env",
			"KEY",
			"--template",
			"chatml",
		), b.out.String())
	zero := 0.0
	require.Equal(t, deploy.LlamaServer{
		LlamaModel: deploy.LlamaModel{
			Model:    "/m/tiny+1.gguf",
			Lib:      "/l",
			Template: "chatml",
			Context:  512,
			Threads:  3,
			Parallel: 2,
			Queue:    9,
			Vectors:  map[string]string{"a": "x.gguf", "b": "y.gguf"},
		},
		Name:   "tiny-1",
		Listen: "127.0.0.1:8089",
		Key:    "sesame",
		From:   6,
		To:     18,
		Alpha:  &zero,
	}, b.served)
	b.golden("llama-80")
	b.env = here
	require.Equal(t, exit.OK, b.run("llama", "--json"))
	require.Nil(t, b.served.Alpha)
	require.Equal(t, "/models/tiny.gguf", b.served.Model)
	require.JSONEq(t, `{"about":"llama 1B Q4, 22 layers of 2048","address":"127.0.0.1:8089","model":"tiny"}`,
		b.out.String())
}

func TestWrongWordsAboutModelsNameTheirFlag(t *testing.T) {
	t.Parallel()
	for want, line := range map[string]string{
		"--model is not given":                     "llama --lib l",
		"--lib is not given":                       "llama --model m",
		"--vector \"a\" should be":                 "llama --model m --lib l --vector a",
		"--vector \"a+b=x\" should be":             "llama --model m --lib l --vector a+b=x",
		"--vector names \"a\" twice":               "llama --model m --lib l --vector a=x --vector a=y",
		"--layers \"18-6\" should be":              "llama --model m --lib l --layers 18-6",
		"--key-env names NOWHERE":                  "llama --model m --lib l --key-env NOWHERE",
		"--out is not given":                       "steering train --model m --lib l",
		"--layers \"x\" should be":                 "steering train --model m --lib l -o v --layers x",
		"open the pairs":                           "steering train --model m --lib l -o v --pairs /absent",
		"--vector is not given":                    "steering check --model m --lib l",
		"--alphas \"1,x\" should be":               "steering check --model m --lib l --vector v --alphas 1,x",
		"--prompts is 99; it must lie":             "steering check --model m --lib l --vector v --prompts 99",
		"--seeds is 0; it must lie":                "steering check --model m --lib l --vector v --seeds 0",
		"--tokens is 5000; it must lie be":         "steering check --model m --lib l --vector v --tokens 5000",
		"oneiros llama has no place for \"extra\"": "llama extra",
	} {
		b := &bench{T: t}
		require.Equal(t, exit.Usage, b.run(strings.Fields(line)...), line)
		require.Contains(t, b.out.String(), want)
	}
}

func TestWhatATrialTellsFitsTheScreen(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		b := &bench{T: t, env: here, width: width}
		require.Equal(t, exit.OK, b.run("steering", "check", "--vector", "v.gguf"), b.out.String())
		b.golden(fmt.Sprintf("steering-check-%d", width))
		for _, line := range strings.Split(b.out.String(), "\n") {
			require.LessOrEqual(t, len([]rune(line)), width)
		}
	}
}
