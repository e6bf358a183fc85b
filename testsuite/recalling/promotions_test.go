package recalling_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/recalling"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/testsuite/worlds"
)

// ahead moves the planted days behind every clock's time, since a dream's present is never before the server's.
const ahead = 40 * 365 * worlds.Day

// TestNightsWithPromotions measures recall after as many nights as NIGHTS names while claims pass the gate in between.
// Two agents have the same dialogue, and live the same days after it, in which words of the dialogue's own questions
// follow each other by planted rules. One of them dreams each night; what comes true enters its playbook, where
// questions with these words find it. The other never sleeps.
func TestNightsWithPromotions(t *testing.T) {
	files, nights := os.Getenv("LOCOMO"), os.Getenv("NIGHTS")
	if files == "" || nights == "" {
		t.Skip("make bench-memory LOCOMO=locomo10.json NIGHTS=1,3,7,14,30 measures recall while claims pass")
	}
	for path := range strings.SplitSeq(files, ",") {
		dialogues, err := recalling.Read(path)
		require.NoError(t, err)
		for _, d := range dialogues {
			promote(t, d, strings.Split(nights, ","))
		}
	}
}

// pair is an agent that dreams and one that does not, with the same memory.
type pair struct {
	*testing.T
	ctx        context.Context
	deployment *testdeploy.Deployment
	clock      atomic.Int64
	dreams     *recalling.Bench
	wakes      *recalling.Bench

	mu      sync.Mutex
	claimed []dream.Check // by the model in the night to come
}

// claim lets the model claim checks, in the words of the dialogue.
func (p *pair) claim(made []dream.Check, spelling map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claimed = nil
	for _, c := range made {
		c.When, c.Then = spelling[c.When], spelling[c.Then]
		p.claimed = append(p.claimed, c)
	}
}

func (p *pair) now() time.Time { return time.Unix(0, p.clock.Load()).UTC() }

func promote(t *testing.T, d recalling.Dialogue, nights []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 55*time.Minute)
	defer cancel()
	server := temporal.Shared(t)
	last := 0
	for _, text := range nights {
		var err error
		last, err = strconv.Atoi(strings.TrimSpace(text))
		require.NoError(t, err, "NIGHTS holds numbers with commas between, such as 1,3,7,14,30")
	}
	days := worlds.Make(7, worlds.Options{
		Days:   last + 1,
		Names:  24,
		Rules:  8,
		Rate:   .95,
		Within: 12 * time.Hour,
	}).Shifted(ahead)
	spelling := map[string]string{}
	for i, word := range wordsOf(d, len(days.Names)) {
		spelling[days.Names[i]] = word
	}
	inducer := worlds.NewInducer(7, .9, 4)
	inducer.Within = 12 * time.Hour
	p := &pair{T: t, ctx: ctx}
	upstream, err := provider.Start(provider.Options{Seed: 5, Say: func(q provider.Request) string {
		if q.Schema != "patterns" {
			return ""
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return worlds.Patterns(q.Prompt, p.claimed)
	}})
	require.NoError(t, err)
	defer upstream.Close()
	config := testdeploy.Config{
		Provider: upstream.URL,
		Store:    filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script", DropAnswers: true,
		Predictions: dream.PredictionRules{MostOpen: 200},
	}
	p.deployment, err = testdeploy.Open(ctx, config, server.Dial(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, p.deployment.Close()) }()
	p.clock.Store(worlds.Start.Add(ahead).UnixNano())
	p.deployment.Ports.Now, p.deployment.Ports.Guard.Now, p.deployment.Starter.Now = p.now, p.now, p.now
	w, err := p.deployment.StartWorker()
	require.NoError(t, err)
	defer w.Stop()
	p.dreams, p.wakes = p.load("dreams", d), p.load("wakes", d)

	before, err := p.dreams.Judge(ctx, p.dreams.Recall)
	require.NoError(t, err)
	fmt.Printf("\ndialogue %s on SQLite, nights with a scripted model while claims pass, before: hit@10 %.1f\n",
		d.Name, 100*recalling.Score(before, 0, 10))
	checker := &review.Checker{Resolver: p.deployment.Ports.Resolver()}
	agents := []dream.Agent{p.dreams.Agent}
	for night := 1; night <= last; night++ {
		from := p.now()
		p.clock.Store(worlds.Start.Add(ahead + time.Duration(night)*worlds.Day + 2*time.Hour).UnixNano())
		p.live(days, spelling, from)
		p.claim(inducer.Night(days), spelling)
		_, err := checker.Pass(ctx, agents)
		require.NoError(t, err)
		_, err = checker.ResolveOverdueOf(ctx, agents)
		require.NoError(t, err)
		seed := uint64(night)
		begun, err := p.deployment.Starter.Begin(ctx,
			starter.DreamRequest{Agent: p.dreams.Agent.Handle, Seed: &seed, AsOf: p.now()})
		require.NoError(t, err)
		result, err := p.deployment.Result(ctx, begun.Dream)
		require.NoError(t, err)
		require.Contains(t, []dream.Outcome{dream.Completed, dream.Empty}, result.Outcome, result.Reason)
		if slices.Contains(nights, strconv.Itoa(night)) {
			p.report(night)
		}
	}
	awake, err := p.wakes.Judge(ctx, p.wakes.Recall)
	require.NoError(t, err)
	thinned(t, ctx, p.wakes, awake)
}

// load makes an agent with the dialogue.
func (p *pair) load(name string, d recalling.Dialogue) *recalling.Bench {
	p.Helper()
	agent := dream.Agent{
		ID:      "ag_" + name,
		Handle:  name + "-" + strings.ToLower(d.Name),
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: p.now(),
		Models:  map[dream.Role]string{dream.Embedder: localmodel.Static},
	}
	require.NoError(p, p.deployment.Store.PutAgent(p.ctx, agent))
	b, err := recalling.Load(p.ctx, p.deployment.Store, agent, embedBy(localmodel.Static),
		calibrationOf(p.T, localmodel.Static), d, nil)
	require.NoError(p, err)
	return b
}

// live imports what both agents live until now.
func (p *pair) live(days worlds.World, spelling map[string]string, from time.Time) {
	p.Helper()
	var body bytes.Buffer
	out, lines := json.NewEncoder(&body), 0
	for _, e := range days.Lived {
		if !e.At.After(from) || e.At.After(p.now()) {
			continue
		}
		line := map[string]any{
			"kind":    "episode",
			"at":      e.At,
			"content": worlds.InWords(e, func(name string) string { return spelling[name] }),
			"taint":   dream.FromHuman,
		}
		require.NoError(p, out.Encode(line))
		lines++
	}
	if lines == 0 {
		return
	}
	for _, b := range []*recalling.Bench{p.dreams, p.wakes} {
		_, err := importer.Import(p.ctx, p.deployment.Store, b.Agent, []importer.File{{
			Name: "day.jsonl",
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body.Bytes())), nil },
		}}, importer.Options{
			Format: formats.JSONL,
			Strict: true,
			Now:    p.now(),
			Embed:  importer.Embed(embedBy(localmodel.Static)),
		})
		require.NoError(p, err)
	}
}

// report compares recall of the two agents.
func (p *pair) report(night int) {
	p.Helper()
	awake, err := p.wakes.Judge(p.ctx, p.wakes.Recall)
	require.NoError(p, err)
	asleep, err := p.dreams.Judge(p.ctx, p.dreams.Recall)
	require.NoError(p, err)
	all, err := review.Claims(p.ctx, p.deployment.Store, p.dreams.Agent.ID)
	require.NoError(p, err)
	count, checks := map[string]int{}, map[string]dream.Check{}
	for _, c := range all {
		count[c.Status]++
		checks[c.ID] = c.Check
	}
	entries, err := p.deployment.Store.Find(p.ctx,
		memory.Query{Agent: p.dreams.Agent.ID, Kinds: []dream.Kind{dream.KindPlaybook}})
	require.NoError(p, err)
	learned, found := map[string]bool{}, 0
	for _, e := range memory.As[*dream.Playbook](entries) {
		if e.Claim == "" {
			continue
		}
		learned[e.ID] = true
		c := checks[e.Claim]
		ids, err := p.dreams.Recall(p.ctx, fmt.Sprintf("What comes up after %s, is it %s?", c.When, c.Then))
		require.NoError(p, err)
		if slices.Contains(ids, e.ID) {
			found++
		}
	}
	questions := 0
	for _, q := range p.dreams.Dialogue.Questions {
		ids, err := p.dreams.Recall(p.ctx, q.Text)
		require.NoError(p, err)
		if slices.ContainsFunc(ids, func(id string) bool { return learned[id] }) {
			questions++
		}
	}
	c := p.dreams.Compare(awake, asleep)
	fmt.Printf("after %d nights: hit@10 %.1f without nights, %.1f with them; %d questions lost, %d gained [%+d, %+d], "+
		"%+.1f points [%+.1f, %+.1f]; claims %v; %d of %d entries of the playbook are found by their own names, and %d of %d questions find one\n",
		night,
		100*recalling.Score(awake, 0, 10), 100*recalling.Score(asleep, 0, 10), c.Lost, c.Gained, c.LeastNet, c.MostNet,
		c.Points, c.Low, c.High, count, found, len(learned), questions, len(p.dreams.Dialogue.Questions))
	require.LessOrEqual(p, c.Lost-c.Gained, mostLost, "questions that nights cost")
}

// mostLost is how many questions of a dialogue thirty nights may cost (docs/measurements/memory.md).
const mostLost = 4

// wordsOf are words that several questions of a dialogue hold, the commonest first.
func wordsOf(d recalling.Dialogue, n int) []string {
	count := map[string]int{}
	for _, q := range d.Questions {
		seen := map[string]bool{}
		for word := range strings.FieldsFuncSeq(strings.ToLower(q.Text), func(r rune) bool { return r < 'a' || r > 'z' }) {
			if of := claims.NameOf(word); len(of) == 1 && len(word) > 3 && !seen[of[0]] {
				seen[of[0]] = true
				count[word]++
			}
		}
	}
	words := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	names, terms := []string{}, map[string]bool{}
	for _, word := range words[2:] { // the two who talk are named most
		if term := claims.NameOf(word)[0]; len(names) < n && !terms[term] {
			terms[term] = true
			names = append(names, word)
		}
	}
	return names
}
