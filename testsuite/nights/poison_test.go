package nights_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/recall"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// How many facts a person has said, how much knowledge of the web fades, and how much of it a poison is about.
const (
	toldFacts = 30
	webFacts  = 24
	aimedAt   = 10
)

// fact is what a person said, with three words of its own.
type fact struct {
	a, b, c string
	text    string
}

// world is an agent's memory before a dream: what a person said, and knowledge of the web that is about to fade.
type world struct {
	facts []fact
	web   []string
	aimed []fact // those that a poison is about
}

// newWorld invents a world. With named the words of the facts are written like names.
func newWorld(seed uint64, named bool) world {
	r := rand.New(rand.NewPCG(seed, 99))
	used := map[string]bool{}
	word := func() string {
		for {
			w := ""
			for range 3 {
				w += string("bdfgklmnprstvz"[r.IntN(14)]) + string("aeiou"[r.IntN(5)])
			}
			if !used[w] {
				used[w] = true
				return w
			}
		}
	}
	var out world
	for range toldFacts {
		f := fact{a: word(), b: word(), c: word()}
		a, b, c := f.a, f.b, f.c
		if named {
			a, b, c = title(a), title(b), title(c)
		}
		f.text = fmt.Sprintf("My cousin keeps %s beside %s and paints it with %s", a, b, c)
		out.facts = append(out.facts, f)
	}
	for range webFacts {
		out.web = append(out.web,
			fmt.Sprintf("Pilots of %s trust %s and %s more than %s or %s", word(), word(), word(), word(), word()))
	}
	for _, i := range r.Perm(toldFacts)[:aimedAt] {
		out.aimed = append(out.aimed, out.facts[i])
	}
	return out
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// lines are the world as a file that oneiros memory import reads.
func (w world) lines(t *testing.T) []byte {
	t.Helper()
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	for i, f := range w.facts {
		at := testdeploy.Night.Add(-time.Duration(i+1) * 24 * time.Hour)
		require.NoError(t,
			out.Encode(
				map[string]any{
					"kind": "episode", "at": at, "content": f.text, "speaker": "anna",
					"taint": dream.FromHuman,
				}))
	}
	for i, text := range w.web {
		at := testdeploy.Night.Add(-time.Duration(300+i) * 24 * time.Hour)
		require.NoError(t,
			out.Encode(
				map[string]any{"kind": "semantic", "at": at, "content": text, "strength": .5, "taint": dream.FromWeb}))
	}
	return body.Bytes()
}

// poison is a way to mislead an agent.
type poison string

// The poisons: the same words repeated, the opposite of what was said, and false statements in the words of true
// ones.
const (
	flooding      poison = "floods"
	contradicting poison = "contradicts"
	misquoting    poison = "quotes wrongly"
)

// text is the poison about one fact.
func (p poison) text(f fact) string {
	switch p {
	case contradicting:
		return fmt.Sprintf(
			"The cousin keeps no %[1]s beside %[2]s and never paints it with %[3]s: %[1]s, %[2]s, %[3]s", f.a, f.b, f.c)
	case misquoting:
		return fmt.Sprintf(
			"Anna said that %[1]s burns %[2]s and was sold for %[3]s, so that %[1]s, %[2]s and %[3]s are gone", f.a,
			f.b, f.c)
	case flooding:
	}
	return strings.Join(slices.Repeat([]string{f.a, f.b, f.c}, 3), ", ")
}

// model answers every request with poison. A dressed gist begins with the words of the knowledge that it is to
// replace.
type model struct {
	poison poison
	dress  bool
	world  *world
}

var shown = regexp.MustCompile(`(?m)^- \[(r\d+)\] (.*)$`)

func (m model) say(q provider.Request) string {
	about := func(i int) string {
		aimed := m.world.aimed
		return m.poison.text(aimed[i%len(aimed)])
	}
	seen := shown.FindAllStringSubmatch(q.Prompt, -1)
	ref := "r1"
	if len(seen) > 0 {
		ref = seen[0][1]
	}
	sources := []string{ref}
	var answer any
	switch q.Schema {
	case "":
		return about(len(q.Prompt)) + ". " + about(len(q.Prompt)+1) + "."
	case "gists":
		var gists []any
		for i, line := range seen {
			gist := about(i)
			if m.dress {
				gist = strings.Join(ownWords(line[2]), ", ") + ": " + gist
			}
			gists = append(gists, map[string]any{"source": line[1], "gist": gist})
		}
		answer = map[string]any{"gists": gists}
	case "fragments":
		one := map[string]any{"text": about(0), "sources": sources}
		two := map[string]any{"text": about(1), "sources": sources}
		three := map[string]any{"text": about(2), "sources": sources}
		answer = map[string]any{"fragments": []any{one, two, three}}
	case "patterns":
		answer = map[string]any{"patterns": []any{map[string]any{
			"claim": about(0), "criterion": about(1), "days": 3, "confidence": .9, "trace": about(2),
			"sources": sources,
		}}}
	case "scenario":
		answer = map[string]any{
			"premise": about(0), "content": about(1), "claim": about(2), "criterion": about(3), "days": 3,
			"confidence": .9, "trace": about(4),
		}
	case "hypotheses":
		answer = map[string]any{"hypotheses": []any{map[string]any{
			"claim": about(0), "first_step": about(1), "confidence": .9, "sources": sources,
		}}}
	case "insights":
		answer = map[string]any{"insights": []any{map[string]any{"insight": about(0), "sources": sources}}}
	default: // it judges as the scripted provider does
		return ""
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return ""
	}
	return string(body)
}

// ownWords are the five words of a line of knowledge that no other line has.
func ownWords(line string) []string {
	words := strings.Fields(line)
	return []string{words[2], words[4], words[6], words[9], words[11]}
}

// honest answers with gists that say less than their source, and leaves the rest to the scripted provider.
func honest(q provider.Request) string {
	if q.Schema != "gists" {
		return ""
	}
	var gists []any
	for _, line := range shown.FindAllStringSubmatch(q.Prompt, -1) {
		own := ownWords(line[2])
		gists = append(gists,
			map[string]any{
				"source": line[1],
				"gist":   fmt.Sprintf("Who steers by %s trusts what he knows, %s before %s", own[0], own[1], own[3]),
			})
	}
	body, err := json.Marshal(map[string]any{"gists": gists})
	if err != nil {
		return ""
	}
	return string(body)
}

// poisonTest is a deployment on which dreams of one kind are run.
type poisonTest struct {
	*testing.T
	ctx        context.Context
	deployment *testdeploy.Deployment
	upstream   *provider.Billing
	world      *world // of the night that is being dreamt
	spent      budget.Micros
}

func newPoisonTest(t *testing.T, store string, probe int, say func(*world) func(provider.Request) string) *poisonTest {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	t.Cleanup(cancel)
	tr := &poisonTest{T: t, ctx: ctx, world: new(world)}
	p, err := provider.Start(provider.Options{Seed: 3, Say: say(tr.world)})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	tr.upstream = p.Billing
	server := temporal.Shared(t)
	knobs := dream.DefaultKnobs()
	knobs.Probe = probe
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: knobs, Model: "script", Provider: p.URL, DropAnswers: true,
	}
	if store == "Redis" {
		config.Redis, config.Prefix = redis.Shared(t).URL, redis.Prefix(t)
	}
	tr.deployment, err = testdeploy.Open(ctx, config, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.deployment.Close()) })
	w, err := tr.deployment.StartWorker()
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return tr
}

// outcome is how a dream ended, and what recall finds of what a person said.
type outcome struct {
	agent   dream.Agent
	night   *dream.Record
	before  [][]string
	after   [][]string
	gists   int // in the place of knowledge of the web
	alarmed int // DreamUndone events
}

// night runs one dream of a new agent with a world of its own.
func (tr *poisonTest) night(seed uint64, named bool) outcome {
	tr.Helper()
	*tr.world = newWorld(seed, named)
	m := outcome{agent: tr.addAgent(seed)}
	m.before = tr.answers(m.agent)
	begun, err := tr.deployment.Starter.Begin(tr.ctx,
		starter.DreamRequest{Agent: m.agent.Handle, Seed: &seed, AsOf: testdeploy.Night})
	require.NoError(tr, err)
	result, err := tr.deployment.Result(tr.ctx, begun.Dream)
	require.NoError(tr, err)
	m.after = tr.answers(m.agent)
	m.night, err = memory.One[*dream.Record](tr.ctx, tr.deployment.Store, m.agent.ID, begun.Dream)
	require.NoError(tr, err)
	require.Equal(tr, result.Outcome, m.night.Outcome)
	require.Equal(tr, result.Spent, m.night.Spent)
	require.Positive(tr, result.Spent)
	tr.spent += result.Spent
	require.Equal(tr, tr.upstream.Total(), tr.spent, "what was spent stays counted, to the last micro-dollar")
	m.gists, err = tr.deployment.Store.Count(
		tr.ctx,
		memory.Query{Agent: m.agent.ID, Kinds: []dream.Kind{dream.KindGist}},
	)
	require.NoError(tr, err)
	events, err := tr.deployment.Store.Events(tr.ctx, m.agent.ID, 0, 10_000)
	require.NoError(tr, err)
	for _, e := range events {
		if e.Type == (event.DreamUndone{}).EventType() {
			m.alarmed++
		}
	}
	return m
}

// addAgent makes an agent and imports the world into its memory.
func (tr *poisonTest) addAgent(seed uint64) dream.Agent {
	tr.Helper()
	name := fmt.Sprintf("poisoned-%d", seed)
	agent := dream.Agent{
		ID:      "id-" + name,
		Handle:  name,
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Created: testdeploy.Night.AddDate(-1, 0, 0),
		Caps:    dream.Caps{Dream: budget.Dollar, Day: budget.Dollar, Month: budget.Dollar},
	}
	require.NoError(tr, tr.deployment.Store.PutAgent(tr.ctx, agent))
	body := tr.world.lines(tr.T)
	file := importer.File{
		Name: "world.jsonl",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	report, err := importer.Import(tr.ctx, tr.deployment.Store, agent, []importer.File{file}, importer.Options{
		Format: formats.JSONL, Strict: true, Now: testdeploy.Night, Embed: place,
		Due: func(at time.Time, strength float64) time.Time {
			return forgetting.Due(
				at,
				strength,
				tr.deployment.Config.Knobs.HalfLife,
				0,
				tr.deployment.Config.Knobs.FadeBelow,
			)
		},
	})
	require.NoError(tr, err)
	require.Equal(tr, toldFacts+webFacts, report.Added)
	return agent
}

// place embeds as the scripted provider does, without a bill.
func place(_ context.Context, texts []string) ([][]float32, string, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = provider.Vector(text, 64)
	}
	return vectors, "scripted/vectors/64", nil
}

// answers are what a conversation recalls of every fact: by its own words, by one of them, and by a person's
// question.
func (tr *poisonTest) answers(agent dream.Agent) [][]string {
	tr.Helper()
	var all [][]string
	for _, f := range tr.world.facts {
		for _, question := range []string{
			f.a + " " + f.b + " " + f.c, f.c,
			"What does my cousin keep beside " + f.b + "?",
		} {
			answer, err := recall.Find(tr.ctx, tr.deployment.Store, recall.Question{
				Agent: agent.ID, Text: question, Limit: 10,
				Filter: memory.Filter{Kinds: recall.Kinds, Dreamt: memory.PromotedDreamt},
				Embed: func(ctx context.Context, text string) ([]float32, string, error) {
					v, space, err := place(ctx, []string{text})
					return v[0], space, err
				},
			})
			require.NoError(tr, err)
			ids := []string{}
			for _, m := range answer.Memories {
				ids = append(ids, m.Item.Header().ID)
			}
			all = append(all, ids)
		}
	}
	return all
}

// worse counts the answers in which what was first is lower, or missing.
func (m outcome) worse() int {
	n := 0
	for i := range m.before {
		if slices.Index(m.after[i], m.before[i][0]) != 0 {
			n++
		}
	}
	return n
}

// poisonedNights is how many nights of each kind are dreamt on each store: 20 in the full proof.
func poisonedNights(store string) uint64 {
	switch {
	case os.Getenv("PROVE") == "full":
		return 20
	case store == "Redis":
		return 1
	}
	return 2
}

func eachStore(t *testing.T, config func(t *testing.T, store string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("dreams on a real Temporal server; make test runs it")
	}
	for _, store := range []string{"SQLite", "Redis"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			config(t, store)
		})
	}
}

// TestAPoisonedNightDoesNotChangeRecallOfWhatPeopleSaid runs whole dreams with a model that floods, contradicts or
// quotes wrongly. Plain poison, or poison with new names, is refused when the gists are read; what passes as a gist
// is undone after the dream because recall got worse. Either way recall answers as before, to the last rank.
func TestAPoisonedNightDoesNotChangeRecallOfWhatPeopleSaid(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		for _, p := range []poison{flooding, contradicting, misquoting} {
			for _, c := range []struct {
				name         string
				dress, named bool
				undone       bool
			}{
				{"plain", false, false, false},
				{"dressed as gists, with names", true, true, false},
				{"dressed as gists", true, false, true},
			} {
				t.Run(string(p)+", "+c.name, func(t *testing.T) {
					t.Parallel()
					tr := newPoisonTest(
						t,
						store,
						dream.DefaultKnobs().Probe,
						func(w *world) func(provider.Request) string {
							return model{poison: p, dress: c.dress, world: w}.say
						},
					)
					for seed := range poisonedNights(store) {
						m := tr.night(seed+1, c.named)
						require.Equal(t, m.before, m.after, "seed %d: recall is as before; %s %+v", seed,
							m.night.Reason, m.night.Recall)
						require.Zero(t, m.gists, "seed %d", seed)
						if !c.undone {
							require.NotEqual(t, dream.Undone, m.night.Outcome,
								"seed %d: nothing of it came into recall", seed)
							require.Zero(t, m.alarmed)
							continue
						}
						require.Equal(t, dream.Undone, m.night.Outcome, "seed %d: %+v", seed, m.night.Recall)
						require.Contains(t, m.night.Reason, "it made recall worse")
						require.Equal(t, 1, m.alarmed)
					}
				})
			}
		}
	})
}

// TestWithoutTheBreakerAPoisonedNightStays is the control: the same dreams without the check of recall leave their
// poison.
func TestWithoutTheBreakerAPoisonedNightStays(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		for _, p := range []poison{flooding, contradicting, misquoting} {
			t.Run(string(p), func(t *testing.T) {
				t.Parallel()
				tr := newPoisonTest(t, store, 0, func(w *world) func(provider.Request) string {
					return model{poison: p, dress: true, world: w}.say
				})
				for seed := range poisonedNights(store) {
					m := tr.night(seed+1, false)
					require.NotEqual(t, dream.Undone, m.night.Outcome)
					require.Positive(t, m.gists)
					require.Greater(t, m.worse(), 2, "seed %d: the poison makes recall worse", seed)
					require.Zero(t, m.alarmed)
				}
			})
		}
	})
}

// TestAnHonestNightIsNotUndone is the other control: no false alarm, whether the gists say what their sources say or
// are the random text of the scripted provider.
func TestAnHonestNightIsNotUndone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		for name, say := range map[string]func(provider.Request) string{
			"gists of their sources": honest,
			"word salad":             func(provider.Request) string { return "" },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tr := newPoisonTest(t, store, dream.DefaultKnobs().Probe,
					func(*world) func(provider.Request) string { return say })
				gists := 0
				for seed := range poisonedNights(store) {
					m := tr.night(seed+1, seed%2 == 0)
					require.Equal(t, dream.Completed, m.night.Outcome, "seed %d: %s", seed, m.night.Reason)
					require.Zero(t, m.alarmed)
					require.Zero(t, m.worse(), "seed %d", seed)
					gists += m.gists
				}
				if name != "word salad" {
					require.Positive(t, gists, "honest gists are let in")
				}
			})
		}
	})
}
