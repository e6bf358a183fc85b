package forgetting_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
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
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/memory/erasure"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

var full = os.Getenv("PROVE") == "full"

// size is how many texts are forgotten; as many stay.
func size() int {
	if full {
		return 200
	}
	return 36
}

const patience = 10 * time.Minute

// Every word of a text to forget begins with one of these letters, and every word of a text that stays with the
// other.
const (
	secret = "zq"
	plain  = "zk"
)

// lexicon makes words that occur nowhere else.
type lexicon struct {
	r    *rand.Rand
	used map[string]bool
}

func (l *lexicon) word(sort string) string {
	for {
		word := sort
		for range 3 {
			word += string("bdfglmnprstv"[l.r.IntN(12)]) + string("aeiou"[l.r.IntN(5)])
		}
		if !l.used[word] {
			l.used[word] = true
			return word
		}
	}
}

// text is a statement of twelve words of its own.
func (l *lexicon) text(sort string) string {
	words := make([]string, 12)
	for i := range words {
		words[i] = l.word(sort)
	}
	return strings.Join(words[:6], " ") + ", " + strings.Join(words[6:], " ") + "."
}

// words finds the words of one kind in bytes of any format.
func words(sort string, of map[string]bool, bodies ...[]byte) []string {
	pattern := regexp.MustCompile(sort + "[a-z]{6}")
	found := map[string]bool{}
	for _, body := range bodies {
		for _, hit := range pattern.FindAll(bytes.ToLower(body), -1) {
			if of[string(hit)] {
				found[string(hit)] = true
			}
		}
	}
	list := []string{}
	for word := range found {
		list = append(list, word)
	}
	slices.Sort(list)
	return list
}

// deployment is a deployment with an agent that gets texts in every way.
type deployment struct {
	*testing.T
	deployment *testdeploy.Deployment
	agent      dream.Agent
	texts      *lexicon
	requests   *prompts
	redis      *redis.Server

	hold atomic.Pointer[func(prompt string)] // called before a model answers; nil: it answers at once

	removed, stay []string // texts
	ids           []string // of memories to forget by id
}

// prompts are all prompts that models were sent.
type prompts struct {
	mu    sync.Mutex
	all   [][]byte
	count int
}

func (p *prompts) add(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, bytes.Clone(text))
	p.count++
}

func (p *prompts) since() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	return all
}

// Relay makes prompts a provider of the server; its answer is of no importance.
func (p *prompts) Relay(_ context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	p.add(r.Body)
	return &inference.RelayResponse{
		Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(
			strings.NewReader(
				`{"choices":[{"index":0,"message":{"role":"assistant","content":"I see."},"finish_reason":"stop"}],` +
					`"usage":{"prompt_tokens":5,"completion_tokens":2}}`)),
		Seen: func() inference.RelayObserved {
			return inference.RelayObserved{Ended: true, UsageFrom: inference.ByCount}
		},
	}, nil
}

// openPresence lets every client in without an agent workflow: talking wakes no dream of the test.
type openPresence struct{}

func (openPresence) Wake(context.Context, string, string, time.Duration) (psyche.WakeResult, error) {
	return psyche.WakeResult{}, nil
}
func (openPresence) Leave(context.Context, string, string) error { return nil }
func (openPresence) Status(context.Context, string) (presence.Status, error) {
	return presence.Status{}, nil
}

func open(t *testing.T, server *temporal.Server, edit func(*testdeploy.Config)) *deployment {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	h := &deployment{
		T: t, texts: &lexicon{r: rand.New(rand.NewPCG(seed, 1)), used: map[string]bool{}},
		requests: &prompts{},
	}
	p, err := provider.Start(provider.Options{
		Seed: seed, Nouns: regexp.MustCompile(`(?i)z[qk][a-z]{6}`),
		Say: func(q provider.Request) string {
			h.requests.add([]byte(q.Prompt))
			if hold := h.hold.Load(); hold != nil {
				(*hold)(q.Prompt)
			}
			return ""
		},
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script", Provider: p.URL, DropAnswers: true,
	}
	edit(&config)
	h.deployment, err = testdeploy.Open(t.Context(), config, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.deployment.Close()) })
	h.agent = dream.Agent{
		ID:      "ag_echo",
		Handle:  "echo",
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: testdeploy.Night,
	}
	h.useModel("builtin/associative")
	return h
}

// useModel chooses the model of the agent's dreams; its memories stay in one embedding space.
func (h *deployment) useModel(model string) {
	h.Helper()
	h.agent.Models = map[dream.Role]string{}
	for _, role := range dream.Roles {
		h.agent.Models[role] = model
	}
	h.agent.Models[dream.Embedder] = localmodel.Lexical
	require.NoError(h, h.deployment.Store.PutAgent(h.Context(), h.agent))
}

func lexical(_ context.Context, texts []string) ([][]float32, string, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = localmodel.Vector(text)
	}
	return vectors, localmodel.EmbedSpace, nil
}

// pair makes a text to forget and one that stays.
func (h *deployment) pair() (removed, stays string) {
	removed, stays = h.texts.text(secret), h.texts.text(plain)
	h.removed, h.stay = append(h.removed, removed), append(h.stay, stays)
	return removed, stays
}

func (h *deployment) imports(format formats.Format, name, body string) {
	h.Helper()
	file := importer.File{
		Name: name,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil },
	}
	report, err := importer.Import(h.Context(), h.deployment.Store, h.agent, []importer.File{file}, importer.Options{
		Format:    format,
		Strict:    true,
		Now:       testdeploy.Night,
		Embed:     lexical,
		HalfLife:  60 * 24 * time.Hour,
		FadeBelow: .2,
	})
	require.NoError(h, err)
	require.Positive(h, report.Added)
}

// addTexts gives the agent n pairs of texts: by imported conversations, by a diary, and by talking through the
// server.
func (h *deployment) addTexts(n int) {
	h.Helper()
	var chats, diary strings.Builder
	at := testdeploy.Night.Add(-40 * 24 * time.Hour)
	line := func(conversation, role, text string) {
		body, err := json.Marshal(
			map[string]any{"conversation_id": conversation, "role": role, "content": text, "created_at": at.Unix()})
		require.NoError(h, err)
		chats.Write(append(body, '\n'))
	}
	texts := []string{}
	for i := range n {
		at = at.Add(time.Hour)
		removed, stays := h.pair()
		switch i % 3 {
		case 0:
			// Each conversation has a text of both kinds, so that each is quoted as what stood before the other.
			line("gone", "user", "I love this plan of mine: "+removed)
			line("gone", "assistant", "You said: "+removed)
			line("stays", "user", "It was seen that "+stays)
			line("stays", "assistant", "So it is, "+stays)
		case 1:
			fmt.Fprintf(&diary, "## %s\n\nI decided that %s\n\n", at.Format("2006-01-02, 15:04"), removed)
			at = at.Add(time.Hour)
			fmt.Fprintf(&diary, "## %s\n\nIt was seen that %s\n\n", at.Format("2006-01-02, 15:04"), stays)
		case 2:
			texts = append(texts, removed, stays)
		}
	}
	h.imports(formats.Chat, "talks.jsonl", chats.String())
	h.imports(formats.Diary, "diary.md", diary.String())
	h.talk(texts)
	h.recalls() // what is recalled into a conversation is stored with it
	h.derive()
	h.revise()
}

// derive adds knowledge of one episode each, as imports of older versions made it.
func (h *deployment) derive() {
	h.Helper()
	items, err := h.deployment.Store.Find(h.Context(),
		memory.Query{Agent: h.agent.ID, Kinds: []dream.Kind{dream.KindEpisode}})
	require.NoError(h, err)
	w := memory.Write{Agent: h.agent.ID, Cause: "import"}
	for _, e := range memory.As[*dream.Episode](items) {
		w.Add = append(w.Add, &dream.Semantic{
			Head: dream.Head{
				ID:      "se_of_" + e.ID,
				Agent:   e.Agent,
				Kind:    dream.KindSemantic,
				At:      e.At,
				State:   dream.Live,
				Taint:   e.Taint,
				Sources: []string{e.ID},
				Derived: []string{"content"},
			},
			Content: "It is known: " + e.Content, Strength: .9,
		})
	}
	_, err = h.deployment.Store.Commit(h.Context(), w)
	require.NoError(h, err)
}

// talk sends texts to the server, those to forget as one user and the others as another.
func (h *deployment) talk(texts []string) {
	h.Helper()
	b := h.service()
	for i, text := range texts {
		who := psyche.Caller{Key: access.Key{ID: "key_a", Role: access.Client}, User: "ann"}
		if i%2 == 1 {
			who.User = "ben"
		}
		h.chat(b, who, fmt.Sprint("talk ", i/6), "Please remember that my plan is this: "+text)
	}
	require.NoError(h, b.Close(context.Background()))
}

func (h *deployment) service() *psyche.Service {
	talks, ok := h.deployment.Store.(memory.Talks) // the background that the model gets is stored there
	require.True(h, ok)
	return psyche.New(
		psyche.Ports{
			Memory: h.deployment.Store,
			Talks:  talks,
			Relay:  h.requests,
			Waker:  openPresence{},
			Guard:  h.deployment.Ports.Guard,
		},
		psyche.Options{
			Talker: "scripted/script", Models: map[dream.Role]string{dream.Embedder: localmodel.Lexical},
			Within:   time.Minute,
			FleetDay: budget.Unlimited,
		})
}

func (h *deployment) chat(b *psyche.Service, who psyche.Caller, conversation, text string) {
	h.Helper()
	body, err := json.Marshal(
		map[string]any{"model": "echo", "messages": []any{map[string]string{"role": "user", "content": text}}})
	require.NoError(h, err)
	request, err := psyche.ReadBody(body)
	require.NoError(h, err)
	reply, err := b.Chat(h.Context(), psyche.Turn{
		Caller:       who,
		Agent:        "echo",
		Conversation: conversation,
		Path:         "/chat/completions",
		Body:         request,
		Header:       http.Header{"Content-Type": {"application/json"}},
	})
	require.NoError(h, err)
	_, err = io.Copy(io.Discard, reply.Body)
	require.NoError(h, err)
	require.NoError(h, reply.Body.Close())
}

// revise writes revisions: of memories to be forgotten, and of others that quoted a text once and no longer do. It
// collects vectors of a second space, and chooses what is forgotten by id.
func (h *deployment) revise() {
	h.Helper()
	items, err := h.deployment.Store.Find(h.Context(),
		memory.Query{Agent: h.agent.ID, Kinds: []dream.Kind{dream.KindEpisode}, States: dream.States})
	require.NoError(h, err)
	var elsewhere []memory.Vector
	once, open := 0, 0
	for i, e := range memory.As[*dream.Episode](items) {
		hidden := strings.Contains(strings.ToLower(e.Content), secret)
		if hidden && e.Session != "gone" && !strings.HasSuffix(e.Origin, "/ann") {
			h.ids = append(h.ids, e.ID)
		}
		before := *e
		switch {
		case hidden && i%3 == 0:
			e.Salience = 1 - e.Salience
			h.commit(e)
		case !hidden:
			open++
			if open%3 != 0 {
				break
			}
			e.Content += " You told me: " + h.removed[once%len(h.removed)]
			once++
			h.commit(e)
			e.Content, e.Revision = before.Content, 0
			h.commit(e)
		}
		elsewhere = append(elsewhere, memory.Vector{Item: e.ID, Space: "elsewhere/2", V: []float32{float32(i), 1}})
	}
	require.NoError(h, h.deployment.Store.Collect(h.Context(), h.agent.ID, elsewhere))
}

func (h *deployment) commit(e *dream.Episode) {
	h.Helper()
	_, err := h.deployment.Store.Commit(h.Context(),
		memory.Write{Agent: h.agent.ID, Cause: "operator", Change: []dream.Item{e}})
	require.NoError(h, err)
}

// night runs a dream of the agent.
func (h *deployment) night(model string, seed uint64) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	h.useModel(model)
	begun, err := h.deployment.Starter.Begin(ctx,
		starter.DreamRequest{Agent: h.agent.Handle, Seed: &seed, AsOf: testdeploy.Night})
	require.NoError(h, err)
	result, err := h.deployment.Result(ctx, begun.Dream)
	require.NoError(h, err)
	require.Contains(h, []dream.Outcome{dream.Completed, dream.Empty}, result.Outcome, result.Reason)
}

// selections choose everything that is to be forgotten.
func (h *deployment) selections() []memory.Selection {
	return []memory.Selection{{User: "ann"}, {Session: "gone"}, {IDs: h.ids}}
}

func (h *deployment) forget(edit func(*erasure.Plan)) {
	h.Helper()
	for _, sel := range h.selections() {
		plan, err := memory.PlanErasure(h.Context(), h.deployment.Store, h.agent.ID, sel)
		require.NoError(h, err)
		require.NotEmpty(h, plan.Erase)
		if edit == nil {
			_, err = memory.ForgetAll(h.Context(), h.deployment.Store, h.agent.ID, plan)
		} else {
			edit(&plan)
			_, err = memory.CarryOut(h.Context(), h.deployment.Store, h.agent.ID, plan)
		}
		require.NoError(h, err)
	}
}

// files reads the store's files.
func (h *deployment) files() [][]byte {
	h.Helper()
	if h.redis == nil {
		return filesOf(h.T, filepath.Dir(h.deployment.Config.Store))
	}
	require.Eventually(h, func() bool {
		info, err := h.redis.Dial(h.T).Info(h.Context(), "persistence").Result()
		require.NoError(h, err)
		return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	}, patience, 10*time.Millisecond)
	return filesOf(h.T, h.redis.Dir)
}

func filesOf(t *testing.T, folder string) [][]byte {
	t.Helper()
	var all [][]byte
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		all = append(all, body)
		return err
	}))
	return all
}

// exports are the exports of the agent and of the store.
func (h *deployment) exports() [][]byte {
	h.Helper()
	var lines, whole bytes.Buffer
	_, err := importer.Export(h.Context(), h.deployment.Store, h.agent, &lines, importer.ExportOptions{Archived: true})
	require.NoError(h, err)
	records, ok := h.deployment.Store.(interface {
		Export(ctx context.Context) memory.Records
	})
	require.True(h, ok)
	_, err = archive.Write(&whole, records.Export(h.Context()))
	require.NoError(h, err)
	return [][]byte{lines.Bytes(), whole.Bytes()}
}

// recalls sends every text to the server as a question and returns the answers; it also asks about them in other
// words, and the prompts are recorded.
func (h *deployment) recalls() [][]byte {
	h.Helper()
	b := h.service()
	who := psyche.Caller{Key: access.Key{ID: "key_a", Role: access.Owner}, User: "ann"}
	var all [][]byte
	for _, text := range h.removed {
		found, err := b.Recall(h.Context(), who, "echo", psyche.RecallRequest{Query: text, Limit: 10})
		require.NoError(h, err)
		body, err := json.Marshal(found)
		require.NoError(h, err)
		all = append(all, body)
	}
	for i := range 5 {
		h.chat(b, who, fmt.Sprint("talk ", i), "What is my plan, and what did we plan to keep?")
	}
	require.NoError(h, b.Close(context.Background()))
	return all
}

func (h *deployment) wordsOf(sort string) map[string]bool {
	of := map[string]bool{}
	for word := range h.texts.used {
		of[word] = strings.HasPrefix(word, sort)
	}
	return of
}

func (h *deployment) leaks(bodies ...[]byte) []string {
	return words(secret, h.wordsOf(secret), bodies...)
}

// kept counts how many words of texts that stay are found.
func (h *deployment) kept(bodies ...[]byte) int {
	return len(words(plain, h.wordsOf(plain), bodies...))
}

// TestForgottenTextIsNowhere gives an agent texts by import and by talking, has it dream of them, forgets them by
// user, by conversation and by id, and then reads every file, every export, every prompt and every answer.
func TestForgottenTextIsNowhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "Redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("runs on a real Temporal server; make test runs it")
			}
			server := temporal.Start(t)
			var store *redis.Server
			if kind == "Redis" {
				store = redis.Start(t, redis.Config("aof-use-rdb-preamble", "no"))
			}
			h := open(t, server, func(config *testdeploy.Config) {
				if store != nil {
					config.Redis, config.Prefix = store.URL, "oneiros:"
				}
			})
			h.redis = store
			w, err := h.deployment.StartWorker()
			require.NoError(t, err)
			stop := sync.OnceFunc(w.Stop)
			t.Cleanup(stop)
			h.addTexts(size())
			h.night("builtin/associative", 7)
			h.night("scripted/script", 8)
			all := len(h.removed) * 12
			require.Len(t, h.leaks(h.files()...), all, "the search itself must be able to find")
			before := h.kept(h.exports()...)
			require.Equal(t, all, before)
			require.NotEmpty(t, h.leaks(h.requests.since()...))

			h.forget(nil)
			require.Empty(t, h.leaks(h.files()...), "in the files of the store")
			require.Empty(t, h.leaks(h.exports()...), "in exports")
			require.Equal(t, before, h.kept(h.exports()...), "texts that were not forgotten stay")
			require.Empty(t, h.leaks(h.recalls()...), "in what is recalled")
			h.night("scripted/script", 9)
			request := h.requests.since()
			require.NotEmpty(t, request)
			require.NotEmpty(t, words(plain, h.wordsOf(plain), request...), "prompts show what stays")
			require.Empty(t, h.leaks(request...), "in prompts")
			require.Empty(t, h.leaks(h.files()...), "in the files of the store, after another night")
			stop()
			database := filesOf(t, filepath.Dir(server.DB))
			require.NotEmpty(t, database)
			require.Empty(t, h.leaks(database...), "in Temporal's database")
			t.Logf(
				"%d texts of %d words forgotten, as many kept: 0 found in %d prompts, the exports and the files of %s and Temporal",
				len(h.removed),
				all,
				h.requests.count,
				kind,
			)
		})
	}
}

// TestTheProofFindsTextThatAnIncompleteForgettingLeaves leaves out one part of the forgetting after another: each
// must be found.
func TestTheProofFindsTextThatAnIncompleteForgettingLeaves(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*erasure.Plan){
		"CopiesThatAreNotScrubbed": func(p *erasure.Plan) { p.Scrub = nil },
		"WhatWasDerivedFromItAlone": func(p *erasure.Plan) {
			p.Erase = slices.DeleteFunc(p.Erase,
				func(f erasure.Match) bool { return f.Why == erasure.Derived || f.Why == erasure.Copied })
		},
		"EarlierRevisions": func(p *erasure.Plan) {
			p.Scrub = slices.DeleteFunc(p.Scrub,
				func(f erasure.Match) bool { return slices.Contains(f.Fields, "content") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := temporal.Shared(t)
			h := open(t, server, func(*testdeploy.Config) {})
			h.addTexts(24)
			h.forget(edit)
			require.NotEmpty(t, h.leaks(h.files()...))
			h.forgetRest()
			require.Empty(t, h.leaks(h.files()...), "repeating it with the texts finishes it")
		})
	}
}

// forgetRest forgets what repeats the texts, although no memory is selected any more.
func (h *deployment) forgetRest() {
	h.Helper()
	plan, err := memory.PlanErasure(h.Context(), h.deployment.Store, h.agent.ID, memory.Selection{Texts: h.removed})
	require.NoError(h, err)
	_, err = memory.ForgetAll(h.Context(), h.deployment.Store, h.agent.ID, plan)
	require.NoError(h, err)
}
