package waking_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// mark begins every word of the memories of this test. The scripted provider answers with words of its prompts, so
// the mark is in its answers too, and in what is left of them.
const mark = "quorv"

// quotingProvider answers some calls with an error that quotes all it was sent, as real providers do.
func quotingProvider(t *testing.T, behind string, activities ...string) string {
	t.Helper()
	to, err := url.Parse(strings.TrimSuffix(behind, "/v1"))
	require.NoError(t, err)
	honest := httputil.NewSingleHostReverseProxy(to)
	honest.FlushInterval = -1
	honest.ErrorLog = log.New(io.Discard, "", 0)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := chaos.ReadKey(r.Header.Get("Idempotency-Key"))
		for _, name := range activities {
			if c.Attempt == 1 && string(c.Phase)+"/"+c.Activity == name {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusInternalServerError)
				_ = json.NewEncoder(w).Encode(
					map[string]any{
						"error": map[string]any{"message": "cannot answer: " + string(body), "type": "server_error"},
					})
				return
			}
		}
		honest.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

var (
	markedWord = regexp.MustCompile(mark + `\w*`)
	shownRef   = regexp.MustCompile(`(?m)^- \[(\w+)\]`)
)

// oneLongInsight is an answer that is still long when half of it was sent: the provider's own may be short by chance.
func oneLongInsight(r provider.Request) string {
	found, ref := markedWord.FindAllString(r.Prompt, -1), shownRef.FindStringSubmatch(r.Prompt)
	if r.Schema != "insights" || len(found) == 0 || ref == nil {
		return ""
	}
	body, err := json.Marshal(map[string]any{"insights": []map[string]any{
		{"insight": strings.Repeat(strings.Join(found, " ")+" ", 1+60/len(found)), "sources": ref[1:]},
	}})
	if err != nil {
		return ""
	}
	return string(body)
}

// addMarkedAgent makes an agent whose memories have only marked words.
func (r *scene) addMarkedAgent(handle string) dream.Agent {
	r.t.Helper()
	agent := dream.Agent{
		ID:     "id-" + handle,
		Handle: handle,
		Zone:   "UTC",
		Tier:   dream.Hardened,
		Caps:   dream.DefaultCaps,
	}
	require.NoError(r.t, r.deployment.Store.PutAgent(r.ctx, agent))
	dice := rand.New(rand.NewPCG(seed, 0))
	word := func() string {
		text := mark
		for range 3 {
			text += string("aeiou"[dice.IntN(5)]) + string("lmnrst"[dice.IntN(6)])
		}
		return text
	}
	var items []dream.Item
	for i := range 40 {
		words := make([]string, 14)
		for j := range words {
			words[j] = word()
		}
		items = append(items, &dream.Episode{
			Head: dream.Head{
				ID: fmt.Sprintf("%s/m%02d", handle, i), Agent: agent.ID, Kind: dream.KindEpisode,
				At:    testdeploy.Night.Add(-time.Duration(i+1) * time.Hour),
				State: dream.Live, Taint: dream.FromHuman,
			},
			Content: strings.Join(words, " ") + ".", Salience: .5, Surprise: .5,
		})
	}
	_, err := r.deployment.Store.Commit(r.ctx, memory.Write{Agent: agent.ID, Cause: "test", Add: items})
	require.NoError(r.t, err)
	return agent
}

// received collects what a client can read.
type received struct {
	t   *testing.T
	all map[string][]byte
}

func (h *received) take(where string, what any) {
	h.t.Helper()
	body, err := json.Marshal(what)
	require.NoError(h.t, err)
	h.all[fmt.Sprintf("%s %d", where, len(h.all))] = body
}

func (h *received) takeError(where string, err error) {
	h.t.Helper()
	require.Error(h.t, err, where)
	h.all[fmt.Sprintf("%s %d", where, len(h.all))] = []byte(err.Error())
}

// TestNoDreamtTextReachesAConnectingClient wakes a dream in three ways and reads all that can be read of it: the
// answer to the connect, who holds the agent awake, the agent's state, its progress, events, errors, the logs of the
// workers, and all that Temporal keeps. The marked words are in the memories, in every prompt and in every answer.
func TestNoDreamtTextReachesAConnectingClient(t *testing.T) {
	t.Parallel()
	long := func(p *testdeploy.Config) { p.Knobs.PartialTokens = 100 } // so that what is cut off is significant
	r := openScene(t, options{
		own: true, workers: -1, edit: long, say: oneLongInsight,
		plan: func(a provider.Arrival) provider.Fault {
			if strings.Contains(a.Key, "/rem/branch-2#1") {
				return provider.BadChunk
			}
			if strings.Contains(a.Key, "/rem/weigh#") {
				return provider.BadJSON
			}
			return provider.None
		},
	})
	r.deployment.Config.Provider = quotingProvider(t, r.upstream.URL, "onset/1/judge-all", "nrem/backward",
		"integration/consolidate")
	var err error
	r.crew, err = chaos.StartWorkers(r.deployment.Config, 1)
	require.NoError(t, err)
	t.Cleanup(r.crew.KillAll)
	agent := r.addMarkedAgent("sieve")
	id, h := first(agent), &received{t: t, all: map[string][]byte{}}

	for i, k := range []struct {
		wakeMoment
		starter.Connection
	}{
		{wakeMoment{dream.Onset, "2/partial-1", provider.HangMiddle}, clientNamed("guest")},
		{
			wakeMoment{dream.NREM, "forward", provider.HangMiddle},
			starter.Connection{Client: "alarm/feed", Cause: presence.Alarm, Trigger: "feed/rule"},
		},
		{
			wakeMoment{dream.Return, "surface", provider.HangMiddle},
			starter.Connection{Client: "somebody", Cause: presence.Operator},
		},
	} {
		moment := r.await(k.fault, id, k.phase, k.activity)
		if i == 0 {
			r.begin(agent)
		} else {
			r.release(agent)
			h.take("begun", r.resume(agent))
		}
		r.receive(moment)
		r.awaitTokens(string(k.phase)+"/"+k.activity, 20)
		r.readAll(h, agent, id)
		woken := r.visit(agent, k.Connection)
		h.take("woken", woken)
		h.take("recorded", r.recorded(woken))
		_, err := r.deployment.Starter.Begin(r.ctx, r.request(agent))
		h.takeError("begin", err)
		_, err = r.deployment.Starter.Resume(r.ctx, agent.Handle)
		h.takeError("resume", err)
		r.readAll(h, agent, id)
	}
	r.release(agent)
	r.resume(agent)
	h.take("result", r.requireOutcome(id, dream.Completed))
	woken := r.connect(agent)
	require.NotEmpty(t, woken.Digest, "the night left something that its client may be told")
	h.take("woken", woken)
	r.recorded(woken)
	r.readAll(h, agent, id)
	require.Len(t, r.wakes(agent), 3)

	answer, partials := r.marked(agent)
	require.Positive(t, answer, "the journal holds what was dreamt")
	require.Positive(t, partials, "and the partial answers")
	require.NoError(t, r.crew.Stop(0))
	for _, words := range r.crew.Stderr() {
		require.Contains(t, words, "a call failed", "errors of the provider are in the logs")
		h.all["the log of a worker"] = []byte(words)
	}
	r.server.Stop()
	files, err := filepath.Glob(r.server.DB + "*")
	require.NoError(t, err)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		h.all["Temporal's "+filepath.Base(name)] = body
	}
	require.True(t, bytes.Contains(h.all["Temporal's "+filepath.Base(r.server.DB)], []byte(id)),
		"the control: what is in the histories is found")
	for where, body := range h.all {
		if at := bytes.Index(bytes.ToLower(body), []byte(mark)); at >= 0 {
			t.Errorf("%s contains dream text: %q", where, body[max(0, at-200):min(len(body), at+100)])
		}
	}
}

// readAll reads what can be read of an agent and a dream at any time.
func (r *scene) readAll(h *received, agent dream.Agent, id string) {
	r.t.Helper()
	status, err := r.deployment.Starter.Status(r.ctx, agent.Handle)
	require.NoError(r.t, err)
	h.take("standing", status)
	h.take("life", r.agentState(agent))
	progress, err := r.deployment.Starter.Progress(r.ctx, id)
	require.NoError(r.t, err)
	h.take("progress", progress)
	for _, workflow := range []string{id, workflows.AgentID(agent.Handle)} {
		value, err := r.deployment.Client.QueryWorkflowWithOptions(r.ctx,
			&client.QueryWorkflowWithOptionsRequest{WorkflowID: workflow, QueryType: "__temporal_workflow_metadata"})
		require.NoError(r.t, err)
		var metadata sdkpb.WorkflowMetadata
		require.NoError(r.t, value.QueryResult.Get(&metadata))
		require.NotEmpty(r.t, metadata.GetCurrentDetails())
		h.take("details of "+workflow, metadata.String())
		described, err := r.deployment.Client.DescribeWorkflowExecution(r.ctx, workflow, "")
		require.NoError(r.t, err)
		h.take("description of "+workflow, described.String())
	}
	events, err := r.deployment.Store.Events(r.ctx, agent.ID, 0, 0)
	require.NoError(r.t, err)
	h.take("events", events)
}

// awaitTokens waits until a call of an activity has sent so many tokens.
func (r *scene) awaitTokens(activity string, tokens int64) {
	r.t.Helper()
	r.until(func() bool {
		for _, call := range r.upstream.Billing.Calls() {
			if call.Completion >= tokens && strings.Contains(call.Key, "/"+activity+"#") {
				return true
			}
		}
		return false
	}, "%s never says %d tokens", activity, tokens)
}

// marked counts journal entries with the mark: of insights, and of partial answers.
func (r *scene) marked(agent dream.Agent) (insights, partials int) {
	r.t.Helper()
	items, err := r.deployment.Store.Find(r.ctx, memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindJournal}})
	require.NoError(r.t, err)
	for _, j := range memory.As[*dream.Journal](items) {
		switch marked := strings.Contains(strings.ToLower(j.Content), mark); {
		case marked && j.Interrupted:
			partials++
		case marked:
			insights++
		}
	}
	return insights, partials
}
