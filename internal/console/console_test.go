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

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/workflows"
)

var now = time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)

// fixture is a console over a store of its own.
type fixture struct {
	*testing.T
	app   *cli.App
	store *sqlitestore.Store
	knobs dream.Knobs
	file  string // the --config in use
	out   bytes.Buffer
	err   bytes.Buffer

	in         string
	env        map[string]string
	terminal   bool
	dream      engines
	stores     stores
	embed      deploy.Embed // letters when nil
	background func(inference.Spec) (int, bool)
	hall       hall
	closed     error         // why the deployment cannot be opened
	stuck      chan struct{} // opening blocks until it is closed
	digest     string
	private    bool
	roles      map[dream.Role]string
	rules      map[string]policy.Rules // by handle

	windows []string // hours open to dreams; none: all
	hooks   hooks

	resolves dream.PredictionRules
	judge    func() review.Judge // nil: none
	minds    *minds              // that answer in rooms

	until time.Duration // after which a command is interrupted; 0: never
	later time.Duration // by which the time of a command is after now
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), ":memory:", sqlitestore.Clock(func() time.Time { return now }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return &fixture{T: t, store: store, knobs: dream.DefaultKnobs()}
}

var models = inference.Table{
	"builtin/associative": {
		Name:     "builtin/associative",
		Provider: "builtin",
		Price:    &budget.Price{},
		BuiltIn:  true,
	},
	"builtin/lexical": {
		Name:     "builtin/lexical",
		Provider: "builtin",
		Price:    &budget.Price{},
		BuiltIn:  true,
		Embeds:   true,
	},
	"letters/one": {
		Name:     "letters/one",
		Provider: "letters",
		Wire:     "1",
		Price:    &budget.Price{},
		Embeds:   true,
	},
	"house/vectors": {
		Name:     "house/vectors",
		Provider: "house",
		Wire:     "vectors",
		Price:    &budget.Price{In: 20_000},
		Embeds:   true,
	},
	"house/unpriced": {Name: "house/unpriced", Provider: "house", Wire: "unpriced", Embeds: true},
	"house/small": {
		Name: "house/small", Provider: "house",
		Price: &budget.Price{In: 150_000, CachedIn: 75_000, Out: 600_000},
	},
}

// run executes one command line at a width; 0 is a pipe.
func (d *fixture) run(width int, args ...string) int {
	d.Helper()
	d.out.Reset()
	d.err.Reset()
	embed := d.embed
	if embed == nil {
		embed = letters
	}
	open := func(context.Context) (*deploy.Deployment, error) {
		if d.closed != nil {
			return nil, d.closed
		}
		if d.stuck != nil {
			<-d.stuck
		}
		return &deploy.Deployment{
			Wakes:   &d.hall,
			Feeds:   d.store,
			Rooms:   d.store.Rooms(),
			Keys:    d.store,
			Sweeper: d.sweeper(),
			Digest:  d.digest,
			Private: d.private,
			Roles:   d.roles,
			Settings: workflows.Settings{
				IdleTimeout: 30 * time.Minute,
				MinGap:      6 * time.Hour,
				ResumeAfter: 5 * time.Minute,
				Jitter:      time.Minute,
				Windows:     d.windows,
			},
			Store:      d.store,
			Fleet:      d.store,
			Ledger:     d.store.Ledger(),
			Balances:   d.store.Ledger(),
			Days:       d.store.Ledger(),
			Events:     d.store,
			Catalog:    models,
			Caps:       dream.DefaultCaps,
			Knobs:      d.knobs,
			Embed:      embed,
			Jobs:       d.store,
			Holder:     "console",
			Background: d.background,
			File:       d.file,
			Planner:    planner{d.dream},

			Predictions: d.resolves,
			Judge:       d.judge,
		}, nil
	}
	d.app = &cli.App{
		Patience: 20 * time.Millisecond,
		Terminal: d.terminal,
		In:       strings.NewReader(d.in),
		Out:      &d.out,
		Err:      &d.err,
		Now:      func() time.Time { return now.Add(d.later) },
		Width:    width,
		Zone:     "Europe/Berlin",
		Version:  cli.Version{Oneiros: "0.1.0", Revision: "abc1234", Go: "go1.26.8", SDK: "v1.50.0"},
		Backend: backend{
			open:   open,
			env:    d.env,
			rules:  d.rules,
			dream:  d.dream,
			hooks:  d.hooks,
			stores: d.stores,
			rooms:  d.roomSession,
		},
	}
	ctx := d.Context()
	if d.until > 0 {
		interrupted, cancel := context.WithTimeout(ctx, d.until)
		defer cancel()
		ctx = interrupted
	}
	return console.Run(ctx, d.app, args)
}

// letters is an embedder for tests: the frequencies of eight letters.
func letters(_ context.Context, _ dream.Agent, _ string, texts []string) ([][]float32, string, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 8)
		for j, letter := range "etaoinsh" {
			v[j] = float32(1 + strings.Count(text, string(letter)))
		}
		vectors[i] = v
	}
	return vectors, "letters/1/8", nil
}

// golden compares the output with a file; UPDATE=1 writes it.
func (d *fixture) golden(name string) {
	d.Helper()
	path := filepath.Join("testdata", name+".txt")
	got := d.out.String()
	if d.err.Len() > 0 {
		got += "--- beside it ---\n" + d.err.String()
	}
	if os.Getenv("UPDATE") != "" {
		require.NoError(d, os.MkdirAll("testdata", 0o755))
		require.NoError(d, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(d, err)
	require.Equal(d, string(want), got)
	require.NotContains(d, got, "\x1b[", "no colour unless it was asked for")
}

const dreamID = "dream/echo/0001"

func head(kind dream.Kind, id string, at time.Time, dreamt bool) dream.Head {
	h := dream.Head{
		ID:    id,
		Agent: "echo",
		Kind:  kind,
		At:    at,
		State: dream.Live,
		Taint: dream.FromHuman,
	}
	if dreamt {
		h.Taint = dream.FromDream
		h.Dream = dreamID
		h.Phase = dream.Onset
		h.Sources = []string{"e-0001", "e-0002"}
	}
	return h
}

// furnish fills the store with one agent's memory and one dream.
func (d *fixture) furnish() *fixture {
	d.Helper()
	ctx := d.Context()
	echo := dream.Agent{
		ID:        "echo",
		Handle:    "echo",
		Persona:   "Echo keeps Mara company through sleepless hours and listens before it speaks, which is most of the work.",
		Interests: []string{"tides", "the boat Patience"},
		Zone:      "UTC",
		Tier:      dream.Hardened,
		Caps:      dream.DefaultCaps,
		Created:   now.AddDate(0, -6, 0),
	}
	require.NoError(d, d.store.PutAgent(ctx, echo))
	tally := echo
	tally.ID = "tally"
	tally.Handle = "tally"
	tally.Persona = "Tally watches the chalkboard."
	tally.Auto = true
	tally.Tier = dream.Core
	require.NoError(d, d.store.PutAgent(ctx, tally))

	lived := now.Add(-36 * time.Hour)
	add := []dream.Item{
		&dream.Episode{
			Head:     head(dream.KindEpisode, "e-0001", lived, false),
			Context:  "At night",
			Action:   "She rowed out",
			Outcome:  "The rope held",
			Content:  "Mara rowed out past the Hallow Light in a rising wind, and the old rope that everyone had said would part held all the way back.",
			Salience: .82,
			Surprise: .4,
			Affect:   mood.PAD{Pleasure: .2, Arousal: .6},
			Session:  "s-17",
			Origin:   "diary.md:12",
		},
		&dream.Episode{
			Head:    head(dream.KindEpisode, "e-0002", lived.Add(time.Hour), false),
			Content: "The third verse is still missing.", Salience: .31, Surprise: .1,
		},
		&dream.Semantic{
			Head:    head(dream.KindSemantic, "s-0001", lived, false),
			Content: "The tide turns before the wind does.", Strength: .64, Due: now.AddDate(0, 0, 20),
		},
		&dream.Fragment{
			Head:    head(dream.KindFragment, dreamID+"/f1", now.Add(-time.Hour), true),
			Content: "A rope remembers every knot it ever was.",
			Verdict: dream.Verdict{
				Novelty:          .71,
				Relevance:        .52,
				Coherence:        .8,
				Composite:        .66,
				DistancePlaybook: 1,
				PlaybookEmpty:    true,
				Judge:            "embedder",
			},
			Cycle:      1,
			Stage:      dream.Peak,
			Confidence: .15,
			Status:     dream.FragmentSelected,
			Settings:   dream.Settings{Model: "builtin/associative", Effective: "temperature=1.5 min_p=0.1"},
		},
		&dream.Fragment{
			Head:       head(dream.KindFragment, dreamID+"/f2", now.Add(-time.Hour), true),
			Content:    "tide tide tide",
			Verdict:    dream.Verdict{Composite: .04, Judge: "embedder"},
			Cycle:      2,
			Stage:      dream.Peak,
			Confidence: .15,
			Status:     dream.FragmentDiscarded,
			Reason:     "its composite .04 is not above the floor .10",
		},
		&dream.Prediction{
			Head:       head(dream.KindPrediction, dreamID+"/nrem/backward/1", now.Add(-time.Hour), true),
			Source:     dream.Creative,
			Claim:      "Mara will splice the rope before the next spring tide.",
			Criterion:  "She says so, or the rope is spliced.",
			Horizon:    now.AddDate(0, 0, 14),
			Confidence: .3,
			Session:    dreamID,
			Status:     dream.PredictionOpen,
		},
		&dream.Hypothesis{
			Head:       head(dream.KindHypothesis, dreamID+"/h1", now.Add(-time.Hour), true),
			Claim:      "Old rope that has been wet holds better than new *dry* rope.",
			FirstStep:  "Ask Mara how old the rope is.",
			Confidence: .25,
			Status:     dream.HypothesisStaged,
		},
		&dream.Playbook{
			Head: head(dream.KindPlaybook, "pb-1", lived, false), Content: "Listen before you speak.",
			Confidence: .9,
		},
		&dream.Journal{
			Head:         head(dream.KindJournal, dreamID+"/j1", now.Add(-time.Hour), true),
			Content:      "I dreamt of rope, and of what rope has forgotten.",
			Significance: .41,
			Duration:     83 * time.Second,
			Topics:       []string{"rope", "tides"},
		},
		&dream.Record{
			Head:     head(dream.KindRecord, dreamID, now.Add(-2*time.Hour), true),
			Workflow: dreamID,
			Run:      "r1",
			Tier:     dream.Hardened,
			Theme:    "the missing verse",
			Seed:     7,
			AsOf:     now.Add(-2 * time.Hour),
			Outcome:  dream.Completed,
			Ended:    now.Add(-2*time.Hour + 83*time.Second),
			Budget:   budget.Dollar / 2,
			Spent:    123_456,
			Selected: 270,
			Shown:    61,
			Insights: []string{dreamID + "/h1"},
			Models:   []string{"generator=builtin/associative"},
			Phases: []dream.Tally{{
				Phase:  dream.Onset,
				State:  "ran",
				Calls:  13,
				Spent:  40_000,
				Cap:    50_000,
				In:     9000,
				Out:    900,
				Made:   12,
				Kept:   5,
				Cycles: 3,
			}, {
				Phase: dream.NREM,
				State: "ran",
				Calls: 3,
				Spent: 83_456,
				Cap:   175_000,
				In:    4000,
				Out:   700,
				Made:  4,
				Kept:  4,
			}},
		},
	}
	var vectors []memory.Vector
	for _, item := range add[:len(add)-1] { // a record has no vector
		v, space, err := letters(ctx, echo, "", []string{item.Text()})
		require.NoError(d, err)
		vectors = append(vectors, memory.Vector{Item: item.Header().ID, Space: space, V: v[0]})
	}
	_, err := d.store.Commit(ctx, memory.Write{
		Agent:   "echo",
		Cause:   dreamID,
		Add:     add,
		Vectors: vectors,
		Events: []event.Event{
			event.New("ev-1", "echo", dreamID, now.Add(-2*time.Hour),
				event.DreamStarted{Tier: dream.Hardened, Seed: 7, Budget: budget.Dollar / 2}),
			event.New("ev-2", "echo", dreamID, now.Add(-time.Hour),
				event.DreamEnded{Outcome: dream.Completed, Spent: 123_456, Kept: 9}),
		},
	})
	require.NoError(d, err)
	d.pay("dream/echo/0001/onset/1", "2026-11-20", "onset", 9000, spend.Settled, 4100)
	d.pay("dream/echo/0001/onset/2", "2026-11-20", "onset", 9000, spend.Partial, 9000)
	d.pay("dream/echo/0001/nrem/1", "2026-11-20", "nrem", 20_000, spend.Lost, 20_000)
	d.pay("dream/echo/0001/rem/1", "2026-11-20", "rem", 30_000, spend.Open, 0)
	d.pay("dream/echo/0000/onset/1", "2026-11-19", "onset", 9000, spend.Settled, 123)
	return d
}

func (d *fixture) pay(step, day, phase string, reserve budget.Micros, end spend.State, amount budget.Micros) {
	d.Helper()
	ledger := d.store.Ledger()
	hold, err := ledger.Reserve(d.Context(), spend.Ask{
		Step:     step,
		Agent:    "echo",
		Dream:    dreamID,
		Phase:    phase,
		Model:    "house/small",
		Day:      day,
		Amount:   reserve,
		Accounts: []budget.Account{{Scope: "day:echo/" + day, Limit: budget.Dollar}},
		At:       now,
	})
	require.NoError(d, err)
	if end != spend.Open {
		require.NoError(d,
			ledger.Settle(d.Context(), hold,
				spend.Bill{State: end, Amount: amount, Tokens: budget.Tokens{In: 1000, Out: 80}, At: now}))
	}
}

func TestEveryScreenFitsAndReadsWell(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, screen := range []struct{ name, line string }{
		{"agents-list", "agents list"},
		{"agents-show", "agents show echo"},
		{"memory-list", "memory list --agent echo"},
		{"memory-show", "memory show e-0001"},
		{"memory-show-fragment", "fragments show dream/echo/0001/f1"},
		{"memory-search", "memory search -a echo the rope held -n 3"},
		{"memory-revisions", "memory show e-0001 --revisions"},
		{"predictions-list", "predictions list -a echo"},
		{"fragments-list", "fragments list -a echo"},
		{"journal", "journal -a echo"},
		{"dreams-list", "dreams list -a echo"},
		{"spend", "spend"},
		{"spend-by-all", "spend --by agent,day,phase,model,dream"},
		{"config-show", "config show"},
		{"playbook", "playbook export -a echo"},
	} {
		for _, width := range []int{80, 200} {
			require.Equal(t, exit.OK, d.run(width, strings.Fields(screen.line)...), "%s: %s", screen.line,
				d.err.String())
			d.golden(fmt.Sprintf("%s-%d", screen.name, width))
			if screen.name == "playbook" {
				continue // Markdown is not wrapped
			}
			for _, line := range strings.Split(d.out.String(), "\n") {
				require.LessOrEqual(t, len([]rune(line)), width, "%s at %d: %q", screen.line, width, line)
			}
		}
	}
}
