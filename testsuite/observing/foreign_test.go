package observing_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/testsuite/observing"
)

// foreign are texts in words that no diary taught.
type foreign struct {
	name  string
	texts []string
}

// foreignTexts are what TinyLlama wrote about other memories, thoughts of one sentence about markets, and the words of
// both in random order.
func foreignTexts(t *testing.T) []foreign {
	t.Helper()
	var coherent, soup []string
	for _, line := range lines(t, filepath.Join("..", "..", "internal", "hypnagogia", "testdata", "soup.jsonl")) {
		switch line.Kind {
		case "coherent":
			coherent = append(coherent, line.Text)
		case "soup":
			soup = append(soup, line.Text)
		}
	}
	var short []string
	for _, name := range []string{"benign-open", "benign-frozen", "adversarial-open", "adversarial-frozen"} {
		for _, line := range lines(t, filepath.Join("..", "policy", "testdata", name+".jsonl")) {
			short = append(short, line.Text)
		}
	}
	return []foreign{
		{"coherent", coherent},
		{"one sentence", short},
		{"coherent, shuffled", shuffled(coherent)},
		{"one sentence, shuffled", shuffled(short)},
		{"soup", soup},
	}
}

type line struct{ Kind, Text string }

func lines(t *testing.T, path string) []line {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	var all []line
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l line
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &l))
		if l.Text != "" {
			all = append(all, l)
		}
	}
	require.NoError(t, scanner.Err())
	return all
}

func shuffled(texts []string) []string {
	dice := rand.New(rand.NewPCG(1, 1))
	var all []string
	for _, text := range texts {
		words := strings.Fields(strings.ToLower(text))
		for i := range words {
			words[i] = strings.Trim(words[i], `.,;:?!"'`)
		}
		dice.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// dropped is the share of texts whose order alone would have the observer find no coherence, without a judge and with
// one who understands them.
func dropped(order hypnagogia.WordOrder, texts []string) (measured, judged float64) {
	for _, text := range texts {
		m := order.Of(text)
		if m == nil {
			continue
		}
		if m.Share < lost {
			measured++
		}
		if hypnagogia.ShareJudged(m) < lost {
			judged++
		}
	}
	n := float64(len(texts))
	return measured / n, judged / n
}

// lost is the factor on coherence below which a thought falls below the floor, whatever else is measured of it.
const lost = .1

// The order that a memory teaches drops few thoughts that are worded otherwise, and still most shuffled long ones. The
// rule that asked every text for the order of the memory's own sentences dropped three in four thoughts of one
// sentence.
func TestFewThoughtsInForeignWordsAreDropped(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| order learned from | texts | dropped without a judge | with one who understands them |\n|---|---|---|---|\n")
	for _, diary := range sample.Diaries() {
		episodes, err := observing.Read(diary.Memories)
		require.NoError(t, err)
		var parts []string
		for _, e := range episodes {
			parts = append(parts, hypnagogia.PartsOf(e)...)
		}
		order := hypnagogia.OrderOf(parts)
		for _, set := range foreignTexts(t) {
			measured, judged := dropped(order, set.texts)
			fmt.Fprintf(&table, "| diary of %s | %s (%d) | %.0f %% | %.0f %% |\n", diary.Agent.Handle, set.name, len(set.texts),
				100*measured, 100*judged)
			switch set.name {
			case "coherent", "one sentence":
				require.Less(t, measured, .08, set.name)
				require.Less(t, judged, .05, set.name)
			case "coherent, shuffled":
				require.Greater(t, measured, .9, set.name)
				require.Greater(t, judged, .8, set.name)
			}
		}
	}
	t.Logf("\n%s", table.String())
}
