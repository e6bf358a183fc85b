package recalling_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/recall"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/embedding"
	"github.com/seed-56a03226/oneiros/testsuite/recalling"
)

// load imports a dialogue into a new store on a file.
func load(t *testing.T, embedder string, d recalling.Dialogue, drop func(string) bool) *recalling.Bench {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "oneiros.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	agent := dream.Agent{
		ID:      "ag_bench",
		Handle:  "bench",
		Zone:    "UTC",
		Tier:    dream.Core,
		Caps:    dream.DefaultCaps,
		Created: time.Now(),
	}
	require.NoError(t, store.PutAgent(t.Context(), agent))
	b, err := recalling.Load(t.Context(), store, agent, embedBy(embedder), calibrationOf(t, embedder), d, drop)
	require.NoError(t, err)
	return b
}

// models are the built-in ones, with builtin/minilm where ONEIROS_TEST_MINILM names its folder.
var models = sync.OnceValues(func() (*localmodel.Model, error) {
	if dir := os.Getenv("ONEIROS_TEST_MINILM"); dir != "" {
		return localmodel.WithMiniLM(dir)
	}
	return localmodel.New(), nil
})

// gte is the name of gte-small, served over the OpenAI wire where ONEIROS_TEST_GTE names the folder of its files.
const gte = "wire/encoder"

var served = sync.OnceValues(func() (*embedding.Served, error) {
	return embedding.Serve(os.Getenv("ONEIROS_TEST_GTE"))
})

func modelOf(embedder string) (inference.Model, error) {
	if embedder != gte {
		return models()
	}
	s, err := served()
	if err != nil {
		return nil, err
	}
	return s.Model, nil
}

// places remembers vectors by embedder and text: the dialogues are loaded many times.
var places sync.Map

func embedBy(embedder string) recalling.Embedder {
	return func(ctx context.Context, texts []string) ([][]float32, string, error) {
		m, err := modelOf(embedder)
		if err != nil {
			return nil, "", err
		}
		all, space := make([][]float32, len(texts)), ""
		for i, text := range texts {
			key := embedder + "\x00" + text
			existing, ok := places.Load(key)
			if !ok {
				existing, err = m.Embed(ctx, embedder, []string{text}, "")
				if err != nil {
					return nil, "", err
				}
				places.Store(key, existing)
			}
			v := existing.(inference.Vectors)
			all[i], space = v.V[0], v.Space
		}
		return all, space, nil
	}
}

// calibrationOf is the known calibration of a built-in embedder, and the measured one of another, as in a deployment.
func calibrationOf(t *testing.T, embedder string) inference.Calibration {
	t.Helper()
	for _, spec := range localmodel.Specs() {
		if spec.Name == embedder {
			return spec.Calibration
		}
	}
	v, _, err := embedBy(embedder)(t.Context(), inference.CalibrationTexts())
	require.NoError(t, err)
	c, err := inference.Calibrate(v)
	require.NoError(t, err)
	return c
}

// TestMeasure prints what recall finds of the dialogues in the files that LOCOMO names, separated by commas.
func TestMeasure(t *testing.T) {
	files := os.Getenv("LOCOMO")
	if files == "" {
		t.Skip(
			"LOCOMO names no file: make bench-memory LOCOMO=locomo10.json[,another.json] measures recall on dialogues in LoCoMo's form",
		)
	}
	for path := range strings.SplitSeq(files, ",") {
		dialogues, err := recalling.Read(path)
		require.NoError(t, err)
		for _, d := range dialogues {
			for _, embedder := range embedders() {
				measure(t, embedder, d)
			}
		}
	}
}

// embedders are those that are compared; those whose files the environment names take part.
func embedders() []string {
	all := []string{localmodel.Static}
	if os.Getenv("ONEIROS_TEST_MINILM") != "" {
		all = append(all, localmodel.MiniLM)
	}
	if os.Getenv("ONEIROS_TEST_GTE") != "" {
		all = append(all, gte)
	}
	return append(all, localmodel.Lexical)
}

func measure(t *testing.T, embedder string, d recalling.Dialogue) {
	t.Helper()
	b := load(t, embedder, d, nil)
	fmt.Printf("\n%+v, meaning counts %.2f", b.Space, recall.Weights(b.Space).Meaning)
	fmt.Printf("\ndialogue %s, embedder %s\n%-34s %21s  %s\n", d.Name, embedder, "hit@1/5/10 in %", "all",
		"multi-hop  temporal  open  single")
	row := func(name string, ranking recalling.Ranking) []recalling.Verdict {
		verdicts, err := b.Judge(t.Context(), ranking)
		require.NoError(t, err)
		line := fmt.Sprintf("%-34s", name)
		for _, category := range []int{0, 1, 2, 3, 4} {
			line += "  "
			for i, k := range []int{1, 5, 10} {
				if i > 0 {
					line += " / "
				}
				line += fmt.Sprintf("%4.1f", 100*recalling.Score(verdicts, category, k))
			}
		}
		fmt.Println(line)
		return verdicts
	}
	whole := row("recall (chat, MCP, HTTP, CLI)", b.Recall)
	row("plain BM25, 60 stop words", b.Plain())
	row("embedder alone", b.Embedded)
	for _, w := range []float64{1, .9, .8, .7, .6, .5} {
		row(fmt.Sprintf("words %.1f, meaning %.1f", w, 1-w),
			b.Fused(recalling.Fusion{Blend: rank.Blend{Words: w, Meaning: 1 - w}}))
	}
	for _, k := range []float64{10, 60} {
		for _, w := range []float64{.5, .7} {
			f := recalling.Fusion{Blend: rank.Blend{Words: w, Meaning: 1 - w}, Ranks: k}
			row(fmt.Sprintf("reciprocal ranks, k %.0f, words %.1f", k, w), b.Fused(f))
		}
	}
	own := recall.Weights(b.Space)
	for _, f := range []recalling.Fusion{
		{Blend: own, Context: .1, Within: 5 * time.Minute},
		{Blend: own, Context: .2, Within: time.Minute},
		{Blend: own, Context: .2, Within: 2 * time.Minute},
		{Blend: own, Context: .2, Within: 5 * time.Minute},
		{Blend: own, Context: .2, Within: time.Hour},
		{Blend: own, Context: .3, Within: 5 * time.Minute},
	} {
		row(fmt.Sprintf("words %.2f, context %.1f of %.0f min", own.Words, f.Context, f.Within.Minutes()), b.Fused(f))
	}
	silent(t, b)
	deleted(t, embedder, d, whole)
}

// deletions is how often 2 % of the turns are deleted, each time others.
const deletions = 10

// deleted is the control: with 2 % of the turns deleted recall must find less, on average.
func deleted(t *testing.T, embedder string, d recalling.Dialogue, whole []recalling.Verdict) {
	t.Helper()
	sum := 0.0
	for salt := range deletions {
		b := load(t, embedder, d, func(turn string) bool {
			h := fnv.New32a()
			fmt.Fprint(h, salt, " ", turn)
			return h.Sum32()%50 == 0
		})
		verdicts, err := b.Judge(t.Context(), b.Recall)
		require.NoError(t, err)
		sum += recalling.Score(verdicts, 0, 10)
	}
	fmt.Printf("2 %% of the turns deleted, %d times: hit@10 changes by %+.1f points on average\n",
		deletions, 100*(sum/deletions-recalling.Score(whole, 0, 10)))
}

// silent prints how often nothing is found for questions about things never said.
func silent(t *testing.T, b *recalling.Bench) {
	t.Helper()
	share := func(texts []string) float64 {
		none := 0
		for _, text := range texts {
			ids, err := b.Recall(t.Context(), text)
			require.NoError(t, err)
			if len(ids) == 0 {
				none++
			}
		}
		return 100 * float64(none) / float64(len(texts))
	}
	var five, real []string
	for _, q := range b.Dialogue.Questions {
		if q.Category == recalling.NeverSaid {
			five = append(five, q.Text)
		} else {
			real = append(real, q.Text)
		}
	}
	never, err := os.ReadFile("testdata/never.txt")
	require.NoError(t, err)
	fmt.Printf(
		"answered by nothing: %.0f %% of 100 questions about things never said, %.0f %% of category 5, %.0f %% of the others\n",
		share(slices.Collect(strings.SplitSeq(strings.TrimSpace(string(never)), "\n"))),
		share(five),
		share(real),
	)
}
