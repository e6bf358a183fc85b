package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/eval"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

func houseHistory(t *testing.T) history {
	t.Helper()
	d := NewProcess([]string{"ONEIROS_DATA_DIR=" + t.TempDir()})
	h, err := d.historyOfLife(t.Context(), sample.ChronicleNames[0], "")
	require.NoError(t, err)
	return h
}

func TestAllArmsMaySpendTheSame(t *testing.T) {
	t.Parallel()
	for _, arm := range eval.AllArms() {
		k := knobsOf(arm, dream.DefaultKnobs())
		require.NoError(t, k.Validate(), arm)
		s := k.Shares
		require.Equal(t, 100, s.Onset+s.NREM+s.REM+s.Integration+s.Return, arm)
		require.Equal(t, arm == eval.NREM || arm == eval.NoREM, s.REM == 0, arm)
		require.Equal(t, arm == eval.NoNREM, s.NREM == 0, arm)
		require.Equal(t, arm == eval.NoIntegration, s.Integration == 0, arm)
		require.Equal(t, arm == eval.NREM || arm == eval.NoOnset, !k.OnsetEnabled, arm)
	}
}

func TestAHistoryIsWhatWasLived(t *testing.T) {
	t.Parallel()
	h := houseHistory(t)
	require.Len(t, h.days, 42)
	require.Equal(t, time.Date(2026, 9, 7, 0, 0, 0, 0, time.UTC), h.days[0])
	for i, day := range h.items {
		for _, item := range day {
			require.Equal(t, h.days[i], item.Header().At.UTC().Truncate(24*time.Hour))
			require.Equal(t, dream.Live, item.Header().State)
			require.Empty(t, item.Header().Sources, "what an import derives knows later days")
		}
	}
	require.Equal(t, h.digest, houseHistory(t).digest, "the same diary is the same history")
}

func TestThePlacebosPastHasTheSameWordsOnOtherDays(t *testing.T) {
	t.Parallel()
	h := houseHistory(t)
	past := h.items[:28]
	shuffled := shuffledDays(past, 3)
	words := func(days [][]dream.Item) (all []string) {
		for _, day := range days {
			for _, item := range day {
				all = append(all, strings.Fields(item.Text())...)
			}
		}
		slices.Sort(all)
		return all
	}
	require.Len(t, words(shuffled), len(words(past)))
	moved, long := 0, 0
	for i := range past {
		for j := range past[i] {
			require.Equal(t, past[i][j].Header().ID, shuffled[i][j].Header().ID)
			before := longWord.FindAllString(past[i][j].Text(), -1)
			after := longWord.FindAllString(shuffled[i][j].Text(), -1)
			require.Len(t, after, len(before))
			long += len(before)
			for k := range before {
				if before[k] != after[k] {
					moved++
				}
			}
		}
	}
	require.Greater(t, moved, long*9/10, "of %d", long)
	require.Equal(t, words(shuffled), words(shuffledDays(past, 3)))
}

func TestCopiesAreLeftOut(t *testing.T) {
	t.Parallel()
	item := func(id, text string) dream.Item {
		return &dream.Episode{Head: dream.Head{ID: id, Kind: dream.KindEpisode}, Content: text}
	}
	const text = "The lamp at the point was lit at nine and went out before the ferry came in with the mail."
	days, originals := withoutCopies([][]dream.Item{
		{item("a", text), item("b", "Nobody had the key to the boathouse, so we waited in the rain until noon.")},
		{item("c", text)},
	})
	require.Len(t, days, 2)
	require.Len(t, days[0], 2)
	require.Empty(t, days[1])
	require.Equal(t, map[string]string{"c": "a"}, originals)
}

func TestAnArmDreamsNoOtherNights(t *testing.T) {
	t.Parallel()
	e := Evaluation{Plan: eval.Plan{Nights: 3}, night: 7}
	e.history.agent = dream.Agent{ID: "a", Auto: true, Feed: "quay", Triggers: []dream.Trigger{{Name: "nightly"}}}
	a := e.agent()
	require.False(t, a.Auto)
	require.Empty(t, a.Feed)
	require.Empty(t, a.Triggers)
	require.Equal(t, dream.Caps{Dream: 7, Day: 28, Month: 28}, a.Caps)
	require.True(t, e.history.agent.Auto, "the agent itself stays as it is")
}

func TestAnEvaluationMayPayForWhatCostsMoney(t *testing.T) {
	t.Parallel()
	const provider = `providers:
  paid:
    profile: generic
    base_url: http://127.0.0.1:9/v1
    models:
      - {name: writer, price: {in: "1", cached_in: "1", out: "4"}, context: 32000, json: json_schema}
      - {name: vectors, price: {in: "1", out: "0"}, embeds: true}
`
	const writer = "roles: {generator: paid/writer, observer: paid/writer, replay: paid/writer, imagination: paid/writer, " +
		"integration: paid/writer}\n"
	const embedder = "roles: {embedder: paid/vectors}\n"
	dollar := budget.Dollar
	for _, c := range []struct {
		name, settings string
		arms           []string
		budget         *budget.Micros
		says           string // why it is refused
		free           bool
	}{
		{name: "the built-in models", free: true},
		{name: "the built-in models and a budget", budget: &dollar, free: true},
		{name: "a paid model", settings: writer, says: "28 dreams of at most"},
		{name: "a paid model and a budget", settings: writer, budget: &dollar},
		{name: "a paid model without dreams", settings: writer, arms: []string{eval.Raw, eval.Dedupe}, free: true},
		{name: "a paid embedder", settings: embedder, says: "28 dreams of at most"},
		{name: "a paid embedder and a budget", settings: embedder, budget: &dollar},
		{
			name: "a paid embedder without dreams", settings: embedder, arms: []string{eval.Raw},
			says: "the embedder paid/vectors costs money",
		},
		{
			name: "a paid embedder without dreams and a budget", settings: embedder, arms: []string{eval.Raw},
			budget: &dollar,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "oneiros.yaml")
			require.NoError(t, os.WriteFile(file, []byte(provider+c.settings), 0o600))
			arms := c.arms
			if arms == nil {
				arms = []string{eval.Raw, eval.All, eval.Placebo}
			}
			e, err := NewProcess([]string{"ONEIROS_DATA_DIR=" + dir, "ONEIROS_CONFIG=" + file}).Evaluation(t.Context(),
				EvaluationRequest{
					Diary:     sample.ChronicleNames[0],
					Nights:    14,
					Judging:   14,
					Questions: 10,
					Arms:      arms,
					Budget:    c.budget,
				})
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				require.ErrorContains(t, err, "--budget")
				return
			}
			require.NoError(t, err)
			require.NoError(t, e.Close())
			require.Equal(t, c.free, e.Free)
			if c.budget == nil {
				require.Zero(t, e.Most)
			} else {
				require.Equal(t, dollar, e.Most)
			}
		})
	}
}

func TestAHistoryHasBackWhatADreamShortened(t *testing.T) {
	t.Parallel()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "lived.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	agent := sample.Diarist("mara", time.Time{})
	require.NoError(t, store.PutAgent(t.Context(), agent))
	at := time.Date(2026, 9, 7, 8, 0, 0, 0, time.UTC)
	head := func(id string, kind dream.Kind) dream.Head {
		return dream.Head{
			ID:    id,
			Agent: agent.ID,
			Kind:  kind,
			At:    at,
			State: dream.Live,
			Taint: dream.FromWeb,
		}
	}
	statement := &dream.Semantic{Head: head("k", dream.KindSemantic), Content: "The toll of the bridge is 4 crowns."}
	_, err = store.Commit(t.Context(), memory.Write{Agent: agent.ID, Cause: "import", Add: []dream.Item{statement}})
	require.NoError(t, err)
	before, err := livedBy(t.Context(), store, agent)
	require.NoError(t, err)

	gist := &dream.Gist{Head: head("gist/k", dream.KindGist), Content: "The bridge has a toll."}
	gist.Sources, gist.Dream = []string{"k"}, "dream/mara/0001"
	items, err := store.Get(t.Context(), agent.ID, "k")
	require.NoError(t, err)
	items[0].Header().State, items[0].Header().NewerID = dream.Archived, gist.ID
	_, err = store.Commit(t.Context(), memory.Write{Agent: agent.ID, Cause: gist.Dream, Add: []dream.Item{gist}, Change: items})
	require.NoError(t, err)
	after, err := livedBy(t.Context(), store, agent)
	require.NoError(t, err)
	require.Len(t, after.items, 1)
	require.Equal(t, "k", after.items[0][0].Header().ID)
	require.Equal(t, dream.Live, after.items[0][0].Header().State)
	require.Empty(t, after.items[0][0].Header().NewerID)
	require.Equal(t, before.digest, after.digest, "the plan of an evaluation stays what it was")

	r := armRun{Evaluation: &Evaluation{history: before}, deployment: &Deployment{store: openedStore{store: store}}}
	same, err := r.standsFor(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, []string{"k", "gist/k"}, same)
}
