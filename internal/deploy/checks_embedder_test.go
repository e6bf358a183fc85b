package deploy

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// embedding serves embeddings: one vector for each text of a request.
func embedding(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"object": "list",
			"model":  "vectors",
			"data":   []any{map[string]any{"object": "embedding", "index": 0, "embedding": []float32{1, 0, 0}}},
			"usage":  map[string]any{"prompt_tokens": 9, "total_tokens": 9},
		})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func farEmbedder(url, price string) string {
	return "providers:\n  house:\n    base_url: " + url + "/v1\n    profile: generic\n    models:\n" +
		"      - {name: vectors, price: {in: " + price + ", out: 0}, embeds: true}\nroles:\n  embedder: house/vectors\n"
}

func TestTheDoctorMeasuresTheEmbedder(t *testing.T) {
	t.Parallel()
	url := embedding(t)
	for name, c := range map[string]struct {
		yaml  string
		state State
		found string
		do    string
	}{
		"the built-in one": {"", Well, " for one text; recall budget 40ms", ""},
		"one over a network": {
			farEmbedder(url, "0"), Well, " for one text; recall budget 1s", "",
		},
		"one that is slower than recall may be": {
			farEmbedder(url, "0") + "serve:\n  recall_budget: 1us\n", Warning,
			" for one text; recall budget 1µs", "Raise serve.recall_budget above it",
		},
		"one that costs money": {
			farEmbedder(url, "0.02"), Well,
			"house/vectors; recall budget 1s; not measured, since a call costs money", "",
		},
		"one that does not answer": {
			farEmbedder("http://127.0.0.1:1", "0"), Ill, "house/vectors does not answer:", "docs/models.md",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := appOf(t, c.yaml).checkEmbedder(t.Context())
			require.Equal(t, c.state, f.State, f.Found)
			require.Contains(t, f.Found, c.found)
			require.Contains(t, f.Advice, c.do)
		})
	}
}

func TestTheDoctorNamesAgentsWhoseMemoryLiesElsewhere(t *testing.T) {
	t.Parallel()
	d := appOf(t, "")
	store, err := sqlitestore.Open(t.Context(), d.cfg.StorePath())
	require.NoError(t, err)
	at := time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)
	for _, handle := range []string{"echo", "iris"} {
		require.NoError(t,
			store.PutAgent(t.Context(), dream.Agent{ID: handle, Handle: handle, Zone: "UTC", Tier: dream.Core}))
	}
	answer := &dream.Episode{
		Head: dream.Head{
			ID:    "e",
			Agent: "echo",
			Kind:  dream.KindEpisode,
			At:    at,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "The tide turns before the wind does.",
	}
	_, err = store.Commit(t.Context(), memory.Write{
		Agent: "echo", Cause: "import", Add: []dream.Item{answer},
		Vectors: []memory.Vector{{Item: "e", Space: "elsewhere/1/2", V: []float32{1, 0}}},
	})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	f := d.checkEmbedder(t.Context())
	require.Equal(t, Warning, f.State)
	require.Contains(t, f.Found, "; the memory of echo is in another embedding space")
	require.NotContains(t, f.Found, "iris")
	require.Contains(t, f.Advice, "oneiros memory embed --agent echo")
}

// episode is a memory without a vector.
func episode(agent, id string) *dream.Episode {
	return &dream.Episode{
		Head: dream.Head{
			ID:    id,
			Agent: agent,
			Kind:  dream.KindEpisode,
			At:    time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC),
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: "The tide turns before the wind does.",
	}
}

func TestTheDoctorCountsAgentsWithoutVectorsAndDescribesTheFirst(t *testing.T) {
	t.Parallel()
	d := appOf(t, "")
	store, err := sqlitestore.Open(t.Context(), d.cfg.StorePath())
	require.NoError(t, err)
	add := func(handle string) {
		require.NoError(t,
			store.PutAgent(t.Context(), dream.Agent{ID: handle, Handle: handle, Zone: "UTC", Tier: dream.Core}))
		_, err := store.Commit(t.Context(), memory.Write{
			Agent: handle, Cause: "import", Add: []dream.Item{episode(handle, "e")},
		})
		require.NoError(t, err)
	}
	for _, handle := range []string{"ada", "ben", "cleo"} {
		add(handle)
	}
	_, err = store.PutEmbedJob(t.Context(), memory.EmbedJob{Agent: "ada", Requested: time.Now()}, time.Now())
	require.NoError(t, err)
	f := d.checkEmbedder(t.Context())
	require.Equal(t, Warning, f.State)
	require.Contains(t, f.Found, "; ada: embedded 0 of 1; the rest waits for a server, a dream or oneiros memory embed")
	require.Contains(t, f.Found, "; ben: embedded 0 of 1; the rest waits for a dream or oneiros memory embed")
	require.NotContains(t, f.Found, "more")
	require.Equal(t, "They are found by their words until then.", f.Advice)

	for _, handle := range []string{"dan", "eve"} {
		add(handle)
	}
	require.NoError(t, store.Close())
	f = d.checkEmbedder(t.Context())
	require.Contains(t, f.Found, "; 5 agents have memories without a vector; ada: ")
	require.Contains(t, f.Found, "--agent cleo; and 2 more")
	require.NotContains(t, f.Found, "eve")
}
