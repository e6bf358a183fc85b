package dreamsapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// runCLI runs the command line on the same store and decodes its JSON output.
func (h *dreamsAPI) runCLI(v any, args ...string) {
	h.t.Helper()
	var out, complaints bytes.Buffer
	app := &cli.App{
		In: strings.NewReader(""), Out: &out, Err: &complaints, Now: time.Now,
		Backend: opened{h: h},
	}
	require.Equal(h.t, exit.OK, console.Run(h.ctx, app, append(args, "--json", "--agent", h.agent.Handle)),
		complaints.String())
	require.NoError(h.t, json.Unmarshal(out.Bytes(), v), out.String())
}

// opened is a backend that opens the store of the API, and reaches no Temporal server.
type opened struct {
	cli.Backend
	h *dreamsAPI
}

func (o opened) Open(context.Context) (*deploy.Deployment, error) {
	return &deploy.Deployment{
		Store:   o.h.Store,
		Events:  o.h.Store,
		Wakes:   o.h.Store,
		Feeds:   o.h.Store,
		Ledger:  o.h.Store.Ledger(),
		Catalog: o.h.Starter.Catalog,
	}, nil
}

func (o opened) Reach(context.Context, *deploy.Deployment) (deploy.Engine, error) {
	return nil, deploy.ErrNoServer
}

func (o opened) Active(context.Context, *deploy.Deployment, string) {}

// dreamJSON is what the command line prints of a dream.
type dreamJSON struct {
	ID       string         `json:"id"`
	Status   dream.Status   `json:"status"`
	Outcome  dream.Outcome  `json:"outcome"`
	Reason   string         `json:"reason"`
	Theme    string         `json:"theme"`
	Tier     dream.Tier     `json:"tier"`
	At       time.Time      `json:"at"`
	Spent    int64          `json:"spent"`
	Budget   int64          `json:"budget"`
	Resumes  int            `json:"resumes"`
	Insights []string       `json:"insights"`
	Phases   []dream.Tally  `json:"phases"`
	Models   []string       `json:"models"`
	Redreams *dream.Redream `json:"redreams"`
	Archived time.Time      `json:"archived_at"`
}

// requireSameDream compares what the API and the command line say of a dream.
func (h *dreamsAPI) requireSameDream(id string) {
	h.t.Helper()
	d := h.dream(http.StatusOK, "GET", "/v1/dreams/"+id, "")
	var report struct {
		Night dreamJSON `json:"dream"`
	}
	h.runCLI(&report, "dreams", "show", d.Dream)
	n := report.Night
	require.Equal(h.t, n.ID, d.Dream)
	require.Equal(h.t, n.Status, d.Status)
	require.Equal(h.t, n.Outcome, d.Outcome)
	require.Equal(h.t, n.Reason, d.Reason)
	require.Equal(h.t, n.Theme, d.Record.Theme)
	require.Equal(h.t, n.Tier, d.Record.Tier)
	require.Equal(h.t, n.At.Unix(), d.Created)
	require.Equal(h.t, n.Budget, int64(d.Record.Budget))
	require.Equal(h.t, n.Resumes, d.Resumes)
	require.Len(h.t, n.Insights, d.Insights)
	require.Equal(h.t, n.Models, d.Record.Models)
	require.Equal(h.t, n.Redreams, d.Record.Redreams)
	require.Equal(h.t, n.Archived.IsZero(), d.Archived == nil)
	if d.Status.Over() {
		require.Equal(h.t, n.Spent, int64(d.Record.Spent))
		require.Equal(h.t, n.Phases, d.Record.Phases)
	}
}

func TestTheAPIAndTheCommandLineAgreeOnADream(t *testing.T) {
	t.Parallel()
	h := open(t, provider.Options{Seed: 3, Each: 4 * time.Millisecond})
	begun := h.dream(http.StatusCreated, "POST", "/v1/dreams", request)
	h.served(10)
	h.requireSameDream(begun.ID)
	woken, err := h.Starter.Wake(h.ctx, starter.Connection{Agent: h.agent.Handle, Client: "guest"})
	require.NoError(t, err)
	_, err = h.Starter.Recorded(h.ctx, h.agent.ID, woken.Epoch)
	require.NoError(t, err)
	h.requireSameDream(begun.ID)
	h.dream(http.StatusOK, "POST", "/v1/dreams/"+begun.ID+"/cancel", "")
	h.follow(access.Client, begun.ID)
	h.requireSameDream(begun.ID)
	h.dream(http.StatusOK, "POST", "/v1/dreams/"+begun.ID+"/archive", "")
	h.requireSameDream(begun.ID)
}

// requireSameJournal compares the journal of the API with the command line's.
func (h *dreamsAPI) requireSameJournal() {
	h.t.Helper()
	var journal []map[string]any
	h.runCLI(&journal, "journal")
	_, text := h.do(access.Operator, "GET", "/v1/agents/sleeper/journal", "")
	var page struct {
		Data []map[string]any `json:"data"`
	}
	require.NoError(h.t, json.Unmarshal(text, &page))
	require.NotEmpty(h.t, journal)
	require.Equal(h.t, journal, page.Data)
}

// A client connects in each phase of the dream. What a client can read of the dream then and afterwards holds none of
// its text except the insights, and a stream that did not ask for text holds none either.
func TestNoDreamtTextReachesAClientWhenADreamIsInterrupted(t *testing.T) {
	t.Parallel()
	h := open(t, provider.Options{Seed: 5, Each: 4 * time.Millisecond})
	begun := h.dream(http.StatusCreated, "POST", "/v1/dreams", request)
	connections := 0
	for _, phase := range dream.Phases {
		if !h.waitForPhase(begun.ID, phase) {
			continue
		}
		woken, err := h.Starter.Wake(h.ctx, starter.Connection{Agent: h.agent.Handle, Client: "guest"})
		require.NoError(t, err)
		h.requireNoLeak(begun.ID)
		_, err = h.Starter.Recorded(h.ctx, h.agent.ID, woken.Epoch)
		require.NoError(t, err)
		h.requireNoLeak(begun.ID)
		connections++
		require.NoError(t, h.Starter.Leave(h.ctx, h.agent.Handle, "guest"))
		require.Eventually(t, func() bool {
			resp, _ := h.do(access.Operator, "POST", "/v1/dreams/"+begun.ID+"/resume", "")
			d := h.dream(http.StatusOK, "GET", "/v1/dreams/"+begun.ID, "")
			return resp.StatusCode == http.StatusOK || d.Status.Over()
		}, patience, 20*time.Millisecond)
	}
	require.GreaterOrEqual(t, connections, 3)
	h.follow(access.Client, begun.ID)
	require.Greater(t, h.requireNoLeak(begun.ID), 10, "there was something to look for")
}

// waitForPhase waits until a dream is in a phase; false when the dream ends before.
func (h *dreamsAPI) waitForPhase(id string, phase dream.Phase) (there bool) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		d := h.dream(http.StatusOK, "GET", "/v1/dreams/"+id, "")
		for _, t := range d.Record.Phases {
			there = there || t.Phase == phase && t.State == "running"
		}
		return there || d.Status.Over()
	}, patience, 5*time.Millisecond)
	return there
}

// requireNoLeak reads all that a client can, looks for every text that the store has of the dream, and returns how
// many texts there are.
func (h *dreamsAPI) requireNoLeak(id string) (texts int) {
	h.t.Helper()
	var read bytes.Buffer
	for _, path := range []string{
		"/v1/dreams", "/v1/dreams/" + id, "/v1/dreams/" + id + "/fragments",
		"/v1/dreams/" + id + "/journal", "/v1/agents/sleeper/journal",
	} {
		_, text := h.do(access.Client, "GET", path, "")
		read.Write(text)
	}
	read.WriteString(h.streamSoFar(access.Client, id))
	read.WriteString(h.streamSoFar(access.Operator, id))
	_, insights := h.do(access.Client, "GET", "/v1/dreams/"+id+"/insights", "")
	items, err := h.Store.Find(h.ctx,
		memory.Query{Agent: h.agent.ID, Dream: strings.ReplaceAll(id, "_", "/"), States: dream.States})
	require.NoError(h.t, err)
	const telling = 12 // shorter texts may occur anywhere
	for _, item := range items {
		words, err := json.Marshal(item.Text()) // as they would stand in JSON
		require.NoError(h.t, err)
		text := strings.Trim(string(words), `"`)
		if len(text) < telling {
			continue
		}
		texts++
		require.NotContains(h.t, read.String(), text)
		if j, ok := item.(*dream.Journal); !ok || j.Interrupted {
			require.NotContains(
				h.t,
				string(insights),
				text,
				"%s is a text that a client must not see",
				item.Header().ID,
			)
		}
	}
	return texts
}

// streamSoFar reads a stream of a dream's events until it pauses.
func (h *dreamsAPI) streamSoFar(role access.Role, id string) string {
	h.t.Helper()
	heads, err := h.Store.Heads(h.ctx)
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.server.URL+"/v1/events?agent=sleeper&after=0", nil)
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.secret[role])
	resp, err := h.server.Client().Do(req)
	require.NoError(h.t, err)
	defer resp.Body.Close()
	var read bytes.Buffer
	part := make([]byte, 64<<10)
	for wanted := heads[h.agent.ID]; ; {
		n, err := resp.Body.Read(part)
		read.Write(part[:n])
		if last := lastID(read.String()); err != nil || last >= wanted || role == access.Client && last > 0 {
			return read.String()
		}
	}
}

// lastID is the number of the last complete event in a stream.
func lastID(text string) (last int64) {
	for block := range strings.SplitSeq(text, "\n\n") {
		var e struct {
			Seq int64 `json:"seq"`
		}
		if _, data, ok := strings.Cut(block, "data: "); ok && json.Unmarshal([]byte(data), &e) == nil {
			last = max(last, e.Seq)
		}
	}
	return last
}
