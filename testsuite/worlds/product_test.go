package worlds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/testsuite/worlds"
)

// later moves worlds to a time that lies ahead of every clock, since a dream's present is never before the server's.
const later = 40 * 365 * worlds.Day

// product is a deployment of the whole product, with a clock of its own and a scripted model.
type product struct {
	*testing.T
	ctx        context.Context
	deployment *testdeploy.Deployment
	clock      atomic.Int64
}

// newProduct starts one. say answers the requests of the model for an agent, which it knows by the handle; an empty
// answer is left to the scripted provider.
func newProduct(t *testing.T, rules dream.PredictionRules, say func(handle string, q provider.Request) string) *product {
	t.Helper()
	if testing.Short() {
		t.Skip("dreams on a real Temporal server; make test runs it")
	}
	p := &product{T: t}
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithTimeout(context.Background(), 50*time.Minute)
	t.Cleanup(cancel)
	upstream, err := provider.Start(provider.Options{Seed: 5, Say: func(q provider.Request) string {
		if m := dreamer.FindStringSubmatch(q.Prompt); m != nil {
			return say(m[1], q)
		}
		return ""
	}})
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	server := temporal.Shared(t)
	knobs := dream.DefaultKnobs()
	knobs.Cycles, knobs.Branches, knobs.RemRounds = 1, 2, 0 // what the proofs are about is claimed in NREM
	p.deployment, err = testdeploy.Open(p.ctx, testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue:       server.TaskQueue,
		Provider:    upstream.URL,
		Model:       "script",
		Knobs:       knobs,
		DropAnswers: true,
		Predictions: rules,
	}, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.deployment.Close()) })
	p.set(worlds.Start.Add(later))
	p.deployment.Ports.Now, p.deployment.Ports.Guard.Now, p.deployment.Starter.Now = p.now, p.now, p.now
	w, err := p.deployment.StartWorker()
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return p
}

// dreamer finds the handle of the agent that a prompt is for.
var dreamer = regexp.MustCompile(`You are (life-[a-z0-9-]+)`)

func (p *product) now() time.Time { return time.Unix(0, p.clock.Load()).UTC() }

func (p *product) set(at time.Time) { p.clock.Store(at.UnixNano()) }

// addAgent makes an agent whose handle begins with "life-".
func (p *product) addAgent(handle string) dream.Agent {
	p.Helper()
	agent := dream.Agent{
		ID:      "id-" + handle,
		Handle:  handle,
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Created: p.now(),
		Caps:    dream.Caps{Dream: budget.Dollar, Day: budget.Dollar, Month: 100 * budget.Dollar},
	}
	require.NoError(p, p.deployment.Store.PutAgent(p.ctx, agent))
	return agent
}

// episode is a line of a file to import.
type episode struct {
	Kind    string      `json:"kind"`
	At      time.Time   `json:"at"`
	Content string      `json:"content"`
	Speaker string      `json:"speaker,omitempty"`
	Taint   dream.Taint `json:"taint"`
}

// lives imports what an agent lived.
func (p *product) lives(agent dream.Agent, all []episode) {
	p.Helper()
	if len(all) == 0 {
		return
	}
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	for _, e := range all {
		e.Kind = "episode"
		require.NoError(p, out.Encode(e))
	}
	report, err := importer.Import(p.ctx, p.deployment.Store, agent, []importer.File{{
		Name: "day.jsonl",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body.Bytes())), nil },
	}}, importer.Options{
		Format: formats.JSONL,
		Strict: true,
		Now:    p.now(),
		Embed: func(_ context.Context, texts []string) ([][]float32, string, error) {
			vectors := make([][]float32, len(texts))
			for i, text := range texts {
				vectors[i] = provider.Vector(text, 64)
			}
			return vectors, "scripted/vectors/64", nil
		},
	})
	require.NoError(p, err)
	require.GreaterOrEqual(p, report.Added, len(all)) // with what the importer derives
}

// sleep lets all agents dream at once, as of now.
func (p *product) sleep(agents ...dream.Agent) {
	p.Helper()
	seed := uint64(p.now().Unix())
	var ids []string
	for _, agent := range agents {
		begun, err := p.deployment.Starter.Begin(p.ctx,
			starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: p.now()})
		require.NoError(p, err)
		ids = append(ids, begun.Dream)
	}
	for _, id := range ids {
		result, err := p.deployment.Result(p.ctx, id)
		require.NoError(p, err)
		require.Contains(p, []dream.Outcome{dream.Completed, dream.Empty}, result.Outcome, result.Reason)
	}
}

func (p *product) claims(agent dream.Agent) []*dream.Claim {
	p.Helper()
	all, err := review.Claims(p.ctx, p.deployment.Store, agent.ID)
	require.NoError(p, err)
	return all
}

// playbook are an agent's live entries.
func (p *product) playbook(agent dream.Agent) []*dream.Playbook {
	p.Helper()
	items, err := p.deployment.Store.Find(p.ctx, memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindPlaybook}})
	require.NoError(p, err)
	return memory.As[*dream.Playbook](items)
}

// resident is a planted world that an agent of the product lives.
type resident struct {
	worlds.World
	agent    dream.Agent
	accuracy float64
	names    map[string]string // of the world, by their spelling
	claimed  []dream.Check     // by the model in the night to come
}

// spell is a check in the words of the episodes.
func spell(c dream.Check) dream.Check {
	c.When, c.Then = spelled(c.When), spelled(c.Then)
	return c
}

// inNames is a check in the names of the world; false when it is of something else.
func (l *resident) inNames(c dream.Check) (dream.Check, bool) {
	when, existing := l.names[c.When]
	then, found := l.names[c.Then]
	c.When, c.Then = when, then
	return c, existing && found
}

// during are the episodes after one time and until another.
func (l *resident) during(from, until time.Time) []episode {
	var all []episode
	for _, e := range l.Lived {
		if e.At.After(from) && !e.At.After(until) {
			all = append(all, episode{At: e.At, Content: worlds.InWords(e, spelled), Taint: dream.FromHuman})
		}
	}
	return all
}

// playProduct plays worlds through the whole product: each day is imported, the server looks at it, and the agent
// dreams; the model claims what the inducer of its world claims. meddle, when set, is called before each look.
func playProduct(t *testing.T, first, days int, accuracies []float64, meddle func(p *product, l *resident)) (*product, []*resident) {
	t.Helper()
	var mu sync.Mutex
	byHandle := map[string]*resident{}
	p := newProduct(t, dream.PredictionRules{MostOpen: 200}, func(handle string, q provider.Request) string {
		mu.Lock()
		l := byHandle[handle]
		mu.Unlock()
		if l == nil || q.Schema != "patterns" {
			return ""
		}
		return worlds.Patterns(q.Prompt, l.claimed)
	})
	var all []*resident
	inducers := map[*resident]*worlds.Inducer{}
	for i, accuracy := range accuracies {
		seed := uint64(first + i)
		l := &resident{accuracy: accuracy, names: map[string]string{}}
		l.World = worlds.Make(seed, worlds.Options{
			Days:   days,
			Names:  24,
			Rules:  8,
			Drifts: 2,
			Rate:   .8,
			Within: 12 * time.Hour,
		}).Shifted(later)
		for _, name := range l.Names {
			l.names[spelled(name)] = name
		}
		l.agent = p.addAgent(fmt.Sprintf("life-%d", seed))
		inducers[l] = worlds.NewInducer(seed, accuracy, 4)
		inducers[l].Within = 12 * time.Hour
		byHandle[l.agent.Handle] = l
		all = append(all, l)
	}
	checker := &review.Checker{Resolver: p.deployment.Ports.Resolver()}
	for day := 3; day < days; day++ {
		before := p.now()
		p.set(worlds.Start.Add(later + time.Duration(day)*worlds.Day + 2*time.Hour))
		var agents []dream.Agent
		for _, l := range all {
			p.lives(l.agent, l.during(before, p.now()))
			if meddle != nil {
				meddle(p, l)
			}
			made := inducers[l].Night(l.World)
			mu.Lock()
			l.claimed = nil
			for _, c := range made {
				l.claimed = append(l.claimed, spell(c))
			}
			mu.Unlock()
			agents = append(agents, l.agent)
		}
		_, err := checker.Pass(p.ctx, agents)
		require.NoError(t, err)
		_, err = checker.ResolveOverdueOf(p.ctx, agents)
		require.NoError(t, err)
		p.sleep(agents...)
	}
	return p, all
}

// fates are what became of the claims of a resident.
func (p *product) fates(l *resident) []*worlds.Fate {
	p.Helper()
	trials := map[string]int{}
	events, err := p.deployment.Store.Events(p.ctx, l.agent.ID, 0, 0)
	require.NoError(p, err)
	for _, e := range events {
		var passed event.ClaimPassed
		if e.Type == passed.EventType() {
			require.NoError(p, json.Unmarshal(e.Data, &passed))
			trials[passed.Claim] = passed.Hits + passed.Misses
		}
	}
	var all []*worlds.Fate
	for _, c := range p.claims(l.agent) {
		check, planted := l.inNames(c.Check)
		require.True(p, planted, "%+v is in no name of the world", c.Check)
		rule, holds := l.Holds(check)
		f := &worlds.Fate{Claim: c, True: holds, Trials: c.Trials()}
		stops := holds && !rule.Until.IsZero()
		if stops && !c.At.Before(rule.Until) {
			f.True, stops = false, false // it has stopped holding before it was claimed
		}
		f.Drifts = stops
		if f.HasPassed() {
			f.Trials = trials[c.ID]
			require.Positive(p, f.Trials, "%s passed without an event", c.ID)
		}
		for _, o := range c.Outcomes {
			if !f.HasPassed() || !o.At.After(c.Passed) {
				continue
			}
			if stops && !o.At.Before(rule.Until) {
				f.SinceEnd++
			} else if f.True {
				f.Kept++
			}
		}
		if c.Status == dream.ClaimRetired {
			f.Retired = true
			f.RetiredTrue = f.True && (!stops || c.Ended.Before(rule.Until))
		}
		all = append(all, f)
	}
	return all
}

// measure sums up lives of inducers that are at least so accurate.
func (p *product) measure(all []*resident, least float64) *figures {
	p.Helper()
	f := &figures{enough: within}
	for _, l := range all {
		if l.accuracy >= least {
			f.add(p.fates(l))
		}
	}
	return f
}

func TestTheWholeProductLetsPassWhatHoldsAndNothingElse(t *testing.T) {
	t.Parallel()
	days, accuracies := 40, []float64{.5, .2}
	if full {
		days, accuracies = 60, []float64{0, 0, .02, .05, .05, .2, .2, .5, .5, .9}
	}
	p, all := playProduct(t, frozen, days, accuracies, nil)
	f := p.measure(all, 0)
	t.Log(f)
	require.NoError(t, f.judge(0))
	able := p.measure(all, powerful)
	t.Logf("of inducers that find a rule in twenty claims: %s", able)
	require.NoError(t, able.judge(powerful))
	require.Positive(t, able.passed)
	for _, l := range all {
		var passed, entries []string
		for _, c := range p.claims(l.agent) {
			if c.Status == dream.ClaimPassed {
				passed = append(passed, c.ID)
			}
		}
		for _, e := range p.playbook(l.agent) {
			entries = append(entries, e.Claim)
			at := slices.IndexFunc(p.claims(l.agent), func(c *dream.Claim) bool { return c.ID == e.Claim })
			require.GreaterOrEqual(t, at, 0, e.Content)
			says := strings.TrimSuffix(p.claims(l.agent)[at].Says, ".")
			require.True(t, strings.HasPrefix(e.Content, says), "%q is not of the words of its check", e.Content)
		}
		require.ElementsMatch(t, passed, entries, "the playbook of %s", l.agent.Handle)
	}
}

// TestTheWholeProductNeedsItsDecoys is the control: the same worlds, with a chance that is assumed to be small.
func TestTheWholeProductNeedsItsDecoys(t *testing.T) {
	t.Parallel()
	days, accuracies := 40, []float64{.2}
	if full {
		days, accuracies = 60, []float64{.2, .2, .2}
	}
	p, all := playProduct(t, frozen, days, accuracies, func(p *product, l *resident) {
		w := memory.Write{Agent: l.agent.ID, Cause: "test"}
		for _, c := range p.claims(l.agent) {
			if len(c.Decoys) > 0 {
				c.Decoys, c.DecoyHits, c.DecoyMisses = nil, 5, 95
				c.Chance = 1 // computed anew by the next look
				w.Change = append(w.Change, c)
			}
		}
		if len(w.Change) > 0 {
			_, err := p.deployment.Store.Commit(p.ctx, w)
			require.NoError(p, err)
		}
	})
	f := p.measure(all, 0)
	t.Log(f)
	require.ErrorContains(t, f.judge(0), "of claims that know nothing pass")
}
