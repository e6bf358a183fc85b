package modelcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/steering"
)

// Steering builds the command oneiros steering.
func Steering(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "steering", Short: "Make a creativity vector for a GGUF model, and measure what it does",
		GroupID: cli.DeploymentGroup,
		Long: `Steering adds a direction to what the middle layers of a model put out while it thinks. The direction is
learned from pairs of answers, one that drifts and one that explains. docs/steering.md says how, and what was measured.`,
	}
	cmd.AddCommand(steeringTrain(app), steeringCheck(app), steeringPairs(app))
	return cmd
}

func steeringPairs(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "pairs", Short: "Print the pairs that a vector is learned from, as a file to change",
		RunE: func(*cobra.Command, []string) error {
			pairs := steering.Pairs()
			if app.Json {
				result := make([]pairLine, len(pairs))
				for i, p := range pairs {
					result[i] = pairLine(p)
				}
				return app.Answer(result)
			}
			for _, p := range pairs {
				fmt.Fprintf(app.Out, "? %s\n+ %s\n- %s\n\n", p.Ask, p.Creative, p.Analytical)
			}
			return nil
		},
	}
}

// pairLine is a pair for --json.
type pairLine struct {
	Ask        string `json:"ask"`
	Creative   string `json:"creative"`
	Analytical string `json:"analytical"`
}

func steeringTrain(app *cli.App) *cobra.Command {
	var l deploy.TrainRequest
	var file, layers, out string
	var force bool
	cmd := &cobra.Command{
		Use: "train", Short: "Learn a creativity vector from pairs of answers",
		Long: `Train lets the model read both answers of each pair, and writes the mean difference of what its layers put out, made 1 long
in each layer, as a GGUF file that llama.cpp, repeng and EasySteer read: direction.N is added to what layer N puts out.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := placed(app, &l.LlamaModel); err != nil {
				return err
			}
			if out == "" {
				return exit.Usagef("--out is not given; it names the file to write, such as creativity.gguf")
			}
			if _, err := os.Stat(out); !force && !errors.Is(err, fs.ErrNotExist) {
				return exit.Usagef("--out %s is there already; add --force to write over it", out)
			}
			var err error
			l.From, l.To, err = layerSpan(layers)
			if err != nil {
				return err
			}
			l.Pairs, err = pairsOf(file)
			if err != nil {
				return err
			}
			began := app.Now()
			l.Progress = progress(app, "pairs read")
			learned, err := app.Backend.Train(cmd.Context(), l)
			if err != nil {
				return err
			}
			raw, err := learned.Vector.Encode()
			if err == nil {
				err = writeWhole(out, raw)
			}
			if err != nil {
				return err
			}
			return reportLearned(app, learned, out, len(l.Pairs), app.Now().Sub(began))
		},
	}
	llamaFlags(cmd, &l.LlamaModel)
	cmd.Flags().
		StringVar(&file, "pairs", "", "`file` of pairs, as oneiros steering pairs prints them; empty: our own")
	cmd.Flags().StringVar(&layers, "layers", "",
		"`layers` to learn, such as 6-18; empty: all but the first and the last")
	cmd.Flags().StringVarP(&out, "out", "o", "", "`file` to write")
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	return cmd
}

func pairsOf(file string) ([]steering.Pair, error) {
	if file == "" {
		return steering.Pairs(), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, exit.AsUsage(fmt.Errorf("open the pairs: %w", err))
	}
	defer func() { _ = f.Close() }()
	pairs, err := steering.ReadPairs(f)
	if err != nil {
		return nil, exit.AsUsage(fmt.Errorf("--pairs %s: %w", file, err))
	}
	return pairs, nil
}

// writeWhole writes a file under another name and renames it, so that no reader finds half of it.
func writeWhole(path string, raw []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".oneiros-*")
	if err != nil {
		return fmt.Errorf("write the vector: %w", err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the vector: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

func reportLearned(app *cli.App, l deploy.TrainResult, out string, pairs int, took time.Duration) error {
	if app.Json {
		return app.Answer(
			map[string]any{
				"model":  l.About,
				"file":   out,
				"pairs":  pairs,
				"width":  l.Vector.Dim(),
				"layers": l.Layers,
			},
		)
	}
	t := cli.NewTable("LAYER,right", "LENGTH,right", "HALVES AGREE,right")
	for _, layer := range l.Layers {
		t.Add(fmt.Sprint(layer.Layer), fmt.Sprintf("%.3f", layer.Length), fmt.Sprintf("%.2f", layer.Agree))
	}
	app.Draw(t)
	fmt.Fprintln(app.Out)
	app.Say("%s, %d pairs, %s.", l.About, pairs, took.Round(time.Second))
	app.Say(
		"Length is that of the mean difference before it was made 1 long. Halves agree is the cosine between what every other pair says and what the rest say: near 0 the pairs have nothing in common at that layer, and the vector is noise.",
	)
	app.Say("Written to %s. What it does: oneiros steering check --vector %s", out, out)
	return nil
}

func steeringCheck(app *cli.App) *cobra.Command {
	t := deploy.TrialRequest{}
	var layers, alphas string
	var prompts int
	cmd := &cobra.Command{
		Use: "check", Short: "Measure what a vector does to answers, on questions that no pair asks",
		Long: `Check lets the model answer held-out questions with and without the vector, with the same seeds, at several strengths, and
measures the answers. On one core a model of a billion weights needs about three minutes for the defaults.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := placed(app, &t.LlamaModel); err != nil {
				return err
			}
			var err error
			t.Alphas, err = strengths(alphas)
			if err != nil {
				return err
			}
			t.From, t.To, err = layerSpan(layers)
			if err != nil {
				return err
			}
			all := steering.Prompts()
			for _, c := range []struct {
				flag      string
				value     int
				low, high int
			}{{"--prompts", prompts, 1, len(all)}, {"--seeds", t.Seeds, 1, 20}, {"--tokens", t.Tokens, 8, 400}} {
				if c.value < c.low || c.value > c.high {
					return exit.Usagef("%s is %d; it must lie between %d and %d", c.flag, c.value, c.low, c.high)
				}
			}
			if t.Vector == "" {
				return exit.Usagef("--vector is not given; it names the vector's GGUF file, as oneiros steering train writes it")
			}
			t.Prompts, t.Progress = all[:prompts], progress(app, "answers")
			tried, err := app.Backend.TryVector(cmd.Context(), t)
			if len(tried.Rows) == 0 {
				return err
			}
			return errors.Join(err, reportTried(app, tried, t)) // also report what was measured before an error
		},
	}
	llamaFlags(cmd, &t.LlamaModel)
	f := cmd.Flags()
	f.StringVar(&t.Vector, "vector", "", "GGUF `file` of the vector")
	f.StringVar(&layers, "layers", "", "`layers` to steer, such as 11 or 6-18; empty: the middle one")
	f.StringVar(&alphas, "alphas", "0.5,1,1.5,3", "`strengths` between commas; 0 is always measured too")
	f.IntVar(&prompts, "prompts", 6, "how many of the held-out `questions` to ask")
	f.IntVar(&t.Seeds, "seeds", 2, "`answers` to each question at each strength")
	f.IntVar(&t.Tokens, "tokens", 40, "`tokens` of an answer, at most")
	f.Float64Var(&t.Temperature, "temperature", .8, "`temperature` of the answers")
	f.Float64Var(&t.MinP, "min-p", .1, "min-p of the answers")
	f.StringVar(&t.Embedder, "embedder", "builtin/lexical",
		"`model` that measures distance, provider/model; the built-in one counts words")
	return cmd
}

// readTrial explains the columns, and what they do not show.
var readTrial = []string{
	"Distinct is the share of different words, and of different pairs of words. Distance is the mean cosine distance between answers to one question; moved, that from the answer without the vector to the same question with the same seed. Surface is 1 for plain speech and 0 for noise. Log-prob is what the model itself thought of its tokens; plain, what it thinks of the same answers unsteered: how far they are from anything it would have said.",
	"So few answers show the way, not the size: ask with more --seeds before believing a difference. Distance and distinct words rise for noise too. A strength is good where they rise while surface stays near that of the first row and plain falls by little; where plain falls by more than about 2 the answers are breaking. Whether they are better ideas, no column says: read them.",
}

func reportTried(app *cli.App, tried deploy.TrialResult, t deploy.TrialRequest) error {
	if app.Json {
		return app.Answer(tried)
	}
	table := cli.NewTable("ALPHA,right", "WORDS,right,drop=2", "DISTINCT-1,right,drop=1",
		"DISTINCT-2,right", "DISTANCE,right", "MOVED,right", "SURFACE,right", "LOG-PROB,right,drop=1", "PLAIN,right")
	for _, r := range tried.Rows {
		two := func(v float64) string { return fmt.Sprintf("%.2f", v) }
		table.Add(fmt.Sprintf("%g", r.Alpha), fmt.Sprintf("%.0f", r.Words), two(r.Distinct), two(r.Pairs),
			two(r.Distance), two(r.Moved), two(r.Surface), two(r.LogProb), two(r.Plain))
	}
	app.Draw(table)
	fmt.Fprintln(app.Out)
	app.Say("%s, %s, %d questions, %d answers to each, at most %d tokens, temperature %g, min-p %g, distance by %s.",
		tried.About, spanWords(tried.From, tried.To), len(t.Prompts), t.Seeds, t.Tokens, t.Temperature, t.MinP,
		tried.Embedder)
	for _, paragraph := range readTrial {
		fmt.Fprintln(app.Out)
		app.Say("%s", paragraph)
	}
	for _, r := range tried.Rows {
		fmt.Fprintf(app.Out, "\n%5g  %s\n", r.Alpha, cli.Cut(cli.Flat(r.Example), max(0, app.Width-7)))
	}
	return nil
}

// progress shows on one line of the terminal how much is done; elsewhere it prints nothing.
func progress(app *cli.App, what string) func(done, all int) {
	if !app.Terminal || app.Json {
		return func(int, int) {}
	}
	return func(done, all int) {
		fmt.Fprintf(app.Err, "\r%d of %d %s", done, all, what)
		if done == all {
			fmt.Fprintln(app.Err)
		}
	}
}
