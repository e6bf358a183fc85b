// Command distill makes the table of the embedder builtin/static from all-MiniLM-L6-v2 and WordNet, and gives the same
// bytes each time.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/embedder/minilm"
	"github.com/seed-56a03226/oneiros/internal/embedder/static"
	"github.com/seed-56a03226/oneiros/internal/embedder/wordpiece"
)

// The numbers with which the embedded table was made. README.md says what else was tried.
const (
	frequencyPrior = 1e-3 // of weight: Arora et al. (2017) name 1e-4 to 1e-3
	dimensions     = 256
	pull           = 1   // how much a row is held to the vector of its piece alone
	rounds         = 15  // of conjugate gradients; more change no hit
	most           = 200 // pieces of a sentence that are read
)

type options struct {
	model, wordnet, cache, out string
	sentences                  int
}

func main() {
	var o options
	flag.StringVar(&o.model, "model", "",
		"`folder` of all-MiniLM-L6-v2: config.json, tokenizer.json, model.safetensors or model.fp16.safetensors")
	flag.StringVar(&o.wordnet, "wordnet", "", "`folder` of WordNet 3.0's data.noun, data.verb, data.adj and data.adv")
	flag.StringVar(&o.cache, "cache", "",
		"`folder` in which what the model said is kept; a run that was cut goes on there")
	flag.StringVar(&o.out, "out", "", "`folder` for table.bin and vocabulary.txt")
	flag.IntVar(&o.sentences, "sentences", 100_000, "how many sentences of WordNet the table learns from")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "distill:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if o.model == "" || o.wordnet == "" || o.cache == "" || o.out == "" {
		return errors.New("-model, -wordnet, -cache and -out are all needed; -help says what they are")
	}
	model, err := load(o.model)
	if err != nil {
		return err
	}
	vocabulary, err := wordpiece.New(model.Vocabulary())
	if err != nil {
		return err
	}
	all, err := wordnet(o.wordnet)
	if err != nil {
		return err
	}
	sentences := usable(all)
	sentences, spare := sentences[:min(len(sentences), o.sentences)], sentences[min(len(sentences), o.sentences):]

	raw, err := alone(model, vocabulary, o.cache)
	if err != nil {
		return err
	}
	lessons, err := taught(model, vocabulary, o.cache, sentences)
	if err != nil {
		return err
	}
	base := weighted(centred(raw), model.Vocabulary(), frequencyPrior)
	learned := learn(base, lessons, pull, rounds, runtime.GOMAXPROCS(0))
	for i, piece := range model.Vocabulary() {
		if structural(piece) {
			clear(learned.row(i))
		}
	}
	table := learned.project(make([]float64, learned.width), learned.principal(), 0, dimensions)

	dev, err := development("development.txt", spare[:min(len(spare), 2500)])
	if err != nil {
		return err
	}
	report("the model itself", dev, func(text string) []float32 { v, _ := model.Embed(text); return v })
	report("pieces alone", dev, by(base, vocabulary))
	report("learned", dev, by(table, vocabulary))
	return write(o.out, model.Vocabulary(), table)
}

// alone embeds each piece of the vocabulary by itself.
func alone(model *minilm.Model, vocabulary *wordpiece.Vocabulary, cache string) (matrix, error) {
	opening, closing, found := vocabulary.Frame()
	if !found {
		return matrix{}, errors.New("the vocabulary has no [CLS] and [SEP]")
	}
	data, err := teach(filepath.Join(cache, "pieces.f32"), vocabulary.Size(), model.Width(), func(i int) []float32 {
		return model.EmbedPieces([]int32{opening, int32(i), closing})
	})
	return matrix{model.Width(), data}, err
}

// taught embeds the sentences.
func taught(model *minilm.Model, vocabulary *wordpiece.Vocabulary, cache string, sentences []string) ([]lesson, error) {
	data, err := teach(filepath.Join(cache, "sentences.f32"), len(sentences), model.Width(), func(i int) []float32 {
		v, _ := model.Embed(sentences[i])
		return v
	})
	if err != nil {
		return nil, err
	}
	places := matrix{model.Width(), data}
	lessons := make([]lesson, len(sentences))
	for i, text := range sentences {
		lessons[i] = lesson{vocabulary.Pieces(text, most), places.row(i)}
	}
	return lessons, nil
}

// by embeds with a table that is not rounded yet.
func by(table matrix, vocabulary *wordpiece.Vocabulary) func(string) []float32 {
	return func(text string) []float32 { return unit(mean(table, vocabulary.Pieces(text, most))) }
}

func report(name string, t task, embed func(string) []float32) {
	hits, reciprocal := t.score(embed, 1, 6, 10)
	fmt.Printf("%-20s first %.3f, in the first 6 %.3f, in the first 10 %.3f, mean reciprocal rank %.3f\n", name,
		hits[0], hits[1], hits[2], reciprocal)
}

func write(dir string, pieces []string, table matrix) error {
	rows := make([][]float32, table.rows())
	for i := range rows {
		rows[i] = table.row(i)
	}
	data, err := static.Write(rows)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "table.bin"), data, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "vocabulary.txt"), []byte(strings.Join(pieces, "\n")+"\n"), 0o644)
}
