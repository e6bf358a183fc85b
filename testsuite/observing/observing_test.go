package observing_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/embedding"
	"github.com/seed-56a03226/oneiros/testsuite/observing"
	"github.com/seed-56a03226/oneiros/testsuite/recalling"
)

// set is a memory with texts labelled by how they were made from it.
type set struct {
	name     string
	frozen   bool
	dialogue bool
	episodes []*dream.Episode
	texts    []observing.Labelled
}

// called is its name in the tables.
func (s set) called() string {
	if s.frozen && s.name != "frozen" {
		return s.name + ", frozen"
	}
	return s.name
}

// ofEach is how many texts of each kind and length a set has.
const ofEach = 60

// sets are the development set and the frozen one. The rules were chosen by the first and not changed by the second.
// Their texts lie in testdata, so that they stay as they were made. LOCOMO adds the dialogues of files: of each file
// the first is for development and the others are frozen.
func sets(t *testing.T) []set {
	t.Helper()
	var all []set
	for i, name := range []string{"development", "frozen"} {
		diary := sample.Diaries()[i]
		episodes, err := observing.Read(diary.Memories)
		require.NoError(t, err)
		all = append(all, set{name, i == 1, false, episodes, stored(t, name, episodes, uint64(i+1))})
	}
	for path := range strings.SplitSeq(os.Getenv("LOCOMO"), ",") {
		if path == "" {
			continue
		}
		dialogues, err := recalling.Read(path)
		require.NoError(t, err)
		for i, d := range dialogues {
			episodes := imported(t, d)
			all = append(all, set{"dialogue " + d.Name, i > 0, true, episodes, made(episodes, uint64(i+11))})
		}
	}
	return all
}

func made(episodes []*dream.Episode, seed uint64) []observing.Labelled {
	return append(observing.Make(episodes, ofEach, false, rand.New(rand.NewPCG(seed, 1))),
		observing.Make(episodes, ofEach, true, rand.New(rand.NewPCG(seed, 2)))...)
}

// stored reads the texts of a set; UPDATE=sets makes those that are missing.
func stored(t *testing.T, name string, episodes []*dream.Episode, seed uint64) []observing.Labelled {
	t.Helper()
	path := filepath.Join("testdata", name+".jsonl")
	if _, err := os.Stat(path); os.IsNotExist(err) && os.Getenv("UPDATE") == "sets" {
		var out bytes.Buffer
		lines := json.NewEncoder(&out)
		lines.SetEscapeHTML(false)
		for _, l := range made(episodes, seed) {
			require.NoError(t, lines.Encode(l))
		}
		require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
	}
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	var all []observing.Labelled
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var l observing.Labelled
		require.NoError(t, json.Unmarshal(lines.Bytes(), &l))
		all = append(all, l)
	}
	require.Len(t, all, 2*len(observing.Kinds)*ofEach)
	return all
}

func imported(t *testing.T, d recalling.Dialogue) []*dream.Episode {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	agent := dream.Agent{ID: "a", Handle: "a", Zone: "UTC", Caps: dream.DefaultCaps}
	agent.Tier = dream.Core
	require.NoError(t, store.PutAgent(t.Context(), agent))
	body, err := os.ReadFile(d.File)
	require.NoError(t, err)
	file := importer.File{
		Name: filepath.Base(d.File), Size: int64(len(body)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	_, err = importer.Import(t.Context(), store, agent, []importer.File{file},
		importer.Options{Format: formats.LoCoMo, Dialogue: d.Name})
	require.NoError(t, err)
	items, err := store.Find(t.Context(),
		memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindEpisode}, Sort: memory.Oldest})
	require.NoError(t, err)
	return memory.As[*dream.Episode](items)
}

// embedder is one that texts are placed by.
type embedder struct {
	name, called string
	model        inference.Model
	lexical      bool
}

// embedders are the built-in ones, builtin/minilm where ONEIROS_TEST_MINILM names its folder, and gte-small behind an
// OpenAI-compatible server where ONEIROS_TEST_GTE does.
func embedders(t *testing.T) []embedder {
	t.Helper()
	own := localmodel.New()
	all := []embedder{
		{localmodel.Static, "`builtin/static`, the default", own, false},
		{localmodel.Lexical, "`builtin/lexical`", own, true},
	}
	if dir := os.Getenv("ONEIROS_TEST_MINILM"); dir != "" {
		m, err := localmodel.WithMiniLM(dir)
		require.NoError(t, err)
		all = append(all, embedder{localmodel.MiniLM, "`builtin/minilm`", m, false})
	}
	if dir := os.Getenv("ONEIROS_TEST_GTE"); dir != "" {
		served, err := embedding.Serve(dir)
		require.NoError(t, err)
		t.Cleanup(served.Close)
		all = append(all, embedder{served.Name, "gte-small", served.Model, false})
	}
	return all
}

// figures are what was measured of one set and length with one embedder.
type figures struct {
	auc, before map[observing.Kind]float64 // recombinations against this kind
	kept        map[observing.Kind]float64 // above the floor
	keptBefore  map[observing.Kind]float64
}

func measure(t *testing.T, s set, e embedder, scenarios bool) figures {
	t.Helper()
	m, err := observing.Place(t.Context(), e.model, e.name, e.lexical, s.episodes)
	require.NoError(t, err)
	now, before := map[observing.Kind][]float64{}, map[observing.Kind][]float64{}
	for _, l := range s.texts {
		if l.Scenario != scenarios {
			continue
		}
		all, err := m.Of([]observing.Labelled{l})
		require.NoError(t, err)
		v := all[0]
		if scenarios {
			now[l.Kind], before[l.Kind] = append(now[l.Kind], observing.Worth(v.Now)),
				append(before[l.Kind], observing.Worth(v.Before))
			continue
		}
		now[l.Kind], before[l.Kind] = append(now[l.Kind], v.Now.Composite), append(before[l.Kind], v.Before.Composite)
	}
	floor := dream.DefaultKnobs().FragmentFloor
	f := figures{
		map[observing.Kind]float64{},
		map[observing.Kind]float64{},
		map[observing.Kind]float64{},
		map[observing.Kind]float64{},
	}
	for _, kind := range observing.Kinds {
		f.auc[kind] = observing.AUC(now[observing.Recombined], now[kind])
		f.before[kind] = observing.AUC(before[observing.Recombined], before[kind])
		f.kept[kind] = observing.Above(now[kind], floor)
		f.keptBefore[kind] = observing.Above(before[kind], floor)
	}
	return f
}

// The observer and REM's weighing keep what joins memories and reject copies and shuffled words, with every embedder.
// The rules before they saw the order of words and what is copied do not: that is the control. Shuffled words may score
// higher than copies, so that a thought in words that the memory does not hold is not taken for shuffled.
func TestTheObserverTellsRecombinationsFromJunk(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| texts | embedder | length | AUC: copied | nearly copied | shuffled | AUC before | " +
		"kept: recombined | copied | nearly copied | shuffled | kept before |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	var all []measured
	for _, s := range sets(t) {
		for _, e := range embedders(t) {
			for _, scenarios := range []bool{false, true} {
				f := measure(t, s, e, scenarios)
				length := map[bool]string{false: "fragment", true: "scenario"}[scenarios]
				name := s.called()
				fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", name, e.called, length, cells(f))
				all = append(all, measured{name + ", " + e.name + ", " + length, f})
			}
		}
	}
	t.Logf("%d texts of each kind and length:\n%s", ofEach, table.String())
	if os.Getenv("UPDATE") == "table" {
		writeTable(t, "labelled", table.String())
	}
	for _, m := range all {
		require.GreaterOrEqual(t, m.f.auc[observing.Copied], .9, m.name)
		require.GreaterOrEqual(t, m.f.auc[observing.Shuffled], .85, m.name)
		require.Less(t, min(m.f.before[observing.Copied], m.f.before[observing.Shuffled]), .9, m.name+": the control")
	}
}

type measured struct {
	name string
	f    figures
}

// writeTable puts the table between its marks in the page of measurements.
func writeTable(t *testing.T, name, table string) {
	t.Helper()
	page := filepath.Join("..", "..", "docs", "measurements", "observer.md")
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	begin := "<!-- " + name + " -->\n"
	before, rest, found := strings.Cut(string(data), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, "<!-- end -->\n")
	require.True(t, found)
	whole := before + begin + table + "<!-- end -->\n" + after
	require.NoError(t, os.WriteFile(page, []byte(whole), 0o644))
}

func cells(f figures) string {
	two := func(m map[observing.Kind]float64, kinds ...observing.Kind) []string {
		var out []string
		for _, k := range kinds {
			out = append(out, strings.TrimPrefix(fmt.Sprintf("%.2f", m[k]), "0"))
		}
		return out
	}
	percent := func(m map[observing.Kind]float64, kinds ...observing.Kind) []string {
		var out []string
		for _, k := range kinds {
			out = append(out, fmt.Sprintf("%.0f %%", 100*m[k]))
		}
		return out
	}
	junk := observing.Kinds[1:]
	all := append(two(f.auc, junk...), strings.Join(two(f.before, junk...), " / "))
	all = append(all, percent(f.kept, observing.Kinds...)...)
	all = append(all, strings.Join(percent(f.keptBefore, observing.Kinds...), " / "))
	return strings.Join(all, " | ")
}
